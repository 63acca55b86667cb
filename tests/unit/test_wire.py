"""One HTTP exchange over a bare socket, against servers that answer in every odd way."""

import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from pinbox import wire


@contextmanager
def server(*answers, wait_for=b"\r\n\r\n", hold=False):
    """A port that reads one request and sends `answers` one by one; yields (port, received)."""
    received = []
    done = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        with connection:
            request = b""
            while wait_for not in request:
                more = connection.recv(65536)
                if not more:
                    break
                request += more
            received.append(request)
            for answer in answers:
                connection.sendall(answer)
            if hold:
                done.wait(10)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1], received
    finally:
        done.set()
        thread.join(10)
        listener.close()


def test_a_request_carries_its_parts_and_the_answer_its_status_and_body():
    with server(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok", wait_for=b"body") as (
        port,
        received,
    ):
        answer = wire.exchange(port, "POST", "/x?y=1", (("authorization", "Bearer t"),), b"body")
    assert answer == (201, b"ok")
    assert (
        received[0]
        == (
            f"POST /x?y=1 HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n"
            "authorization: Bearer t\r\ncontent-length: 4\r\n\r\nbody"
        ).encode()
    )


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe", b"llo"], (200, b"hello")),
        ([b"HTTP/1.1 200 OK\r\n\r\nuntil ", b"the end"], (200, b"until the end")),
        ([b"HTTP/1.0 404 Not Found\r\nContent-Length:0\r\n\r\n"], (404, b"")),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], (204, b"")),
        (
            [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200\r\ncontent-length: 1\r\n\r\nx"],
            (200, b"x"),
        ),
        (
            [
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r",
                b"\n2;x=y\r\nde\r\n0\r\nt: 1\r\n\r\n",
            ],
            (200, b"abcde"),
        ),
        (
            [bytes([byte]) for byte in b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"],
            (200, b"ok"),
        ),
    ],
)
def test_every_framing_of_an_answer_is_understood(answers, expected):
    with server(*answers) as (port, _):
        assert wire.exchange(port, "GET", "/") == expected


@pytest.mark.parametrize(
    "answers",
    [
        [],
        [b"HTTP/1.1 200 OK\r\ncontent-le"],
        [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe"],
        [b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhe"],
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhe"],
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhe"],
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhello\r\n"],
        [b"SSH-2.0-OpenSSH\r\n\r\n"],
        [b"GET / HTTP/1.1\r\n\r\n"],
        [b"\x00" * 200_000],
    ],
)
def test_an_answer_that_is_not_whole_or_not_http_is_lost(answers):
    with server(*answers) as (port, _), pytest.raises(wire.Lost) as caught:
        wire.exchange(port, "GET", "/")
    assert caught.value.reached


def test_a_port_without_a_listener_refuses_and_nothing_was_reached():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(wire.Refused) as caught:
        wire.exchange(port, "GET", "/")
    assert not caught.value.reached


def test_a_connection_to_itself_is_a_refusal(monkeypatch):
    """Binding the port before connecting to it makes certain what an ephemeral port makes rare."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    real = wire._socket.socket

    def bound(*args):
        made = real(*args)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
        return made

    monkeypatch.setattr(wire._socket, "socket", bound)
    with pytest.raises(wire.Refused):
        wire.exchange(port, "GET", "/", timeout_s=2)


@pytest.mark.parametrize("answers", [[], [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe"]])
def test_a_silent_server_runs_into_the_deadline(answers):
    started = time.monotonic()
    with server(*answers, hold=True) as (port, _), pytest.raises(wire.TimedOut):
        wire.exchange(port, "GET", "/", timeout_s=0.2)
    assert time.monotonic() - started < 5


def test_the_deadline_is_of_the_whole_exchange_not_of_each_packet():
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def drip():
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while not stop.wait(0.02):
                try:
                    connection.sendall(b"x")
                except OSError:
                    return

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        with pytest.raises(wire.TimedOut):
            wire.exchange(listener.getsockname()[1], "GET", "/", timeout_s=0.3)
    finally:
        stop.set()
        thread.join(10)
        listener.close()


def test_an_answer_sent_before_the_request_was_read_is_still_read():
    """A hub that refuses a big body closes early; the sender must see why, not a broken pipe."""
    refusal = b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno"
    with server(refusal) as (port, _):
        try:
            answer = wire.exchange(port, "POST", "/", (), b"x" * 3_000_000, timeout_s=5)
        except wire.Lost:  # the kernel may have dropped the answer with the connection
            return
    assert answer == (413, b"no")


@pytest.mark.parametrize("value", ["a\r\nevil: 1", "a\nb", "\x00", "é"])
def test_a_header_cannot_smuggle_a_line(value):
    with pytest.raises(ValueError, match="does not allow"):
        wire.exchange(1, "GET", "/", (("x", value),))


def test_a_large_answer_comes_whole():
    body = bytes(range(256)) * 40_000
    with server(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body), body) as (port, _):
        assert wire.exchange(port, "GET", "/") == (200, body)


def test_it_imports_no_module_of_python_code():
    script = (
        "import sys; before = set(sys.modules); import pinbox.wire; "
        "print(sorted(set(sys.modules) - before))"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", script],
        cwd=Path(wire.__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() in (
        "['_socket', 'pinbox', 'pinbox.wire', 'time']",
        "['_socket', 'pinbox', 'pinbox.wire']",
    )
