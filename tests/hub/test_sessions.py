"""The registry of agent sessions: who is there, who went, who took over from whom."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from pinbox import project
from pinbox.contract import PinboxError
from sessions_app import selectors, services
from sessions_app.liveness import QUIET_FOR, Process, is_live
from sessions_app.models import AgentSession

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 8, 6, 16, 0, tzinfo=UTC)


def later(**delta):
    return NOW + timedelta(**delta)


def register(key="s1", agent="claude", now=NOW, **more):
    return services.register(agent=agent, key=key, now=now, **more)[0]


def our_process():
    return Process(os.getpid(), project.process_start(os.getpid()))


@pytest.fixture
def gone():
    """A process of ours that has ended."""
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE)
    process = Process(child.pid, project.process_start(child.pid))
    yield process, lambda: child.communicate(b"\n")
    if child.poll() is None:
        child.kill()
        child.communicate()


def test_registering_twice_is_one_session_and_keeps_what_is_not_said_again():
    first, created = services.register(agent="claude", key="k", cwd="/p", now=NOW)
    again, created_again = services.register(agent="claude", key="k", now=later(minutes=1))
    assert (created, created_again) == (True, False)
    stored = AgentSession.objects.get()
    assert (stored.id, stored.registered_at) == (first.id, NOW)
    assert (stored.cwd, stored.last_seen_at) == ("/p", later(minutes=1))
    assert again.id == first.id
    services.register(agent="claude", key="k", cwd="/q", now=NOW)
    assert AgentSession.objects.get().cwd == "/q"


def test_an_ended_session_comes_back_when_it_registers_or_is_seen():
    session = register()
    services.end(session, now=later(minutes=1))
    assert services.most_recent_live(now=later(minutes=2)) is None
    register(now=later(minutes=3))
    assert AgentSession.objects.get().ended_at is None
    services.end(AgentSession.objects.get(), now=later(minutes=4))
    services.touch(AgentSession.objects.get(), now=later(minutes=5))
    assert AgentSession.objects.get().ended_at is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("agent", ""),
        ("agent", "a/b"),
        ("agent", "a" * 65),
        ("agent", "a\nb"),
        ("key", ""),
        ("key", "-rf"),
        ("key", "--resume"),
        ("key", "k" * 256),
        ("key", "é" * 128),
        ("key", "a\0b"),
        ("key", "a\x1bb"),
        ("key", "a\x9bb"),
        ("key", "a\ud83d"),
        ("cwd", ""),
        ("cwd", "relative/path"),
        ("cwd", "-C/etc"),
        ("cwd", "/p\0"),
        ("cwd", "/" + "p" * 4096),
    ],
)
def test_what_could_be_an_option_or_cannot_be_stored_is_refused(field, value):
    identity = {"agent": "claude", "key": "k", "cwd": "/p", field: value}
    with pytest.raises(PinboxError) as refused:
        services.register(**identity, now=NOW)
    assert refused.value.code == "E_INVALID_INPUT"
    assert refused.value.message.startswith(f"{field}: ")
    assert not AgentSession.objects.exists()


def test_the_live_session_seen_last_is_the_most_recent_one():
    register("a", now=later(minutes=3))
    register("b", now=later(minutes=1))
    assert services.most_recent_live(now=later(minutes=4)).key == "a"
    services.touch(selectors.find(agent="claude", key="b"), now=later(minutes=4))
    assert services.most_recent_live(now=later(minutes=5)).key == "b"


def test_a_probe_is_never_the_most_recent_session():
    register("probe", agent="doctor", now=later(minutes=3))
    assert services.most_recent_live(now=later(minutes=3)) is None
    register("a")
    assert services.most_recent_live(now=later(minutes=3)).key == "a"


def test_a_session_whose_process_is_gone_is_over(gone):
    process, finish = gone
    register("killed", process=process, now=later(minutes=2))
    register("older")
    assert services.most_recent_live(now=later(minutes=3)).key == "killed"
    finish()
    assert services.most_recent_live(now=later(minutes=3)).key == "older"
    assert selectors.find(agent="claude", key="killed").ended_at == later(minutes=3)


def test_a_session_with_a_living_process_is_live_however_long_it_is_quiet():
    session = register(process=our_process())
    assert is_live(session, now=later(days=30))


def test_a_process_that_this_hub_never_saw_proves_nothing_by_its_absence():
    # An agent on another machine or in a container: its pid means nothing here.
    session = register(process=Process(2**22 - 1, "12345"))
    assert not session.pid_is_ours
    assert is_live(session, now=later(hours=1))
    assert not is_live(session, now=NOW + QUIET_FOR)


def test_a_reused_pid_is_another_process():
    session = register(process=our_process())
    assert is_live(session, now=NOW)
    session.pid_started = "1"
    assert not is_live(session, now=NOW)


def test_a_key_that_the_same_process_changes_is_one_conversation():
    before = register("s1", cwd="/p", process=Process(7, "70"))
    after = register("s2", cwd="/p", process=Process(7, "70"), now=later(minutes=1))
    assert services.supersede(after, now=later(minutes=1)).id == before.id
    before.refresh_from_db()
    assert (before.superseded_by, before.ended_at) == (after.id, later(minutes=1))
    assert selectors.successor(before).id == after.id
    third = register("s3", cwd="/p", process=Process(7, "70"), now=later(minutes=2))
    assert services.supersede(third, now=later(minutes=2)).id == after.id
    assert selectors.successor(before).id == third.id


@pytest.mark.parametrize(
    ("cwd", "process", "agent"),
    [
        ("/other", Process(7, "70"), "claude"),
        ("/p", Process(8, "70"), "claude"),
        ("/p", Process(7, "71"), "claude"),
        ("/p", None, "claude"),
        ("/p", Process(7, "70"), "codex"),
    ],
)
def test_another_directory_process_or_agent_is_another_conversation(cwd, process, agent):
    register("s1", cwd="/p", process=Process(7, "70"))
    after = register("s2", agent=agent, cwd=cwd, process=process)
    assert services.supersede(after, now=NOW) is None


def test_two_sessions_without_a_process_do_not_take_over_from_each_other():
    register("s1", cwd="/p")
    assert services.supersede(register("s2", cwd="/p"), now=NOW) is None


def test_a_chain_that_leads_in_a_circle_ends():
    first, second = register("s1"), register("s2")
    AgentSession.objects.filter(pk=first.pk).update(superseded_by=second.id)
    AgentSession.objects.filter(pk=second.pk).update(superseded_by=first.id)
    first.refresh_from_db()
    assert selectors.successor(first).id in {first.id, second.id}


# --- over HTTP ------------------------------------------------------------------------------------


def test_a_new_session_is_created_and_a_known_one_refreshed(hub):
    status, session = hub.post("/sessions", {"agent": "claude", "key": "k", "cwd": "/p"})
    assert status == 201
    assert list(session) == ["id", "agent", "key", "cwd", "registeredAt", "lastSeenAt"]
    status, again = hub.post("/sessions", {"agent": "claude", "key": "k"})
    assert status == 200
    assert again["id"] == session["id"]
    assert again["cwd"] == "/p"
    assert again["lastSeenAt"] >= session["lastSeenAt"]


def test_ending_a_session_may_be_repeated_and_moves_the_end(hub):
    _, session = hub.post("/sessions", {"agent": "claude", "key": "k"})
    path = f"/sessions/{session['id']}"
    assert hub.delete(path)[0] == 200
    AgentSession.objects.update(ended_at=NOW)
    status, ended = hub.delete(path)
    assert status == 200
    assert ended["endedAt"] > "2026-08-06T16:00:00.000Z"
    assert "cwd" not in ended


@pytest.mark.parametrize("session_id", ["ses_aaaaaaaaaa", "ses_", "pin_aaaaaaaaaa", "x"])
@pytest.mark.parametrize(
    ("method", "suffix"), [("DELETE", ""), ("POST", "/inject"), ("GET", "/pending")]
)
def test_an_unknown_session_is_not_found(hub, method, suffix, session_id):
    status, error = hub.request(method, f"/sessions/{session_id}{suffix}")
    assert (status, error["code"]) == (404, "E_NOT_FOUND")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"agent": "claude"},
        {"key": "k"},
        {"agent": "claude", "key": 7},
        {"agent": None, "key": "k"},
        {"agent": "claude", "key": "k", "cwd": None},
        {"agent": "claude", "key": "k", "cwd": "p"},
        {"agent": "claude", "key": "-k"},
        {"agent": "claude", "key": "a\u0000"},
    ],
)
def test_a_session_that_cannot_be_is_invalid_input_with_the_field_s_name(hub, body):
    status, error = hub.post("/sessions", body)
    assert (status, error["code"]) == (400, "E_INVALID_INPUT")
    assert any(error["message"].startswith(name) for name in ("agent", "key", "cwd"))


def test_sessions_come_most_recently_seen_first_in_pages_that_miss_none(hub):
    for number in range(7):
        register(f"k{number}", now=later(minutes=number % 5))
    services.end(selectors.find(agent="claude", key="k4"), now=NOW)
    _, everyone = hub.get("/sessions")
    assert len(everyone) == 7
    assert everyone[0]["key"] == "k4"
    seen = [session["lastSeenAt"] for session in everyone]
    assert seen == sorted(seen, reverse=True)
    _, page = hub.get("/sessions?limit=3")
    _, rest = hub.get(f"/sessions?limit=100&before={page[-1]['id']}")
    assert page + rest == everyone
    _, newer = hub.get(f"/sessions?limit=2&after={rest[0]['id']}")
    assert newer == everyone[1:3]


@pytest.mark.parametrize("limit", ["0", "-1", "1000000000", "x", ""])
def test_a_silly_limit_is_refused_with_the_range(hub, limit):
    status, error = hub.get(f"/sessions?limit={limit}")
    assert status == 400
    assert "1 to 1000" in error["message"]


def test_a_page_s_token_reaches_no_session(page):
    session = register()
    for method, path in [
        ("GET", "/sessions"),
        ("POST", "/sessions"),
        ("DELETE", f"/sessions/{session.id}"),
        ("POST", f"/sessions/{session.id}/inject"),
        ("GET", f"/sessions/{session.id}/pending"),
        ("POST", "/hooks/claude"),
    ]:
        body = {"agent": "claude", "key": "k"} if method == "POST" else None
        status, error = page.request(method, path, body)
        assert (status, error["code"]) == (403, "E_AUTH"), path
    assert AgentSession.objects.count() == 1
