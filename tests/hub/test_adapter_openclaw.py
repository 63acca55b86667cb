"""The OpenClaw adapter against a gateway and a program on PATH, both of which answer as the real
ones do (tests/agents/test_openclaw.py holds them to it).
"""

import json
import os
import sys
import threading
import time
from dataclasses import replace

import pytest

from delivery.adapters import DeliveryFailed, Presence
from delivery.adapters.openclaw import OpenClawAdapter, notice
from pinbox.client import session_header

from .parcels import WORDS, parcel, target
from .receiver import read_request, reply, serving

KEY = "agent:main:pinbox"
HOOK_TOKEN, GATEWAY_TOKEN = "hidden-hook-token", "hidden-gateway-token"
PUSH_S = 0.6
LATE_S = 2.5


def nothing_starts(process):
    raise AssertionError("no agent is started")


def push(adapter, one=None, stop=None):
    one = one or parcel(target=target("openclaw", KEY))
    return adapter.deliver(one, spawned=nothing_starts, stop=stop or threading.Event())


def failure(adapter, **more):
    with pytest.raises(DeliveryFailed) as caught:
        push(adapter, **more)
    for hidden in (WORDS, "hidden"):
        assert hidden not in caught.value.message + caught.value.output
    return caught.value


# --- over http ------------------------------------------------------------------------------------


class Gateway:
    """Knows one session; remembers runs by id and words, as the real one does."""

    def __init__(self):
        self.sessions = {KEY}
        self.lookups, self.pushes = [], []
        self.runs = {}
        self.instead = {}

    def __call__(self, connection, over):
        request = read_request(connection)
        path = request.line.split()[1]
        body = json.loads(request.body)
        if path in self.instead:
            connection.sendall(self.instead[path])
            return
        token = request.headers["authorization"].removeprefix("Bearer ")
        connection.sendall(self.answer(path, token, body))

    def answer(self, path, token, body):
        if path == "/tools/invoke":
            self.lookups.append(body)
            if token != GATEWAY_TOKEN:
                return reply(401, body=b'{"error":{"message":"Unauthorized"}}')
            if body.get("sessionKey") != body["args"]["sessionKey"]:
                return reply(400, body=b"Multiple agents are configured")
            return said(200, {"ok": True, "result": {"details": self.history(body["args"])}})
        if path != "/hooks/agent":
            return reply(404, body=b"Not Found")
        if token != HOOK_TOKEN:
            return reply(401, body=b"Unauthorized")
        self.pushes.append(body)
        self.sessions.add(body["sessionKey"])
        run = self.runs.setdefault((body["idempotencyKey"], body["message"]), len(self.runs))
        return said(200, {"ok": True, "runId": f"run-{run}"})

    def history(self, asked):
        key = asked["sessionKey"]
        if key not in self.sessions:
            return {"status": "error", "error": f"No session found: {key}"}
        return {"sessionKey": key, "messages": [{"role": "user", "content": WORDS}]}


def said(status, document, *headers):
    return reply(status, *headers, body=json.dumps(document).encode())


@pytest.fixture
def gateway():
    gateway = Gateway()
    with serving(gateway) as gateway.port:
        yield gateway


def by_http(port, **more):
    environ = {
        "PINBOX_OPENCLAW_URL": f"http://127.0.0.1:{port}",
        "PINBOX_OPENCLAW_TOKEN": HOOK_TOKEN,
        "PINBOX_OPENCLAW_GATEWAY_TOKEN": GATEWAY_TOKEN,
        "PATH": os.defpath,
        **more,
    }
    return OpenClawAdapter(environ, push_s=PUSH_S)


def test_a_wake_says_which_pin_has_news_and_not_a_word_of_it(gateway):
    one = parcel(target=target("openclaw", KEY), is_wake=True)
    push(by_http(gateway.port), one=one)
    (sent,) = gateway.pushes
    assert sent["message"] == notice(one.pin_id, one.target)
    assert WORDS not in sent["message"]


def test_it_reaches_openclaw_s_sessions_and_no_others_whatever_is_known_of_their_end(gateway):
    adapter = by_http(gateway.port)
    for presence in Presence:
        assert adapter.reaches(target("openclaw", KEY, presence=presence))
        assert not adapter.reaches(target("claude", presence=presence))
    assert not adapter.reaches(None)


def test_it_reaches_nobody_where_there_is_neither_a_gateway_nor_the_program():
    nowhere = OpenClawAdapter({"PATH": "/nowhere"})
    assert not nowhere.reaches(target("openclaw", KEY))
    assert failure(nowhere).reason == "missing"


