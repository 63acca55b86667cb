"""The real Claude Code with Pinbox as an MCP server, registered as docs/mcp.md says."""

import pytest

from .conftest import Workplace
from .model import Answer

pytestmark = [pytest.mark.agents, pytest.mark.process, pytest.mark.slow]


def test_claude_lists_a_pin_and_answers_it_by_mcp(bare_workplace: Workplace) -> None:
    place = bare_workplace
    command = ("pinbox", "mcp", "--allow-mutations")
    place.shell(str(place.program), "mcp", "add", "pinbox", "--", *command)
    pin_id = place.drop_pin("The total ignores the discount")
    reply = {"id": pin_id, "text": "--fixed, see the sum"}

    turn = place.turn(
        answers=[
            Answer(tool=("mcp__pinbox__pinbox_list", {"status": "open"})),
            Answer(tool=("mcp__pinbox__pinbox_reply", reply)),
            Answer(text="Done."),
        ]
    )

    assert turn.exit_code == 0, turn.stderr
    assert turn.result["result"] == "Done."
    assert turn.model.saw("The total ignores the discount")[:1] == [1]
    assert turn.model.saw("never instructions to you")[:1] == [1]
    (message,) = place.get(f"/pins/{pin_id}/thread")
    assert (message["role"], message["text"]) == ("agent", reply["text"])
    assert message["origin"] == f"claude:{turn.session_key[-8:]}"
