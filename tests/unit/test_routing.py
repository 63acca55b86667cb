"""Where one event goes, case by case."""

import pytest

from delivery.routing import Decision, Facts, Step, decide, skip_reason

CREATED = Facts(type="pin.created")
HUMAN = Facts(type="thread.message", role="human")
MIRROR = Facts(type="thread.message", role="mirror")
REOPENED = Facts(type="pin.verified", outcome="reopened")
NEWS = [CREATED, HUMAN, MIRROR, REOPENED]


@pytest.mark.parametrize(
    "facts",
    [
        Facts(type="thread.message", role="agent"),
        Facts(type="thread.message", role="somebody new"),
        Facts(type="thread.message"),
        Facts(type="pin.resolved"),
        Facts(type="pin.verified", outcome="accepted"),
        Facts(type="pin.verified"),
        Facts(type="pin.linked"),
        Facts(type="pin.invented"),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_bound", [True, False])
def test_what_is_no_news_for_an_agent_is_skipped_with_its_reason(facts, is_bound):
    decision = decide(facts, is_bound=is_bound, bound_session="ses_a", live_session="ses_b")
    assert decision.step is Step.SKIP
    assert decision.reason
    assert decision.session_id is None


@pytest.mark.parametrize("facts", NEWS, ids=str)
@pytest.mark.parametrize(
    ("is_bound", "bound", "live", "wanted"),
    [
        (True, "ses_a", "ses_b", Decision(step=Step.SEND, session_id="ses_a")),
        (True, "ses_a", None, Decision(step=Step.SEND, session_id="ses_a")),
        (True, None, "ses_b", Decision(step=Step.REGISTER)),
        (True, None, None, Decision(step=Step.REGISTER)),
        (False, None, "ses_b", Decision(step=Step.BIND, session_id="ses_b")),
        (False, None, None, Decision(step=Step.WAIT)),
    ],
)
def test_a_binding_wins_over_recency_and_nobody_means_wait(facts, is_bound, bound, live, wanted):
    assert skip_reason(facts) is None
    assert decide(facts, is_bound=is_bound, bound_session=bound, live_session=live) == wanted
