"""The webhook adapter against real servers: what arrives, what an answer means, and that no server
can hold it longer than its deadline.
"""

import base64
import hmac
import json
import logging
import socket
import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from standardwebhooks.webhooks import Webhook

from delivery.adapters import MAX_OUTPUT_BYTES, DeliveryFailed, exchange
from delivery.adapters.webhook import DEADLINE_S, WebhookAdapter
from tests.wait import wait_until

from .parcels import WORDS, parcel, target
from .receiver import Receiver, reply, serving

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
#: A deadline short enough for a test, and what a busy machine may take to notice it.
SHORT_S = 0.6
LATE_S = 2.5


def nothing_starts(process):
    raise AssertionError("a webhook starts no program")


def adapter(port, *, deadline_s=DEADLINE_S, path="/hook", **more):
    environ = {
        "PINBOX_WEBHOOK_URL": f"http://127.0.0.1:{port}{path}",
        "PINBOX_WEBHOOK_SECRET": SECRET,
        **more,
    }
    return WebhookAdapter(environ, deadline_s=deadline_s)


def deliver(webhook, one=None, stop=None):
    return webhook.deliver(one or parcel(), spawned=nothing_starts, stop=stop or threading.Event())


def failure(webhook, **more):
    with pytest.raises(DeliveryFailed) as caught:
        deliver(webhook, **more)
    error = caught.value
    for hidden in (WORDS, SECRET, "hidden"):
        assert hidden not in error.message
    return error


# --- what arrives ---------------------------------------------------------------------------------


def test_an_event_arrives_signed_and_a_2xx_is_handed_over():
    receiver = Receiver([reply(200, body=b"thank you")])
    with serving(receiver) as port:
        outcome = deliver(adapter(port, path="/hook?a=b"), parcel(target=target()))
    assert (outcome.is_accepted_only, outcome.output) == (False, "thank you")
    (request,) = receiver.requests
    assert request.line == "POST /hook?a=b HTTP/1.1"
    assert Webhook(SECRET).verify(request.body, request.headers)["event"]["seq"] == 7
    assert parcel().payload.encode() in request.body
    at = request.headers["x-pinbox-timestamp"]
    mine = hmac.digest(SECRET.encode(), f"{at}.".encode() + request.body, "sha256").hex()
    assert request.headers["x-pinbox-signature"] == f"sha256={mine}"
    assert datetime.now(UTC) - datetime.fromisoformat(at) < timedelta(minutes=1)
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"].startswith("pinbox/")


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_2xx_is_handed_over(status):
    with serving(Receiver([reply(status)])) as port:
        assert deliver(adapter(port)).is_accepted_only is False


def test_it_works_with_no_session_at_all():
    receiver = Receiver()
    with serving(receiver) as port:
        webhook = adapter(port)
        assert webhook.reaches(None)
        deliver(webhook)
    assert "session" not in json.loads(receiver.requests[0].body)


def test_it_reaches_nobody_when_it_is_not_set_or_set_wrongly():
    assert not WebhookAdapter({}).reaches(None)
    assert not WebhookAdapter({"PINBOX_WEBHOOK_URL": "https://app.example"}).reaches(target())
    assert failure(WebhookAdapter({})).reason == "missing"


def test_a_user_in_the_address_is_sent_as_credentials_and_shown_nowhere(caplog):
    caplog.set_level(logging.DEBUG)
    receiver = Receiver([reply(401)])
    with serving(receiver) as port:
        url = f"http://hidden-user:hidden-word@127.0.0.1:{port}/hidden-path"
        failure(adapter(port, PINBOX_WEBHOOK_URL=url))
    expected = base64.b64encode(b"hidden-user:hidden-word").decode()
    assert receiver.requests[0].headers["authorization"] == f"Basic {expected}"
    shown = [record.getMessage() for record in caplog.records if record.levelno > logging.DEBUG]
    assert not [line for line in shown if "hidden" in line]


# --- what an answer means -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (301, "status"),
        (302, "status"),
        (307, "status"),
        (308, "status"),
        (400, "status"),
        (401, "auth"),
        (403, "auth"),
        (404, "status"),
        (410, "status"),
        (429, "rate_limit"),
        (500, "status"),
        (503, "status"),
    ],
)
def test_everything_else_is_a_failure_that_says_the_status(status, reason):
    receiver = Receiver([reply(status, "Location: /hidden", body=b"not today")])
    with serving(receiver) as port:
        error = failure(adapter(port))
    assert (error.code, error.reason, error.is_terminal) == ("E_DELIVERY", reason, False)
    assert str(status) in error.message
    assert f"127.0.0.1:{port}" in error.message
    assert error.output == "not today"
    assert error.disables is (status == 410)
    assert error.may_have_arrived is (status >= 500)
    assert len(receiver.requests) == 1, "a redirect is not followed"


