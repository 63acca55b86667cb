"""POST /hooks/<agent>: an agent's raw payload in, the words for its model out, in one round trip.

The answer is not the envelope but what the hook prints: the agent's own dialect, or nothing.
"""

import re
from datetime import datetime
from typing import Final

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from pinbox import agents
from pinbox.agents import HookCall
from pinbox.contract import PinboxError
from pins.event_log import writer
from sessions_app import selectors as registry
from sessions_app import services as sessions
from sessions_app.liveness import Process
from sessions_app.models import AgentSession

from . import clock, handover, ledger, turns
from .handover import HandedOver

#: "<pid>:<start>" of the agent program, from the hook's own parent.
PROCESS_HEADER: Final = "x-pinbox-ppid"
_PROCESS: Final = re.compile(r"([1-9][0-9]{0,9}):([!-~]{1,64})", re.ASCII)


class Hook(APIView):
    @extend_schema(
        operation_id="hooks_call",
        parameters=[OpenApiParameter(PROCESS_HEADER, str, OpenApiParameter.HEADER)],
        request=OpenApiTypes.OBJECT,
        responses={
            (200, "application/json"): OpenApiResponse(
                OpenApiTypes.OBJECT, "What the hook prints; empty when there is nothing to say."
            )
        },
    )
    def post(self, request: Request, agent: str) -> HttpResponse:
        if agent not in agents.AGENTS:
            raise PinboxError(
                "E_NOT_FOUND",
                "no hooks are known for that agent",
                f"known are: {', '.join(agents.AGENTS)}",
            )
        call = agents.parse(agent, request._request.body)
        process = _process(request.headers.get(PROCESS_HEADER))
        text = "" if call is None else answer(call, process=process, now=clock.now())
        body = agents.render(call, text) if call and text else b""
        return HttpResponse(body, content_type="application/json")


def answer(call: HookCall, *, process: Process | None, now: datetime) -> str:
    """What the model is told, empty for nothing. All that the call changes is one transaction."""
    if call.subagent:
        return ""
    with writer():
        known = registry.find(agent=call.agent, key=call.key)
        match call.event:
            case "SessionStart":
                session = _start(call, process, now)
                turns.began(session.id)
                if not call.is_heard:
                    return ""
                return handover.at_a_prompt(session, by="hooks", now=now, is_start=True).text
            case "UserPromptSubmit":
                session = _seen(call, known, process, now)
                turns.began(session.id)
                return handover.at_a_prompt(session, by="hooks", now=now).text
            case "Stop" if known is None or not known.superseded_by:
                session = _seen(call, known, process, now)
                held = HandedOver()
                if not call.stop_hook_active:
                    held = handover.at_a_stop(session, now=now)
                if not held.text:
                    turns.ended(session.id, now=now)
                return held.text
            case "Stop":
                pass  # the late stop of a conversation that goes on under another key
            case "SessionEnd":
                if known is not None and not sessions.is_farewell_of_another(known, process):
                    turns.began(known.id)
                    ledger.end_session(known, now=now)
    return ""


def _start(call: HookCall, process: Process | None, now: datetime) -> AgentSession:
    session, created = sessions.register(
        agent=call.agent, key=call.key, cwd=call.cwd, process=process, now=now
    )
    # In a process of many terminals another key is another conversation, but after a clear.
    rotations = {"clear"} if call.shares_process else sessions.ROTATIONS
    if created and call.source in rotations:
        predecessor = sessions.supersede(session, now=now, shares_process=call.shares_process)
        if predecessor is not None:
            ledger.inherit(session, predecessor, now=now)
    ledger.adopt(session, now=now)
    return session


def _seen(
    call: HookCall, session: AgentSession | None, process: Process | None, now: datetime
) -> AgentSession:
    """The session of a running turn. One that is not known (hooks installed meanwhile) registers,
    and so does one that went on under another key, for a person went back to it. The directory of
    any other stays: the agent may have wandered off.
    """
    if session is None or session.superseded_by:
        session, _ = sessions.register(
            agent=call.agent, key=call.key, cwd=call.cwd, process=process, now=now
        )
    else:
        sessions.touch(session, process=process, now=now)
    ledger.adopt(session, now=now)
    return session


def _process(header: str | None) -> Process | None:
    found = _PROCESS.fullmatch(header or "")
    return Process(int(found[1]), found[2]) if found else None
