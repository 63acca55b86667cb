"""The admin in a real browser: on a phone its pages do not scroll sideways, and stay readable."""

import pytest

SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("page", ["narrow light"], indirect=True)
def test_no_page_is_wider_than_a_phone(hub, page):
    key = {"agent": "claude", "key": "5d1f0c2e-aaaa-bbbb-cccc-0123456789ab"}
    hub.ask("/sessions", {**key, "cwd": str(hub.project)})
    pin = hub.pin("Two decimals in the total, and a thousands separator " * 4)["id"]
    hub.says(pin, "The total had none; I format it by the currency's own digits.")
    page.goto(hub.ask("/admin-link", {})["url"])
    page.get_by_role("button", name="Open the admin").click()
    page.get_by_text("open pins").wait_for()
    lists = ("pins/pin", "pins/event", "delivery/delivery", "agent_sessions/agentsession")
    for name in lists:
        page.goto(f"{hub.url}/admin/{name}/")
        assert page.evaluate(SIDEWAYS) == 0, name
        page.locator("#result_list tbody a").first.click()
        page.locator("#content-main").wait_for()
        assert page.evaluate(SIDEWAYS) == 0, name
    page.goto(f"{hub.url}/admin/pins/pin/{pin}/change/")
    said = page.get_by_role("row").filter(has_text="pin.created").locator("td.foreign")
    assert said.bounding_box()["width"] > 150
