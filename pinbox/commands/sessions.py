"""session …: what integrations of agents and git call. People look with `session list`.

With `--hook` the words come as an agent's payload on stdin, and nothing may harm the agent:
whatever goes wrong, nothing is printed and the exit code is 0 (`pinbox.cli`).
"""

from __future__ import annotations

import os

from pinbox import render
from pinbox.commands import hub as hubs
from pinbox.commands.trailer import trailer
from pinbox.commands.verb import Answer, Argument, Option, Verb
from pinbox.contract import PinboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pinbox.client import Hub
    from pinbox.commands.verb import Args


# --- register, list, end -------------------------------------------------------------------------


def register(args: Args) -> Answer:
    if args.has("hook"):
        return _register_from_hook(args)
    body = dict(zip(("agent", "key"), _named_session(args, "register"), strict=True))
    hub = hubs.open_hub()
    body["cwd"] = os.path.abspath(args.get("cwd") or os.getcwd())
    session = _post_session(hub, body)
    return Answer(session, lambda: (session["id"], f"registered {body['agent']} {body['key']}"))


def _post_session(hub: Hub, body: dict[str, str]) -> dict[str, Any]:
    """Register, or refresh."""
    session: dict[str, Any] = hub.request("POST", "/sessions", body)
    return session


def list_sessions(args: Args) -> Answer:
    hub = hubs.open_hub()
    sessions = hub.request("GET", "/sessions")

    def human() -> tuple[str, str]:
        from time import time

        now = time()
        rows = [
            (
                s["id"],
                s["agent"],
                s["key"],
                "ended" if s.get("endedAt") else "active",
                render.age(s["lastSeenAt"], now),
                _elsewhere(s.get("cwd"), os.fspath(hub.project)),
            )
            for s in sessions
        ]
        return render.columns(rows), render.count(len(sessions), "session")

    return Answer(sessions, human)


def _elsewhere(cwd: str | None, project: str) -> str:
    """Where a session works, unless that is the project's own folder."""
    if cwd is None or cwd == project:
        return ""
    return cwd.removeprefix(f"{project}/")


def end(args: Args) -> Answer:
    session_id = args.get("id")
    if session_id is None:
        named = _named_session(args, "end", "its id")
        hub = hubs.open_hub()
        session_id = _looked_up(hub, *named)["id"]
    elif hubs.is_id(session_id, "ses"):
        hub = hubs.open_hub()
    else:
        raise hubs.unknown_session(session_id)
    try:
        session = hub.request("DELETE", f"/sessions/{session_id}")
    except PinboxError as error:
        raise hubs.unknown_session(session_id) if error.code == "E_NOT_FOUND" else error from error
    return Answer(session, lambda: (session["id"], f"ended {session['agent']} {session['key']}"))


def _looked_up(hub: Hub, agent: str, key: str) -> dict[str, Any]:
    found = _find(hub, agent, key)
    if found is None:
        raise hubs.unknown_session(f"{agent} {key}")
    return found


def _find(hub: Hub, agent: str, key: str) -> dict[str, Any] | None:
    for session in hub.request("GET", "/sessions"):
        if (session["agent"], session["key"]) == (agent, key):
            found: dict[str, Any] = session
            return found
    return None


def _named_session(
    args: Args, verb: str, otherwise: str = "--hook with a payload on stdin"
) -> tuple[str, str]:
    """--agent and --key. Raises E_INVALID_INPUT without both, naming what would do as well."""
    agent, key = args.get("agent"), args.get("key")
    if not agent or not key:
        raise PinboxError(
            "E_INVALID_INPUT",
            f"which session: --agent and --key are needed, or {otherwise}",
            f"pinbox session {verb} --help",
        )
    return agent, key


# --- inject, pending -----------------------------------------------------------------------------


def inject(args: Args) -> Answer:
    if args.has("hook"):
        return _hook_answer(args)
    agent, key = _named_session(args, "inject")
    hub = hubs.open_hub()
    session = _post_session(hub, {"agent": agent, "key": key})
    data = hub.request("POST", f"/sessions/{session['id']}/inject")
    text = data["context"] if data["pins"] or data["delivered"] else ""
    if args.has("raw"):
        return Answer(data, lambda: (text, ""), bare=True)
    talk = f"{render.count(len(data['pins']), 'open pin')}, {data['delivered']} handed over"
    return Answer(data, lambda: (text, talk))


