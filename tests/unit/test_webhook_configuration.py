"""The settings of what leaves the hub: what is read, what is refused, and in which words."""

import pytest

from delivery import configuration
from delivery.configuration import OpenClaw, Webhook
from pinbox.contract import PinboxError

URL, SECRET = "https://app.example/hooks?token=hidden-1", "hidden-secret-of-a-person"
WEBHOOK = {"PINBOX_WEBHOOK_URL": URL, "PINBOX_WEBHOOK_SECRET": SECRET}
OPENCLAW = {"PINBOX_OPENCLAW_URL": "http://127.0.0.1:18789/", "PINBOX_OPENCLAW_TOKEN": "hidden-2"}


def test_nothing_is_set_on_a_laptop():
    assert configuration.webhook({}) is None
    assert configuration.openclaw({}) is None
    assert configuration.problems({}) == []
    assert configuration.problems(dict.fromkeys({**WEBHOOK, **OPENCLAW}, " ")) == []


def test_several_secrets_are_separated_by_white_space_the_newest_first():
    environ = {**WEBHOOK, "PINBOX_WEBHOOK_SECRET": "  new-one \n whsec_AAEC\told-one "}
    assert configuration.webhook(environ) == Webhook(
        url=URL, secrets=("new-one", "whsec_AAEC", "old-one")
    )


def test_a_gateway_s_address_is_kept_without_its_last_slash():
    assert configuration.openclaw(OPENCLAW) == OpenClaw(
        url="http://127.0.0.1:18789", token="hidden-2", gateway_token="hidden-2"
    )
    other = {**OPENCLAW, "PINBOX_OPENCLAW_GATEWAY_TOKEN": "hidden-3"}
    assert configuration.openclaw(other) == OpenClaw(
        url="http://127.0.0.1:18789", token="hidden-2", gateway_token="hidden-3"
    )


@pytest.mark.parametrize(
    "url",
    [
        "https://app.example",
        "HTTPS://app.example/x",
        "https://person:pass@app.example:8443/a?b=c#d",
        "http://localhost:3000/hook",
        "http://127.0.0.1/hook",
        "http://127.8.9.1:80/",
        "http://[::1]:3000/",
    ],
)
def test_addresses_that_nobody_on_the_way_can_read_are_taken(url):
    found = configuration.webhook({**WEBHOOK, "PINBOX_WEBHOOK_URL": url})
    assert found is not None
    assert found.url == url


OFF_LOOPBACK = [
    "http://app.example/hidden-1",
    "http://localhost.evil.example/hidden-1",
    "http://127.0.0.1.nip.example/hidden-1",
    "http://10.0.0.7/hidden-1",
    "http://0.0.0.0/hidden-1",
    "http://localhost@app.example/hidden-1",
]


@pytest.mark.parametrize("url", OFF_LOOPBACK)
def test_plain_http_leaves_the_machine_only_where_that_is_allowed(url):
    environ = {**WEBHOOK, "PINBOX_WEBHOOK_URL": url}
    (problem,) = configuration.problems(environ)
    assert "plain http" in problem.message
    assert "PINBOX_WEBHOOK_ALLOW_HTTP" in problem.hint
    assert configuration.problems({**environ, "PINBOX_WEBHOOK_ALLOW_HTTP": "0"}) == [problem]
    assert configuration.problems({**environ, "PINBOX_WEBHOOK_ALLOW_HTTP": "1"}) == []


WRONG = [
    {"PINBOX_WEBHOOK_URL": URL},
    {"PINBOX_WEBHOOK_SECRET": SECRET},
    {**WEBHOOK, "PINBOX_WEBHOOK_SECRET": " \n"},
    {**WEBHOOK, "PINBOX_WEBHOOK_URL": "hidden-1"},
    {**WEBHOOK, "PINBOX_WEBHOOK_URL": "ftp://app.example/hidden-1"},
    {**WEBHOOK, "PINBOX_WEBHOOK_URL": "https:///hidden-1"},
    {**WEBHOOK, "PINBOX_WEBHOOK_URL": "https://app.example:hidden-1/"},
    {**WEBHOOK, "PINBOX_WEBHOOK_URL": "https://[hidden-1/"},
    {**WEBHOOK, "PINBOX_WEBHOOK_URL": "https://app.example/hid den-1"},
    {**WEBHOOK, "PINBOX_WEBHOOK_URL": "https://app.example/hidden-1\nx"},
    {**WEBHOOK, "PINBOX_WEBHOOK_SECRET": "whsec_"},
    {**WEBHOOK, "PINBOX_WEBHOOK_SECRET": "whsec_hidden-1"},
    {**WEBHOOK, "PINBOX_WEBHOOK_SECRET": f"{SECRET} whsec_hidden!"},
    {**WEBHOOK, "PINBOX_WEBHOOK_ALLOW_HTTP": "hidden-1"} | {"PINBOX_WEBHOOK_URL": OFF_LOOPBACK[0]},
    {"PINBOX_OPENCLAW_URL": "http://127.0.0.1:1"},
    {"PINBOX_OPENCLAW_TOKEN": "hidden-2"},
    {"PINBOX_OPENCLAW_GATEWAY_TOKEN": "hidden-2"},
    {**OPENCLAW, "PINBOX_OPENCLAW_GATEWAY_TOKEN": "hidden 2"},
    {**OPENCLAW, "PINBOX_OPENCLAW_URL": "http://gateway.example:1/"},
    {**OPENCLAW, "PINBOX_OPENCLAW_URL": "ws://127.0.0.1:1/"},
    {**OPENCLAW, "PINBOX_OPENCLAW_URL": "https://hidden-1@gateway.example/"},
    {**OPENCLAW, "PINBOX_OPENCLAW_URL": "https://gateway.example/?hidden-1"},
    {**OPENCLAW, "PINBOX_OPENCLAW_TOKEN": "hidden\n2"},
    {**OPENCLAW, "PINBOX_OPENCLAW_TOKEN": "hidden-ü"},
]


@pytest.mark.parametrize("environ", WRONG)
def test_what_cannot_work_is_named_with_the_way_out_and_without_its_values(environ):
    (problem,) = configuration.problems(environ)
    assert problem.id in ("pinbox.E010", "pinbox.E011")
    assert "PINBOX_" in problem.message
    assert problem.hint
    for hidden in ("hidden", "evil.example", "nip.example", "gateway.example"):
        assert hidden not in problem.message + problem.hint


@pytest.mark.parametrize(
    ("word", "is_on"),
    [("", False), ("1", True), ("ON", True), (" yes ", True), ("true", True), ("0", False)]
    + [("off", False), ("No", False), ("false", False)],
)
def test_a_switch_reads_the_usual_words(word, is_on):
    assert configuration.webhook_allow_http({"PINBOX_WEBHOOK_ALLOW_HTTP": word}) is is_on


def test_a_switch_that_is_neither_on_nor_off_is_refused():
    with pytest.raises(PinboxError, match="neither on nor off") as caught:
        configuration.webhook_allow_http({"PINBOX_WEBHOOK_ALLOW_HTTP": "perhaps"})
    assert caught.value.code == "E_INVALID_INPUT"
