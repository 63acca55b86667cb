"""The whole loop in a page: place, write, send, read the answer, verify."""


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
    view.field.fill("Bigger still")
    view.send()
    view.wait(lambda: len(hub.ask(f"/pins/{pin['id']}/thread")) == 2, "the reply is at the hub")

    hub.ask(f"/pins/{pin['id']}/resolve", {"by": "agent", "note": "done"})
    view.card.get_by_role("button", name="Looks good").click()
    view.card.wait_for(state="detached")
    view.wait(lambda: hub.pins()[0].get("verification"), "the verdict is at the hub")
    view.wait(lambda: view.chips.count() == 0, "its marker has gone")
