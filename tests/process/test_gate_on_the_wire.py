"""A real hub on a real socket: what hostile bytes meet before any code of the API."""

import contextlib
import json
import os
import socket
import subprocess
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from pinbox import daemon
from pinbox.contract import MAX_BODY_BYTES, MAX_HOOK_BODY_BYTES, MAX_SEARCH_BYTES
from tests.wait import wait_until

pytestmark = [pytest.mark.process]

PAGE = "http://localhost:3000"
UPGRADE = (
    "upgrade: websocket",
    "connection: Upgrade",
    "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
    "sec-websocket-version: 13",
)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Hub(NamedTuple):
    port: int
    token: str
    page_token: str
    folder: Path

    def send(self, raw: bytes) -> Answer:
        """These bytes on a fresh connection, and the answer until the hub closes it."""
        received = b""
        with socket.create_connection(("127.0.0.1", self.port), 20) as connection:
            # Either may end early: the hub cuts off what is no request.
            with contextlib.suppress(ConnectionError):
                connection.sendall(raw)
            with contextlib.suppress(ConnectionError):
                while piece := connection.recv(65536):
                    received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        return Answer(int(first.split()[1]) if first else 0, headers, body)

    def ask(self, line: str, *headers: str, body: bytes = b"", host: str | None = "") -> Answer:
        """One request that asks to close, with Host and token unless told otherwise."""
        lines = [f"{line} HTTP/1.1", *headers]
        if host is not None:
            lines.append(f"host: {host or f'127.0.0.1:{self.port}'}")
        if not any(header.startswith("authorization") for header in headers):
            lines.append(f"authorization: Bearer {self.token}")
        if not any(header.startswith("connection") for header in headers):
            lines.append("connection: close")
        return self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    @property
    def is_up(self) -> bool:
        return self.ask("GET /health").status == 200


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub of its own home and project, stopped at the end."""
    home = tmp_path_factory.mktemp("home")
    project = tmp_path_factory.mktemp("project")
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    command = [*daemon.hub_command(), "serve", "--project", str(project)]
    with (home / "output").open("wb") as output:
        process = subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=home
        )
    try:

        def state():
            assert process.poll() is None, (home / "output").read_text()
            found = list(home.glob(".local/state/pinbox/*/hub.json"))
            return found and json.loads(found[0].read_text()) | {"folder": found[0].parent}

        told = wait_until(state, 30, "the hub's state file")
        made = Hub(told["port"], told["token"], told["pageToken"], told["folder"])
        wait_until(lambda: made.ask("GET /summary").status == 200, 30, "the hub answers")
        yield made
    finally:
        process.terminate()
        try:
            code = process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait(20)
    assert code == 0, "it stops in good order, whatever it has met"
    log = (made.folder / "hub.log").read_text()
    assert "Traceback" not in log
    assert "ERROR" not in log


def error_of(answer: Answer) -> dict[str, str]:
    document = json.loads(answer.body)
    assert document["ok"] is False
    assert set(document["error"]) == {"code", "message", "hint"}
    return document["error"]


@pytest.mark.parametrize("path", ["/health", "/pins", "/summary", "/schema", "/admin/", "/nope"])
@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io"])
def test_a_rebound_name_gets_nothing_even_with_the_token(hub, path, host):
    answer = hub.ask(f"GET {path}", host=f"{host}:{hub.port}")
    assert answer.status == 403
    assert error_of(answer)["code"] == "E_AUTH"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_loopback_name_is_served(hub, host):
    answer = hub.ask("GET /summary", host=f"{host}:{hub.port}")
    assert answer.status == 200
    assert int(answer.headers["content-length"]) == len(answer.body)


def test_a_request_without_a_host_gets_nothing(hub):
    assert hub.send(b"GET /health HTTP/1.0\r\n\r\n").status in {400, 403}
    assert hub.ask("GET /health", host=None).status in {400, 403}


def test_a_second_host_gets_nothing(hub):
    assert hub.ask("GET /health", "host: evil.example").status in {400, 403}
    assert hub.ask("GET /health", "host: localhost").status in {400, 403}


def test_the_name_in_an_absolute_request_line_does_not_count(hub):
    line = f"GET http://127.0.0.1:{hub.port}/summary"
    assert hub.ask(line, host="evil.example").status == 403


def test_a_folded_or_misspelt_host_gets_nothing(hub):
    assert hub.ask("GET /health", "host : localhost", host=None).status in {400, 403}
    assert hub.ask("GET /health", "x: y\r\n host: localhost", host=None).status in {400, 403}


def test_the_preflight_of_a_page_has_exactly_its_headers(hub):
    answer = hub.ask("OPTIONS /pins", f"origin: {PAGE}")
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert answer.headers["access-control-allow-methods"] == "GET, POST, OPTIONS"
    assert answer.headers["access-control-allow-headers"] == "authorization, content-type"
    assert answer.headers["access-control-max-age"] == "600"
    assert answer.headers["vary"] == "origin"


def test_a_foreign_page_gets_an_empty_403(hub):
    answer = hub.ask("GET /health", "origin: https://evil.example")
    assert (answer.status, answer.body) == (403, b"")
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_cross_site_load_gets_nothing(hub):
    answer = hub.ask("GET /health", "sec-fetch-site: cross-site", "sec-fetch-mode: no-cors")
    assert answer.status == 403


@pytest.mark.parametrize(
    "headers",
    [("origin: https://evil.example",), ("origin: null",), ("sec-fetch-site: cross-site",)],
)
def test_a_foreign_page_gets_no_socket(hub, headers):
    assert hub.ask("GET /ws", *UPGRADE, *headers).status == 403


def test_a_rebound_name_gets_no_socket(hub):
    assert hub.ask("GET /ws", *UPGRADE, host="evil.example").status == 403


def test_a_body_in_chunks_is_read(hub):
    body = json.dumps({"text": "in chunks", "author": {"userId": "u"}}).encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (1, body[i : i + 1]) for i in range(len(body)))
    answer = hub.ask("POST /pins", "transfer-encoding: chunked", body=chunks + b"0\r\n\r\n")
    assert answer.status == 201
    assert json.loads(answer.body)["data"]["text"] == "in chunks"


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "text/plain",
        "garbage;;;=",
    ],
)
def test_a_body_is_json_whatever_it_is_called(hub, content_type):
    body = json.dumps({"text": "named oddly", "author": {"userId": "u"}}).encode()
    headers = (f"content-type: {content_type}", f"content-length: {len(body)}")
    answer = hub.ask("POST /pins", *headers, body=body)
    assert answer.status == 201
    assert json.loads(answer.body)["data"]["text"] == "named oddly"


def test_a_search_of_the_longest_text_allowed_is_answered(hub):
    longest = "日" * (MAX_SEARCH_BYTES // 3)
    assert hub.ask(f"GET /pins?search={quote(longest)}").status == 200
    assert hub.ask(f"GET /pins?search={quote(longest + '日')}").status == 400


def test_an_address_without_end_is_refused_in_the_envelope(hub):
    # Nothing stands after what the hub reads, so its answer is not lost to a reset.
    answer = hub.send(b"GET /pins?search=" + b"a" * 66_000)
    assert answer.status == 431
    assert "65,536" in error_of(answer)["message"]


@pytest.mark.parametrize(
    ("path", "limit"), [("/pins", MAX_BODY_BYTES), ("/hooks/claude", MAX_HOOK_BODY_BYTES)]
)
def test_a_body_over_the_limit_is_refused_in_the_envelope(hub, path, limit):
    body = b" " * (limit + 1)
    answer = hub.ask(f"POST {path}", f"content-length: {len(body)}", body=body)
    assert answer.status == 413
    assert f"{limit:,}" in error_of(answer)["message"]


@pytest.mark.parametrize("how", ["declared", "chunks"])
def test_a_body_without_end_is_cut_off_before_it_fills_the_disk(hub, how):
    piece = b" " * (1024 * 1024)
    head = f"POST /pins HTTP/1.1\r\nhost: 127.0.0.1:{hub.port}\r\norigin: https://evil.example\r\n"
    if how == "declared":
        head += f"content-length: {10**12}\r\n\r\n"
    else:
        head += "transfer-encoding: chunked\r\n\r\n"
        piece = b"%x\r\n%b\r\n" % (len(piece), piece)
    with socket.create_connection(("127.0.0.1", hub.port), 20) as connection:
        connection.sendall(head.encode())
        with pytest.raises(ConnectionError):
            connection.sendall(piece * 64)
    assert hub.is_up


def test_a_lone_surrogate_is_refused_and_the_hub_stays(hub):
    body = b'{"text":"\\ud83d","author":{"userId":"u"}}'
    answer = hub.ask("POST /pins", f"content-length: {len(body)}", body=body)
    assert answer.status == 400
    assert "ud83d" not in answer.body.decode()
    assert hub.is_up


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\xff\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /pins HTTP/9.9\r\nhost: localhost\r\n\r\n",
        b"GET /%zz%00%ff HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        b"GET /pins?\xff=%ff HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 2000 + b"host: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nx: " + b"y" * 100_000 + b"\r\nhost: localhost\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"POST /pins HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n"
        b"transfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /summary HTTP/1.1\r\n\r\n",
        b"POST /pins HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST /pins HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"POST /pins HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=[
        "tls", "short", "version", "escapes", "bytes", "query", "headers", "header", "line",
        "both lengths", "negative", "two lengths", "chunk",
    ],
)  # fmt: skip
def test_bytes_that_are_no_request_get_no_data_and_the_hub_stays(hub, raw):
    answer = hub.send(raw)
    assert answer.status not in range(200, 300)
    assert answer.status < 500
    assert hub.is_up


def test_a_token_in_a_query_is_not_in_any_log(hub):
    hub.ask(f"GET /pins?token={hub.token}")
    hub.ask(f"GET /nope?token={hub.token}&page={hub.page_token}")
    hub.ask(f"GET /ws?token={hub.token}", *UPGRADE)
    hub.ask("GET /pins", f"authorization: Bearer {hub.token}x")
    logs = [file for file in hub.folder.iterdir() if "log" in file.name]
    assert logs
    outputs = [*logs, hub.folder.parents[3] / "output"]
    for file in outputs:
        content = file.read_bytes()
        assert hub.token.encode() not in content
        assert hub.page_token.encode() not in content
