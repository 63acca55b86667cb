"""The whole way out: a pin is dropped, the worker takes it to a server that is not the hub."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from delivery import reach
from delivery.models import Delivery
from delivery.worker import Worker
from pinbox.client import session_header
from sessions_app import services as sessions

from .loop import drop
from .receiver import Receiver, reply, serving
from .test_adapter_openclaw import GATEWAY_TOKEN, HOOK_TOKEN, KEY, Gateway

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def fresh_adapters():
    reach.adapter.cache_clear()
    yield
    reach.adapter.cache_clear()


def tick(**later):
    return Worker().tick(datetime.now(UTC) + timedelta(**later))


def attempts(pin):
    delivery = Delivery.objects.get(pin_id=pin["id"])
    return delivery, list(delivery.tries.values_list("adapter", "outcome"))


def test_a_webhook_is_called_with_no_session_and_again_under_the_same_id(monkeypatch):
    receiver = Receiver([reply(500), reply(200, body=b"read")])
    with serving(receiver) as port:
        monkeypatch.setenv("PINBOX_WEBHOOK_URL", f"http://127.0.0.1:{port}/")
        monkeypatch.setenv("PINBOX_WEBHOOK_SECRET", "a-secret")
        pin = drop("The save button is too small")
        tick(minutes=1)
        delivery, seen = attempts(pin)
        assert (delivery.status, seen) == ("pending", [("webhook", "failed")])
        tick(minutes=5)
    delivery, seen = attempts(pin)
    assert (delivery.status, delivery.handed_over_by) == ("delivered", "webhook")
    assert seen == [("webhook", "failed"), ("webhook", "handed_over")]
    one, two = receiver.requests
    assert one.headers["webhook-id"] == two.headers["webhook-id"]
    assert (one.headers["x-pinbox-attempt"], two.headers["x-pinbox-attempt"]) == ("1", "2")
    assert one.body == two.body
    event = json.loads(one.body)["event"]
    assert (event["type"], event["payload"]["id"]) == ("pin.created", pin["id"])


@pytest.fixture
def gateway(monkeypatch):
    gateway = Gateway()
    with serving(gateway) as port:
        monkeypatch.setenv("PINBOX_OPENCLAW_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("PINBOX_OPENCLAW_TOKEN", HOOK_TOKEN)
        monkeypatch.setenv("PINBOX_OPENCLAW_GATEWAY_TOKEN", GATEWAY_TOKEN)
        yield gateway


def register(key=KEY):
    sessions.register(agent="openclaw", key=key, cwd="/p/app", now=datetime.now(UTC))


def test_a_push_to_openclaw_is_confirmed_when_its_session_looks_at_the_pin(gateway, hub):
    register()
    pin = drop("The save button is too small")
    tick()
    delivery, seen = attempts(pin)
    assert (delivery.status, seen) == ("pending", [("openclaw", "accepted")])
    assert pin["id"] in gateway.pushes[0]["message"]
    header = session_header({"OPENCLAW_SESSION_KEY": KEY})
    status, _ = hub.get(f"/pins/{pin['id']}", headers={"Pinbox-Session": header})
    assert status == 200
    delivery, _ = attempts(pin)
    assert (delivery.status, delivery.acknowledged_by) == ("delivered", "show")


def test_an_openclaw_session_that_is_gone_fails_the_delivery_at_once(gateway):
    register(key="agent:main:gone")
    pin = drop("The save button is too small")
    tick(seconds=1)
    delivery, seen = attempts(pin)
    assert (delivery.status, seen) == ("failed", [("openclaw", "refused")])
    assert delivery.last_error.startswith("E_SESSION_GONE: ")
    assert gateway.pushes == []