def pending(args: Args) -> Answer:
    if args.has("hook"):
        return _hook_answer(args)
    agent, key = _named_session(args, "pending")
    hub = hubs.open_hub()
    session = _find(hub, agent, key)
    data: dict[str, Any] = {"count": 0, "pins": []}
    if session is not None:
        data = hub.request("GET", f"/sessions/{session['id']}/pending")
    ids = "\n".join(pin["id"] for pin in data["pins"])
    return Answer(data, lambda: (ids, f"{data['count']} pending"))


# --- hooks of an agent ---------------------------------------------------------------------------


def _hook_answer(args: Args) -> Answer:
    """What the hub says to an agent's hook, in that agent's own dialect: `pinbox hook`."""
    from pinbox import hotpath

    hotpath.main(_agent(args))
    return _nothing()


def _register_from_hook(args: Args) -> Answer:
    """Register and print nothing. Where no project is in reach nothing is created either."""
    from pinbox import client, hotpath

    agent, payload = _hook_call(args)
    body = {"agent": agent, "key": _session_id(payload)}
    if isinstance(payload.get("cwd"), str):
        body["cwd"] = payload["cwd"]
    project = hotpath.find()
    if project is not None:
        hub = client.connect(os.fsdecode(project), timeout_s=hotpath.DEADLINE_S)
        _post_session(hub, body)
    return _nothing()


def _agent(args: Args) -> str:
    agent = args.get("agent") or hubs.agent_of_shell()
    if agent is None:
        raise _refused("no agent: give --agent")
    return agent


def _hook_call(args: Args) -> tuple[str, dict[str, Any]]:
    """(agent, payload of its hook from stdin). Raises E_INVALID_INPUT for anything else."""
    import json
    import sys

    agent = _agent(args)
    try:
        payload = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        raise _refused("the payload on stdin is not a JSON object")
    return agent, payload


def _session_id(payload: dict[str, Any]) -> str:
    key = payload.get("session_id")
    if not isinstance(key, str) or not key:
        raise _refused("the payload has no session_id")
    return key


def _refused(message: str) -> PinboxError:
    return PinboxError("E_INVALID_INPUT", message, "pinbox session --help")


def _nothing() -> Answer:
    return Answer(None, lambda: ("", ""), bare=True)


AGENT = Option("--agent", "NAME", "the agent: claude, codex, hermes, openclaw or another")
KEY = Option("--key", "KEY", "the agent's own id of the session")
HOOK = Option(
    "--hook", "", "read an agent's hook payload from stdin; print only what the agent takes"
)

VERBS = (
    Verb(
        "session register",
        "Make an agent's session known, or seen again.",
        register,
        options=(
            AGENT,
            KEY,
            Option("--cwd", "DIR", "where it works, else the current directory"),
            HOOK,
        ),
    ),
    Verb("session list", "List sessions, the one seen last first.", list_sessions),
    Verb(
        "session inject",
        "Hand over what waits for a session, as the text for its next turn.",
        inject,
        options=(AGENT, KEY, HOOK, Option("--raw", "", "print the text alone, also into a pipe")),
        about="Registers the session first.",
    ),
    Verb(
        "session pending",
        "List what waits for a session, and hand over nothing.",
        pending,
        options=(AGENT, KEY, HOOK),
    ),
    Verb(
        "session end",
        "Say that a session is over.",
        end,
        arguments=(Argument("id", "the session's id, or --agent and --key", required=False),),
        options=(AGENT, KEY),
    ),
    Verb(
        "session trailer",
        "Resolve the pins that a commit's message says it fixes.",
        trailer,
        options=(
            Option("--commit", "REV", "the commit, else HEAD", default="HEAD"),
            Option("--hook", "", "as git's hook: never fail, speak only of pins that are named"),
        ),
        about="git's post-commit hook runs this.",
    ),
)
