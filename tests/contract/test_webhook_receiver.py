"""The receiver that docs/webhooks.md prints, run as it stands there."""

import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from delivery.adapters import DeliveryFailed
from delivery.adapters.webhook import WebhookAdapter
from tests.hub.parcels import parcel

PAGE = Path(__file__).resolve().parents[2] / "docs" / "webhooks.md"
NEW, OLD = "whsec_AAECAwQFBgcICQoLDA0ODw", "an-old-secret"
pytestmark = pytest.mark.process


@pytest.fixture
def receiver(tmp_path):
    """(its port, the lines it prints) of the page's own program, which knows one secret."""
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "receiver.py").write_text(program)
    environ = {"PATH": os.environ["PATH"], "PORT": "0", "PINBOX_WEBHOOK_SECRET": OLD}
    with subprocess.Popen(
        [sys.executable, "-I", "receiver.py"],
        cwd=tmp_path,
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            line = process.stdout.readline()
            yield int(line.removeprefix("listening on port ")), process.stdout
        finally:
            process.kill()


def deliver(port, one, secret):
    environ = {
        "PINBOX_WEBHOOK_URL": f"http://127.0.0.1:{port}/",
        "PINBOX_WEBHOOK_SECRET": secret,
    }
    return WebhookAdapter(environ).deliver(one, spawned=lambda _: None, stop=threading.Event())


def test_it_takes_each_delivery_once_and_only_from_one_who_knows_the_secret(receiver):
    port, lines = receiver
    first, second = parcel(), parcel(id="dlv_ffffffffffffffffffffffff", event_seq=8)
    with pytest.raises(DeliveryFailed) as caught:
        deliver(port, first, NEW)
    assert caught.value.reason == "auth"
    deliver(port, first, f"{NEW} {OLD}")
    deliver(port, replace(first, attempt=2), f"{OLD} {NEW}")
    deliver(port, second, OLD)
    assert lines.readline() == "7 pin.created pin_0123456789\n"
    assert lines.readline() == "8 pin.created pin_0123456789\n"
