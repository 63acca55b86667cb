"""What a command sends to the hub and makes of its answers, against a listener that is scripted."""

import json
import os
import socket
import threading

import pytest

from pinbox import client, project
from pinbox.contract import PinboxError


class Script:
    """Answers each request with the next of `answers`: (status, body), or None to hang up."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        while self.answers:
            connection, _ = self._listener.accept()
            with connection:
                head, _, body = self._request(connection).partition(b"\r\n\r\n")
                first, *lines = head.decode().split("\r\n")
                fields = dict(line.split(": ", 1) for line in lines)
                self.requests.append((first, fields, body))
                answer = self.answers.pop(0)
                if answer is not None:
                    status, content = answer
                    front = f"HTTP/1.1 {status} X\r\ncontent-length: {len(content)}\r\n\r\n"
                    connection.sendall(front.encode() + content)

    @staticmethod
    def _request(connection):
        data = b""
        while more := connection.recv(65536):
            data += more
            head, end, body = data.partition(b"\r\n\r\n")
            length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
            if end and len(body) >= int(length or 0):
                break
        return data

    def close(self):
        assert self.answers == [], "more requests were expected"
        self._thread.join(10)
        self._listener.close()


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    """A function that makes a hub which gives these answers; starting one finds it again."""
    scripts = []
    monkeypatch.setattr(client, "session_header", lambda environ: None)

    def make(*answers, start=True):
        script = Script(*answers)
        scripts.append(script)
        state = project.HubState(
            pid=os.getpid(),
            port=script.port,
            token="secret-token",
            version="0.1.0",
            page_token="page",
            instance="i",
            started_at="",
            folder=str(tmp_path),
            mark=project.process_mark(os.getpid()) or "",
        )
        monkeypatch.setattr(client, "_ensure", lambda *_: state)
        monkeypatch.setattr(client, "read_hub", lambda *_: state)
        return client.Hub(tmp_path, state, start=start), script

    yield make
    for script in scripts:
        script.close()


def ok(data):
    return 200, json.dumps({"ok": True, "data": data}).encode()


def fails(status, code, message="no", **more):
    error = {"code": code, "message": message, **more}
    return status, json.dumps({"ok": False, "error": error}).encode()


def test_a_read_sends_the_token_and_returns_the_data(scripted):
    hub, script = scripted(ok([1]))
    assert hub.request("GET", "/pins", query={"status": "open", "limit": 3, "after": None}) == [1]
    [(first, fields, body)] = script.requests
    assert first == "GET /pins?status=open&limit=3 HTTP/1.1"
    assert fields["authorization"] == "Bearer secret-token"
    assert client.IDEMPOTENCY_HEADER not in fields
    assert body == b""


def test_a_write_sends_utf_8_json_under_a_key_of_its_own(scripted):
    hub, script = scripted(ok(1), ok(2), ok(3))
    hub.request("POST", "/pins", {"text": "日本 é"})
    hub.request("POST", "/pins", {"text": "日本 é"})
    hub.request("POST", "/pins", {"text": "x"}, idempotency_key="mine")
    keys = [fields[client.IDEMPOTENCY_HEADER] for _, fields, _ in script.requests]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"
    assert script.requests[0][2] == '{"text":"日本 é"}'.encode()


def test_a_lost_write_is_asked_again_once_under_the_same_key(scripted):
    hub, script = scripted(None, ok("second time"))
    assert hub.request("POST", "/pins", {"text": "x"}) == "second time"
    keys = [fields[client.IDEMPOTENCY_HEADER] for _, fields, _ in script.requests]
    assert keys[0] == keys[1]


def test_what_is_lost_twice_is_an_error_that_names_the_log(scripted):
    hub, _ = scripted(None, None)
    with pytest.raises(PinboxError) as caught:
        hub.request("GET", "/pins")
    assert caught.value.code == "E_HUB_UNREACHABLE"
    assert "hub.log" in caught.value.hint


def test_without_permission_to_start_nothing_is_asked_again(scripted):
    hub, _ = scripted(None, start=False)
    with pytest.raises(PinboxError, match="does not answer"):
        hub.request("GET", "/pins")


def test_an_error_of_the_hub_arrives_as_it_is(scripted):
    hub, _ = scripted(fails(409, "E_CONFLICT", "resolved before", hint="pinbox show it"))
    with pytest.raises(PinboxError) as caught:
        hub.request("POST", "/pins/x/resolve", {})
    error = caught.value
    assert (error.code, error.message, error.hint, error.status) == (
        "E_CONFLICT",
        "resolved before",
        "pinbox show it",
        409,
    )


def test_a_refused_token_of_the_same_hub_is_not_asked_again(scripted):
    hub, _ = scripted(fails(401, "E_INVALID_INPUT"))
    with pytest.raises(PinboxError) as caught:
        hub.request("GET", "/pins")
    assert caught.value.status == 401


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b""),
        (200, b"<html>"),
        (200, b"[]"),
        (200, b'{"data":1}'),
        (200, b'{"ok":false}'),
        (500, b'{"ok":true,"data":1}'),
        (500, b'{"ok":false,"error":{"code":"E_MADE_UP","message":"x"}}'),
        (500, b'{"ok":false,"error":{"code":"E_INTERNAL","message":1}}'),
        (500, b'{"ok":false,"error":{"code":[],"message":"x"}}'),
        (200, b"\xff"),
        (200, b"[" * 100_000),
    ],
)
def test_an_answer_that_is_no_envelope_is_one_error(scripted, status, body):
    hub, _ = scripted((status, body))
    with pytest.raises(PinboxError) as caught:
        hub.request("GET", "/pins")
    assert caught.value.code == "E_INTERNAL"
    assert "not understood" in caught.value.message


def test_text_that_is_no_utf_8_still_reaches_the_hub(scripted):
    hub, script = scripted(ok(1), ok(2))
    hub.request("POST", "/pins", {"text": "a\udcffb"})
    hub.request("GET", "/pins", query={"search": "a\udcffb \ud800"})
    assert script.requests[0][2] == b'{"text":"a\\udcffb"}'
    assert script.requests[1][0].startswith("GET /pins?search=a%")


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("a b&c=d", "a%20b%26c%3Dd"),
        ("C++ #1/ü?", "C%2B%2B%20%231%2F%C3%BC%3F"),
        ("~-._", "~-._"),
        ("\0\r\n", "%00%0D%0A"),
    ],
)
def test_a_query_value_is_percent_encoded(text, quoted):
    assert client.quote(text) == quoted


@pytest.mark.parametrize(
    ("environ", "header"),
    [
        ({}, None),
        ({"CLAUDE_CODE_SESSION_ID": "abc"}, "claude/abc"),
        ({"CODEX_THREAD_ID": "t-1"}, "codex/t-1"),
        ({"HERMES_SESSION_ID": ""}, None),
        ({"CLAUDE_CODE_SESSION_ID": "a\r\nevil: 1"}, None),
        ({"CLAUDE_CODE_SESSION_ID": "é"}, None),
        ({"CLAUDE_CODE_SESSION_ID": "x" * 256}, None),
    ],
)
def test_a_shell_of_an_agent_names_its_session(environ, header):
    assert client.session_header(environ) == header


def test_a_newer_hub_is_told_of_and_an_equal_or_odd_one_is_not(scripted):
    hub, _ = scripted()
    assert hub.notice is None
    for version, told in [("99.0.0", True), ("0.0.1", False), ("odd", False)]:
        hub.state.version = version
        assert (hub.notice is not None) == told