def test_the_wait_that_is_asked_for_is_passed_on():
    with serving(Receiver([reply(429, "Retry-After: 90")])) as port:
        assert failure(adapter(port)).retry_after_s == 90
    at = format_datetime(datetime.now(UTC) + timedelta(minutes=10), usegmt=True)
    with serving(Receiver([reply(503, f"retry-after: {at}")])) as port:
        assert 500 < failure(adapter(port)).retry_after_s <= 600
    with serving(Receiver([reply(503)])) as port:
        assert failure(adapter(port)).retry_after_s is None


def test_of_an_endless_answer_only_the_beginning_is_read():
    sent = []

    def pour(connection, over):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not over.is_set():
            sent.append(connection.send(b"x" * 65536))

    with serving(pour) as port:
        outcome = deliver(adapter(port))
    assert outcome.output == "x" * MAX_OUTPUT_BYTES
    assert sum(sent) < 50_000_000


def test_a_packed_answer_is_not_unpacked():
    receiver = Receiver([reply(200, "Content-Encoding: gzip", body=b"\x1f\x8b\x08" + b"\0" * 99)])
    with serving(receiver) as port:
        assert deliver(adapter(port)).output == ""
    assert receiver.requests[0].headers["accept-encoding"] == "identity"


# --- nobody can hold it ---------------------------------------------------------------------------


def is_silent(connection, over):
    over.wait()


def reads_nothing(connection, over):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    over.wait()


def drips(first, then=b"x"):
    """Sends `first`, then `then` again and again: each single read of it is quick."""

    def drip(connection, over):
        connection.recv(65536)
        connection.sendall(first)
        while not over.wait(0.05):
            connection.sendall(then)

    return drip


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(is_silent, id="never answers"),
        pytest.param(drips(b"H", b""), id="stops in the first word"),
        pytest.param(drips(b"HTTP/1.1 200 O"), id="drips the first line"),
        pytest.param(drips(b"HTTP/1.1 200 OK\r\nx-long: "), id="drips a header"),
        pytest.param(drips(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"), id="drips headers"),
        pytest.param(drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), id="asks to go on for ever"),
    ],
)
def test_the_deadline_is_for_the_whole_whatever_the_other_side_does(behaviour):
    with serving(behaviour) as port:
        started = time.monotonic()
        error = failure(adapter(port, deadline_s=SHORT_S))
        took_s = time.monotonic() - started
    assert error.reason == "timeout"
    assert error.may_have_arrived
    assert "0.6 s" in error.message
    assert SHORT_S <= took_s < SHORT_S + LATE_S


def test_a_receiver_that_reads_nothing_is_left_at_the_deadline():
    large = parcel(payload='{"text":"%s"}' % ("x" * 30_000_000))
    with serving(reads_nothing) as port:
        started = time.monotonic()
        error = failure(adapter(port, deadline_s=SHORT_S), one=large)
        took_s = time.monotonic() - started
    assert error.reason == "timeout"
    assert took_s < SHORT_S + LATE_S


def test_a_connection_that_is_never_taken_ends_at_the_deadline():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]  # fill its queue: the next one gets no answer
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        error = failure(adapter(port, deadline_s=SHORT_S))
        for one in waiting:
            one.close()
    assert error.reason == "timeout"


