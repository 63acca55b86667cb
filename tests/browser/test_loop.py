"""The whole loop in a page: place, write, send, read the answer, verify."""

import contextlib
import sqlite3


def test_a_pin_goes_out_an_answer_comes_back_and_is_accepted(view, hub, shop):
    view.open(shop)
    view.place("button.pay")
    view.page.keyboard.type("Too small to hit")
    view.send()
    view.wait(hub.pins, "the pin is at the hub")
    [pin] = hub.pins()
    assert pin["text"] == "Too small to hit"
    assert pin["target"]["selector"] == "button.pay"
    view.page.get_by_role("dialog", name="Pin 1").wait_for()

    hub.says(pin["id"], "Made it 44 px high", origin="claude")
    view.card.get_by_text("Made it 44 px high").wait_for()
    view.wait(lambda: "Answered" in view.state(), "the chip says so")
    assert view.card.get_by_text("Queued").count() == 0
    view.field.fill("Bigger still")
    view.send()
    view.wait(lambda: len(hub.ask(f"/pins/{pin['id']}/thread")) == 2, "the reply is at the hub")
    view.card.get_by_text("Queued").wait_for()

    hub.ask(f"/pins/{pin['id']}/resolve", {"by": "agent", "note": "done"})
    view.card.get_by_role("button", name="Looks good").click()
    view.card.wait_for(state="detached")
    view.wait(lambda: hub.pins()[0].get("verification"), "the verdict is at the hub")
    view.wait(lambda: view.chips.count() == 0, "its marker has gone")


def test_what_became_of_a_pin_is_said_as_it_was_observed(view, hub, shop):
    view.open(shop)
    session = hub.ask("/sessions", {"agent": "claude", "key": "k1"})
    view.place("#total")
    view.page.keyboard.type("Wrong sum")
    view.send()
    view.card.get_by_text("Queued").wait_for()
    assert "Open" in view.state()
    hub.ask(f"/sessions/{session['id']}/inject", {})
    view.card.get_by_text("With Claude since").wait_for()
    view.wait(lambda: "With Claude" in view.state())
    assert view.card.get_by_text("Read by").count() == 0
    hub.ask(f"/pins/{hub.pins()[0]['id']}", headers={"Pinbox-Session": "claude/k1"})
    view.card.get_by_text("Read by Claude").wait_for()
    view.page.keyboard.press("Escape")
    view.bar.get_by_role("button", name="More").click()
    view.page.get_by_text("Agents: Claude").wait_for()


def test_what_did_not_arrive_is_tried_again_from_the_card(view, hub, shop):
    pin = hub.pin("sum", target={"url": shop, "selector": "#total"})
    with contextlib.closing(sqlite3.connect(hub.database, timeout=20)) as database, database:
        database.execute(
            "UPDATE delivery_delivery SET status = 'failed', last_error = 'E_DELIVERY: the agent hangs'"
        )
    view.open(shop)
    view.wait(lambda: "Not delivered" in view.state())
    view.chips.first.click()
    view.card.get_by_text("Not delivered: the agent hangs").wait_for()
    view.card.get_by_role("button", name="Retry").click()
    view.card.get_by_text("Queued").wait_for()
    [row] = hub.ask(f"/pins/{pin['id']}/deliveries")
    assert (row["status"], row["lastError"]) == ("pending", None)


def test_a_refused_pin_comes_back_as_open_when_it_is_reopened(view, hub, shop):
    pin = hub.pin("sum", target={"url": shop, "selector": "#total"})
    hub.ask(f"/pins/{pin['id']}/resolve", {"by": "agent"})
    view.open(shop)
    view.chips.first.click()
    view.card.get_by_role("button", name="Reopen").click()
    view.wait(lambda: hub.pins()[0]["status"] == "open")
    view.wait(lambda: "Open" in view.state())
    assert (
        view.page.evaluate(
            "document.querySelector('pinbox-toolbar').shadowRoot.activeElement.localName"
        )
        == "textarea"
    )


def test_words_that_are_written_when_a_pin_is_reopened_are_the_reason(view, hub, shop):
    pin = hub.pin("sum", target={"url": shop, "selector": "#total"})
    hub.ask(f"/pins/{pin['id']}/resolve", {"by": "agent"})
    view.open(shop)
    view.chips.first.click()
    view.field.fill("It still says 30.0")
    view.card.get_by_role("button", name="Reopen").click()
    view.wait(lambda: hub.pins()[0]["status"] == "open")
    [reason] = hub.ask(f"/pins/{pin['id']}/thread")
    assert (reason["role"], reason["text"]) == ("human", "It still says 30.0")
    # The agent reads both at once.
    assert reason["at"] <= hub.pins()[0]["verification"]["at"]
    assert view.field.input_value() == ""


def test_the_one_file_does_the_same_as_the_modules(view, hub, site):
    from .conftest import SHOP, tag

    one = tag(hub).replace('type="module"', "defer").replace("toolbar.js", "toolbar.iife.js")
    view.open(site.put("/one", SHOP.replace("__TOOLBAR__", one)))
    assert view.page.evaluate("Object.keys(Pinbox)") == [
        "init",
        "defineToolbarElement",
        "PinboxToolbarElement",
    ]
    view.place("#total")
    view.page.keyboard.type("By one file")
    view.send()
    view.page.get_by_role("dialog", name="Pin 1").wait_for()
    assert hub.pins()[0]["text"] == "By one file"