def test_a_push_is_only_accepted_for_nobody_saw_the_agent_read_it(gateway):
    outcome = push(by_http(gateway.port))
    assert outcome.is_accepted_only
    assert json.loads(outcome.output) == {"ok": True, "runId": "run-0"}
    (body,) = gateway.pushes
    assert body["sessionKey"] == KEY
    assert body["sessionMode"] == "persistent"
    assert body["agentId"] == "main"
    assert body["idempotencyKey"] == parcel().id
    assert body["deliver"] is False
    assert body["message"].endswith(parcel().text)


def test_the_agent_is_told_from_where_to_run_our_commands_and_in_whose_name(gateway):
    push(by_http(gateway.port), one=parcel(target=target("openclaw", KEY, cwd="/srv/my app")))
    first = gateway.pushes[0]["message"].split("\n")[0]
    assert f"`cd '/srv/my app' && OPENCLAW_SESSION_KEY={KEY} pinbox`" in first
    assert session_header({"OPENCLAW_SESSION_KEY": KEY}) == f"openclaw/{KEY}"


@pytest.mark.parametrize("foreign", ["a\nb", "a`b\x1b[2J", "a <system> b"])
def test_a_folder_or_a_key_that_is_no_plain_line_is_not_repeated_to_the_agent(foreign):
    words = notice("pin_0123456789", target("openclaw", foreign, cwd=f"/srv/{foreign}"))
    assert foreign not in words
    assert "`pinbox show pin_0123456789`" in words


def test_a_retry_says_the_same_under_the_same_id_so_that_the_gateway_runs_it_once(gateway):
    adapter = by_http(gateway.port)
    first = parcel(target=target("openclaw", KEY))
    push(adapter, one=first)
    push(adapter, one=replace(first, attempt=2, text="framed anew, and one more pin is open"))
    assert len(gateway.pushes) == 2
    assert len(gateway.runs) == 1


def test_a_key_that_is_gone_is_refused_and_no_session_is_made_of_it(gateway):
    error = failure(by_http(gateway.port), one=parcel(target=target("openclaw", "agent:main:old")))
    assert (error.code, error.reason, error.is_terminal) == ("E_SESSION_GONE", "refused", True)
    assert gateway.pushes == []
    assert gateway.sessions == {KEY}


def test_without_the_gateway_s_own_token_nothing_is_sent_for_the_key_may_be_gone(gateway):
    adapter = by_http(gateway.port, PINBOX_OPENCLAW_GATEWAY_TOKEN="")
    error = failure(adapter)
    assert (error.reason, error.is_terminal) == ("auth", False)
    assert "PINBOX_OPENCLAW_GATEWAY_TOKEN" in error.message
    assert gateway.pushes == []


def test_a_wrong_token_for_hooks_is_named(gateway):
    error = failure(by_http(gateway.port, PINBOX_OPENCLAW_TOKEN="hidden-other"))
    assert error.reason == "auth"
    assert "PINBOX_OPENCLAW_TOKEN is not" in error.message
    assert gateway.pushes == []


def test_a_gateway_that_is_down_is_the_network_s_fault():
    with serving(Gateway()) as port:
        pass
    error = failure(by_http(port))
    assert (error.code, error.reason) == ("E_DELIVERY", "network")
    assert not error.may_have_arrived


POLICY = {"ok": False, "error": "sessionKey must start with one of: hook:"}


@pytest.mark.parametrize(
    ("path", "answer", "reason", "may_have_arrived"),
    [
        ("/tools/invoke", reply(404), "missing", False),
        ("/tools/invoke", reply(500), "status", False),
        ("/tools/invoke", reply(200, body=b"not json"), "answer", False),
        ("/tools/invoke", reply(200, body=b'{"ok":true,"result":[]}'), "answer", False),
        ("/tools/invoke", reply(200, body=b"[" * 200_000), "answer", False),
        ("/hooks/agent", said(400, POLICY), "status", False),
        ("/hooks/agent", reply(302, "Location: /elsewhere"), "status", False),
        ("/hooks/agent", reply(404), "missing", False),
        ("/hooks/agent", said(409, {"ok": False, "error": "changed"}), "busy", False),
        ("/hooks/agent", said(502, {"ok": False}), "status", True),
        ("/hooks/agent", said(503, {"ok": False}), "busy", True),
        ("/hooks/agent", reply(200, body=b"<html>"), "answer", True),
        ("/hooks/agent", said(200, {"ok": False}), "answer", True),
    ],
)
def test_every_other_answer_is_a_failure_that_can_be_tried_again(
    gateway, path, answer, reason, may_have_arrived
):
    gateway.instead[path] = answer
    error = failure(by_http(gateway.port))
    assert (error.code, error.reason, error.is_terminal) == ("E_DELIVERY", reason, False)
    assert error.may_have_arrived is may_have_arrived