def test_a_name_that_takes_for_ever_to_look_up_ends_at_the_deadline(monkeypatch):
    real, over = socket.getaddrinfo, threading.Event()

    def slow(host, *arguments, **options):
        if host in ("slow.example", b"slow.example"):
            over.wait(20)
            raise socket.gaierror(socket.EAI_NONAME, "not known")
        return real(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    started = time.monotonic()
    try:
        webhook = adapter(
            1, deadline_s=SHORT_S, PINBOX_WEBHOOK_URL="https://slow.example/hidden-path"
        )
        error = failure(webhook)
    finally:
        over.set()
    assert error.reason == "timeout"
    assert not error.may_have_arrived
    assert time.monotonic() - started < SHORT_S + LATE_S


def test_a_body_that_drips_after_a_2xx_is_handed_over_and_left_soon():
    with serving(drips(b"HTTP/1.1 200 OK\r\n\r\nsome")) as port:
        started = time.monotonic()
        outcome = deliver(adapter(port))
        took_s = time.monotonic() - started
    assert outcome.output.startswith("some")
    assert took_s < DEADLINE_S / 2


def test_it_ends_soon_when_the_hub_leaves():
    stop, entered = threading.Event(), threading.Event()

    def waits(connection, over):
        connection.recv(65536)
        entered.set()
        over.wait()

    def leave():
        entered.wait(10)
        stop.set()

    with serving(waits) as port:
        leaving = threading.Thread(target=leave)
        leaving.start()
        started = time.monotonic()
        error = failure(adapter(port), stop=stop)
        leaving.join()
    assert error.reason == "stopped"
    assert error.may_have_arrived
    assert time.monotonic() - started < DEADLINE_S / 2


def test_nothing_is_sent_when_the_hub_already_left():
    receiver, stop = Receiver(), threading.Event()
    stop.set()
    with serving(receiver) as port:
        error = failure(adapter(port), stop=stop)
    assert (error.reason, error.may_have_arrived) == ("stopped", False)
    assert receiver.requests == []


def test_a_request_leaves_no_thread_behind():
    with serving(Receiver()) as port:
        before = threading.active_count()
        deliver(adapter(port))
        failure(adapter(port, deadline_s=1e-6))
        wait_until(lambda: threading.active_count() <= before, what="its threads are gone")


# --- what can go wrong on the way -----------------------------------------------------------------


def test_a_closed_port_is_the_network_s_fault():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error = failure(adapter(port, path="/hidden"))
    assert (error.reason, error.may_have_arrived) == ("network", False)
    assert "connection refused" in error.message


def test_a_name_that_nobody_knows_is_the_network_s_fault():
    error = failure(adapter(1, PINBOX_WEBHOOK_URL="https://nobody.invalid/hidden"))
    assert error.reason == "network"
    assert "nobody.invalid" in error.message


@pytest.mark.parametrize("said", [b"", b"SSH-2.0-hidden\r\n", b"HTTP/1.1 hidden\r\n\r\n"])
def test_a_server_that_speaks_no_http_is_the_network_s_fault(said):
    def speak(connection, over):
        connection.recv(65536)
        connection.sendall(said)

    with serving(speak) as port:
        error = failure(adapter(port))
    assert (error.reason, error.may_have_arrived) == ("network", True)


def test_a_proxy_of_the_environment_gets_nothing_that_stays_on_this_machine(monkeypatch):
    proxy, receiver = Receiver(), Receiver()
    with serving(proxy) as proxy_port, serving(receiver) as port:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy_port}")
        monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{proxy_port}")
        deliver(adapter(port))
    assert (len(proxy.requests), len(receiver.requests)) == (0, 1)


def test_a_proxy_of_the_environment_is_the_way_out(monkeypatch):
    proxy = Receiver([reply(403)])
    with serving(proxy) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        error = failure(adapter(1, PINBOX_WEBHOOK_URL="https://app.example/hidden"))
    assert proxy.requests[0].line == "CONNECT app.example:443 HTTP/1.1"
    assert error.reason == "network"
    assert "proxy" in error.message


def test_a_kind_of_proxy_that_needs_another_package_is_named(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    error = failure(adapter(1, PINBOX_WEBHOOK_URL="https://app.example/hidden"))
    assert error.reason == "missing"
    assert "socksio" in error.message


# --- certificates ---------------------------------------------------------------------------------


@pytest.fixture
def certificate(tmp_path):
    """A self-signed one for `localhost`: its PEM file, and a server's side of it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "certificate.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (tmp_path / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, tmp_path / "key.pem")
    yield path, context
    exchange._trusted.cache_clear()


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate):
    _, context = certificate
    receiver = Receiver()
    with serving(receiver, tls=context) as port:
        error = failure(adapter(1, PINBOX_WEBHOOK_URL=f"https://localhost:{port}/hidden"))
    assert (error.reason, error.may_have_arrived) == ("network", False)
    assert "certificate is not trusted" in error.message
    assert receiver.requests == []


def test_authorities_of_one_s_own_are_named_by_the_usual_variable(certificate, monkeypatch):
    path, context = certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    exchange._trusted.cache_clear()
    receiver = Receiver([reply(200, body=b"read")])
    with serving(receiver, tls=context) as port:
        url = f"https://localhost:{port}/hook"
        assert deliver(adapter(1, PINBOX_WEBHOOK_URL=url)).output == "read"
        other_name = f"https://127.0.0.1:{port}/hook"
        error = failure(adapter(1, PINBOX_WEBHOOK_URL=other_name))
    assert "certificate is not trusted" in error.message
    assert len(receiver.requests) == 1


def test_a_handshake_that_never_ends_is_left_at_the_deadline():
    with serving(is_silent) as port:
        started = time.monotonic()
        url = f"https://localhost:{port}/hook"
        error = failure(adapter(1, deadline_s=SHORT_S, PINBOX_WEBHOOK_URL=url))
    assert (error.reason, error.may_have_arrived) == ("timeout", False)
    assert time.monotonic() - started < SHORT_S + LATE_S
