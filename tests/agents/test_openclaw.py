"""A real OpenClaw gateway, offline: what a push does there, over HTTP and by the program."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from delivery.adapters import DeliveryFailed, Outcome, Parcel
from delivery.adapters.openclaw import OpenClawAdapter
from tests.hub.parcels import parcel, target

from .gateway import GATEWAY_TOKEN, HOOK_TOKEN, KEY, Gateway, free_port, running
from .model import Answer

pytestmark = [
    pytest.mark.agents,
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.timeout(420),  # the first of them waits for the gateway
]

FIRST_WORDS = "the words that the session began with"


def push(adapter: OpenClawAdapter, one: Parcel) -> Outcome:
    return adapter.deliver(one, spawned=lambda _: None, stop=threading.Event())


def failure(adapter: OpenClawAdapter, one: Parcel) -> DeliveryFailed:
    with pytest.raises(DeliveryFailed) as caught:
        push(adapter, one)
    return caught.value


def to_session(number: int, key: str = KEY) -> Parcel:
    """A parcel whose words occur nowhere else."""
    words = f"words of parcel {number}"
    return parcel(id=f"dlv_{number:024x}", target=target("openclaw", key), text=words)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("openclaw")
    (folder / "workspace").mkdir()
    answers = [Answer(text=f"answer {number}") for number in range(20)]
    plain = {"plugins": {"enabled": False}}
    with running(
        folder, port=free_port(), answers=answers, workspace=folder / "workspace", more=plain
    ) as found:
        # Nothing but its own hooks makes a session, so this is no news from Pinbox.
        found.turn(FIRST_WORDS)
        yield found


# --- over http ------------------------------------------------------------------------------------


def test_a_push_arrives_in_the_session_with_its_history(gateway: Gateway) -> None:
    outcome = push(gateway.by_http(), to_session(1))
    assert outcome.is_accepted_only
    (number, *_) = gateway.reads("words of parcel 1")
    assert number in gateway.model.saw(FIRST_WORDS)
    assert number in gateway.model.saw(f"OPENCLAW_SESSION_KEY={KEY} pinbox")


def test_the_same_delivery_twice_is_read_once(gateway: Gateway) -> None:
    adapter, one = gateway.by_http(), to_session(2)
    first = push(adapter, one)
    again = push(adapter, replace(one, attempt=2, text="framed anew"))
    assert again.output == first.output
    gateway.reads("words of parcel 2")
    assert gateway.model.saw("framed anew") == []


def test_a_key_that_never_was_is_refused_and_nobody_reads_it(gateway: Gateway) -> None:
    error = failure(gateway.by_http(), to_session(3, key="agent:main:never"))
    assert (error.code, error.reason) == ("E_SESSION_GONE", "refused")
    again = failure(gateway.by_http(), to_session(3, key="agent:main:never"))
    assert again.reason == "refused", "the question made a session"
    assert gateway.model.saw("words of parcel 3") == []


def test_a_wrong_token_is_a_matter_of_authentication(gateway: Gateway) -> None:
    for name in ("PINBOX_OPENCLAW_TOKEN", "PINBOX_OPENCLAW_GATEWAY_TOKEN"):
        error = failure(gateway.by_http(**{name: "a-wrong-token-0000"}), to_session(4))
        assert (error.code, error.reason) == ("E_DELIVERY", "auth")
        assert name in error.message
    assert gateway.model.saw("words of parcel 4") == []


def test_a_gateway_that_is_down_is_the_network_s_fault() -> None:
    """Needs no program, but stands here beside what the program says of it."""
    environ = {
        "PINBOX_OPENCLAW_URL": f"http://127.0.0.1:{free_port()}",
        "PINBOX_OPENCLAW_TOKEN": HOOK_TOKEN,
    }
    assert failure(OpenClawAdapter(environ), to_session(5)).reason == "network"


# --- by the program -------------------------------------------------------------------------------


def test_the_program_tells_the_session_where_to_look_and_no_word_of_the_pin(
    gateway: Gateway,
) -> None:
    one = to_session(6)
    assert push(gateway.by_program(), one).is_accepted_only
    (number, *_) = gateway.reads(f"pinbox show {one.pin_id}")
    assert number in gateway.model.saw(FIRST_WORDS)
    assert gateway.model.saw("words of parcel 6") == []


def test_an_id_that_the_gateway_has_is_taken_for_arrived(gateway: Gateway) -> None:
    one = to_session(7)
    push(gateway.by_program(), one)
    other = replace(one, pin_id="pin_9876543210")
    assert push(gateway.by_program(), other).is_accepted_only
    gateway.reads(f"pinbox show {one.pin_id}")
    assert gateway.model.saw("pin_9876543210") == []


def test_the_program_refuses_a_key_that_never_was(gateway: Gateway) -> None:
    error = failure(gateway.by_program(), to_session(8, key="agent:main:never"))
    assert (error.code, error.reason) == ("E_SESSION_GONE", "refused")


@pytest.mark.parametrize(
    ("is_up", "token", "reason"),
    [(True, "a-wrong-token-0000", "auth"), (False, GATEWAY_TOKEN, "network")],
)
def test_what_the_program_says_of_a_gateway_that_it_does_not_get_into(
    gateway: Gateway, tmp_path: Path, is_up: bool, token: str, reason: str
) -> None:
    """From another home: in its own it keeps what it was once let in with."""
    port = gateway.port if is_up else free_port()
    (tmp_path / ".openclaw").mkdir()
    auth = {"mode": "token", "token": token}
    settings = {"gateway": {"mode": "local", "port": port, "auth": auth}}
    (tmp_path / ".openclaw" / "openclaw.json").write_text(json.dumps(settings))
    outside = gateway.by_program(HOME=str(tmp_path), OPENCLAW_GATEWAY_TOKEN=token)
    error = failure(outside, to_session(9))
    assert (error.code, error.reason) == ("E_DELIVERY", reason), error.output