@pytest.mark.parametrize("path", ["/tools/invoke", "/hooks/agent"])
def test_too_many_wrong_tokens_and_the_wait_they_cost_are_passed_on(gateway, path):
    gateway.instead[path] = reply(429, "Retry-After: 42", body=b"Too Many Requests")
    error = failure(by_http(gateway.port))
    assert (error.reason, error.retry_after_s) == ("rate_limit", 42)


def test_a_session_with_a_long_last_message_is_still_found(gateway):
    def history(asked):
        return {"messages": ["x" * 1_000_000], "sessionKey": asked["sessionKey"]}

    gateway.history = history
    assert push(by_http(gateway.port)).is_accepted_only


def test_a_gateway_that_takes_the_words_and_says_nothing_is_left_at_the_deadline():
    gateway = Gateway()

    def silent_at_the_push(connection, over):
        request = read_request(connection)
        if "/hooks/agent" in request.line:
            over.wait()
        else:
            body = json.loads(request.body)
            connection.sendall(gateway.answer("/tools/invoke", GATEWAY_TOKEN, body))

    with serving(silent_at_the_push) as port:
        started = time.monotonic()
        error = failure(by_http(port))
        took_s = time.monotonic() - started
    assert (error.reason, error.may_have_arrived) == ("timeout", True)
    assert took_s < PUSH_S + LATE_S


# --- by its program -------------------------------------------------------------------------------

PROGRAM = """#!{python} -I
import json, os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
with open(here + "/calls", "a") as log:
    call = dict(argv=sys.argv[1:], env=dict(os.environ), cwd=os.getcwd(), stdin=sys.stdin.read())
    log.write(json.dumps(call) + chr(10))
answer = json.load(open(here + "/answer"))
sys.stdout.write(answer["stdout"])
sys.stderr.write(answer["stderr"])
sys.stdout.flush()
time.sleep(answer["seconds"])
sys.exit(answer["exit"])
"""


class Program:
    """An executable `openclaw` on a PATH of its own, which answers as it is told."""

    def __init__(self, folder):
        self.folder = folder
        path = folder / "openclaw"
        path.write_text(PROGRAM.replace("{python}", sys.executable))
        path.chmod(0o755)
        self.says({"runId": parcel().id, "status": "started"})

    def says(self, document, *, code=0, stderr="", seconds=0):
        stdout = document if isinstance(document, str) else json.dumps(document, indent=2) + "\n"
        answer = {"stdout": stdout, "stderr": stderr, "exit": code, "seconds": seconds}
        (self.folder / "answer").write_text(json.dumps(answer))

    def refuses(self, message, **more):
        error = {"type": "gateway_request_error", "message": message, **more}
        self.says({"ok": False, "error": error}, code=1, stderr=f"{message}\n")

    @property
    def calls(self):
        log = self.folder / "calls"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path)


def by_program(program, *, program_s=20.0, **more):
    path = f"{program.folder}:{os.defpath}"
    return OpenClawAdapter({"PATH": path, "HOME": "/home/ada", **more}, program_s=program_s)


def test_the_program_is_used_where_no_gateway_is_set(program):
    adapter = by_program(program)
    assert adapter.reaches(target("openclaw", KEY))
    outcome = push(adapter)
    assert outcome.is_accepted_only
    assert "started" in outcome.output
    (call,) = program.calls
    assert call["argv"][:4] == ["gateway", "call", "sessions.send", "--params"]
    params = json.loads(call["argv"][4])
    assert (params["key"], params["idempotencyKey"]) == (KEY, parcel().id)
    assert "pinbox show pin_0123456789" in params["message"]


def test_no_word_of_a_pin_stands_in_the_list_of_processes(program):
    push(by_program(program))
    (call,) = program.calls
    assert WORDS not in " ".join(call["argv"])
    assert len(" ".join(call["argv"])) < 1000


def test_a_retry_by_the_program_says_the_same_under_the_same_id(program):
    first = parcel(target=target("openclaw", KEY))
    push(by_program(program), one=first)
    push(by_program(program), one=replace(first, attempt=2, text="framed anew"))
    one, two = program.calls
    assert one["argv"] == two["argv"]


