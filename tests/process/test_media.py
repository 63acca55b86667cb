"""Attachments over the wire of a real hub."""

import http.client
import json
import stat

import pytest

from pinbox.contract import MAX_ATTACHMENT_BYTES
from tests import images

pytestmark = pytest.mark.process


def ask(state, method, path, body=None, token=""):
    connection = http.client.HTTPConnection("127.0.0.1", state.port, timeout=30)
    try:
        # A body that is no `bytes` goes out in chunks, without a length.
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request(method, path, body, headers, encode_chunked=not isinstance(body, bytes))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_an_attachment_goes_in_and_comes_out_and_survives_a_restart(daemon):
    state = daemon.state()
    shot = images.png(640, 480)
    whole = shot + b"\0" * (MAX_ATTACHMENT_BYTES - len(shot))
    path = "/attachments?kind=screenshot"
    for body in (whole, iter([whole[:1_000_000], whole[1_000_000:]])):
        status, answer = ask(state, "POST", path, body, state.page_token)
        assert status == 201
    made = json.loads(answer)["data"]["attachment"]
    assert (made["width"], made["height"]) == (640, 480)
    assert ask(state, "GET", made["url"]) == (200, whole)

    daemon.run("stop")
    daemon.run("list")
    assert ask(daemon.state(), "GET", made["url"]) == (200, whole)
    files = list((daemon.project / ".pinbox" / "media").iterdir())
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(files[0].parent.stat().st_mode) == 0o700


def test_an_attachment_that_is_too_large_is_413(daemon):
    state = daemon.state()
    for body in (bytes(MAX_ATTACHMENT_BYTES + 1), iter([bytes(MAX_ATTACHMENT_BYTES), b"x"])):
        status, answer = ask(state, "POST", "/attachments?kind=file", body, state.page_token)
        assert (status, json.loads(answer)["error"]["code"]) == (413, "E_ATTACHMENT")
    assert not (daemon.project / ".pinbox" / "media").exists()