def test_a_key_that_begins_like_an_option_stays_a_value(program):
    push(by_program(program), one=parcel(target=target("openclaw", "--url ws://evil.example")))
    (call,) = program.calls
    assert [word for word in call["argv"] if word.startswith("--")] == [
        "--params",
        "--timeout",
        "--json",
    ]


def test_the_program_gets_what_it_needs_of_the_environment_and_nothing_else(program):
    ours = {"PINBOX_OPENCLAW_URL": "", "PINBOX_WEBHOOK_SECRET": "hidden"}
    agents = {"CLAUDECODE": "1", "AWS_SECRET_ACCESS_KEY": "hidden", "OPENCLAW_SHELL": "exec"}
    its = {"OPENCLAW_GATEWAY_TOKEN": "its-own", "OPENCLAW_STATE_DIR": "/its/state", "LC_ALL": "C"}
    push(by_program(program, **ours, **agents, **its))
    (call,) = program.calls
    assert its.items() <= call["env"].items()
    assert call["env"]["HOME"] == "/home/ada"
    assert set(call["env"]) & (set(ours) | set(agents)) == set()
    assert call["cwd"] == "/"
    assert call["stdin"] == ""


def test_the_program_s_refusal_of_a_key_that_is_gone_is_the_session_s_end(program):
    program.refuses(f"session not found: {KEY}", code="INVALID_REQUEST", retryable=False)
    error = failure(by_program(program))
    assert (error.code, error.reason, error.is_terminal) == ("E_SESSION_GONE", "refused", True)


def test_an_id_that_the_gateway_has_already_is_no_failure(program):
    program.refuses(
        "This message ID was already used for different input.",
        code="INVALID_REQUEST",
        details={"reason": "chat-request-conflict"},
    )
    assert push(by_program(program)).is_accepted_only


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("unauthorized: gateway token mismatch (use this gateway's gateway.auth.token)", "auth"),
        ("pairing required", "auth"),
        ("Gateway not reachable at ws://127.0.0.1:59621 (ECONNREFUSED).", "network"),
        ("gateway closed (1006)", "network"),
        ("too many failed attempts", "rate_limit"),
        ("gateway request timeout for sessions.send", "timeout"),
        ("gateway is restarting: UNAVAILABLE", "busy"),
        ("something nobody has seen yet", "answer"),
    ],
)
def test_what_the_program_says_tells_the_failures_apart(program, message, reason):
    program.refuses(message)
    error = failure(by_program(program))
    assert (error.code, error.reason, error.is_terminal) == ("E_DELIVERY", reason, False)
    assert message in error.output


@pytest.mark.parametrize("stdout", ["", "OpenClaw\n", '{"ok": true}', "[]", '{"runId": '])
def test_an_exit_of_0_alone_is_no_delivery(program, stdout):
    program.says(stdout)
    error = failure(by_program(program))
    assert (error.reason, error.may_have_arrived) == ("answer", True)


def test_words_before_the_answer_do_not_hide_it(program):
    program.says('[postinstall] no native support.\n{"runId": "r", "status": "started"}\n')
    assert push(by_program(program)).is_accepted_only


def test_a_program_that_hangs_is_ended_at_its_limit(program):
    program.says("", seconds=60)
    started = time.monotonic()
    error = failure(by_program(program, program_s=1.0))
    assert (error.reason, error.may_have_arrived) == ("timeout", True)
    assert time.monotonic() - started < 1.0 + 2 * LATE_S


def test_a_program_that_hangs_is_ended_when_the_hub_leaves(program):
    program.says("", seconds=60)
    stop = threading.Event()
    timer = threading.Timer(0.5, stop.set)
    timer.start()
    started = time.monotonic()
    error = failure(by_program(program), stop=stop)
    timer.join()
    assert error.reason == "stopped"
    assert time.monotonic() - started < 0.5 + 2 * LATE_S


def test_a_program_that_cannot_be_started_is_missing(program):
    (program.folder / "openclaw").write_text("#!/nowhere/node\n")
    assert failure(by_program(program)).reason == "missing"


def test_a_set_gateway_is_never_passed_over_for_the_program(program):
    with serving(Gateway()) as port:
        pass
    more = {"PINBOX_OPENCLAW_URL": f"http://127.0.0.1:{port}", "PINBOX_OPENCLAW_TOKEN": HOOK_TOKEN}
    assert failure(by_program(program, **more)).reason == "network"
    assert program.calls == []
