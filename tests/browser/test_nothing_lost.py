"""What was written reaches the hub once, in order, or stays in sight: whatever happens on the way."""

import contextlib
import json
import socket
import sqlite3
import threading

import pytest

from tests.wait import wait_until

from .conftest import SHOP, View, tag


def write(view: View, text: str, selector: str = "#total") -> None:
    view.place(selector)
    view.page.keyboard.type(text)
    view.send()


def texts(hub) -> list[str]:
    return [pin["text"] for pin in reversed(hub.pins())]


def test_what_is_written_offline_survives_a_reload_and_arrives_in_order_once(view, hub, shop):
    view.open(shop)
    view.wait(
        lambda: view.page.evaluate("document.querySelector('pinbox-toolbar').store.link") == "live"
    )
    hub.stop()
    write(view, "first")
    view.card.get_by_text("Not sent").first.wait_for()
    view.field.fill("and a reply to it")
    view.send()
    view.page.keyboard.press("Escape")
    write(view, "second", "#title")
    view.page.keyboard.press("Escape")
    view.page.get_by_text("3 not sent yet").wait_for()
    # The module comes from the hub: without it a reloaded page has no toolbar, but what was kept stays.
    view.page.reload()
    assert view.bar.count() == 0
    hub.start()
    view.page.reload()
    view.wait(lambda: len(hub.pins()) == 2, "both pins are at the hub")
    assert texts(hub) == ["first", "second"]
    first = hub.pins()[-1]["id"]
    view.wait(lambda: hub.ask(f"/pins/{first}/thread"))
    assert [m["text"] for m in hub.ask(f"/pins/{first}/thread")] == ["and a reply to it"]
    assert view.page.get_by_text("not sent yet").count() == 0


def test_a_hub_that_was_away_is_found_again_and_no_event_is_missed(view, hub, shop):
    view.open(shop)
    write(view, "before")
    view.wait(hub.pins)
    [pin] = hub.pins()
    hub.stop()
    view.page.keyboard.press("Escape")
    view.page.get_by_text("Offline").first.wait_for()
    hub.start()
    hub.says(pin["id"], "said while you were away", origin="claude")
    view.wait(lambda: "Answered" in view.state(), "the answer is shown")
    write(view, "after", "#title")
    view.wait(lambda: texts(hub) == ["before", "after"])


def test_two_tabs_send_each_write_once(view, hub, shop, browser):
    view.open(shop)
    other = View(view.page.context.new_page()).open(shop)
    view.page.context.set_offline(True)
    for i in range(3):
        write(view, f"tab one {i}")
        view.page.keyboard.press("Escape")
        write(other, f"tab two {i}", "#title")
        other.page.keyboard.press("Escape")
    view.page.context.set_offline(False)
    view.wait(lambda: len(hub.pins()) == 6, "all six are at the hub")
    assert texts(hub) == [f"tab {tab} {i}" for i in range(3) for tab in ("one", "two")]
    wait_until(lambda: (other.page.wait_for_timeout(20), other.chips.count() == 6)[1])
    view.wait(lambda: view.chips.count() == 6, "each tab shows all")
    assert view.page.evaluate("Object.keys(localStorage).filter((k) => k.includes(':out:'))") == []


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_hub_that_fails_is_tried_again_and_the_failure_is_said_where_the_words_are(
    view, hub, shop, status
):
    view.open(shop)
    failing = {
        "status": status,
        "json": {"ok": False, "error": {"code": "E_INTERNAL", "message": "out of order"}},
    }
    view.page.route(
        "**/pins",
        lambda route: (
            route.fulfill(**failing, headers={"access-control-allow-origin": "*"})
            if route.request.method == "POST"
            else route.continue_()
        ),
    )
    write(view, "keep me")
    view.card.get_by_text("out of order").wait_for(timeout=2_000)
    assert view.card.get_by_text("keep me").count() == 1
    view.page.unroute("**/pins")
    view.card.get_by_role("button", name="Retry").click()
    view.page.get_by_role("dialog", name="Pin 1").wait_for()
    assert texts(hub) == ["keep me"]


def test_a_write_the_hub_refuses_is_held_and_does_not_hold_up_the_others(view, hub, shop):
    pin = hub.pin("resolved elsewhere", target={"url": shop, "selector": "#total"})
    view.open(shop)
    view.chips.first.click()
    view.page.context.set_offline(True)
    view.card.get_by_role("button", name="Resolve").click()
    view.page.keyboard.press("Escape")
    write(view, "goes through", "#title")
    view.page.keyboard.press("Escape")
    hub.ask(f"/pins/{pin['id']}/resolve", {"by": "human"})
    view.page.context.set_offline(False)
    view.wait(lambda: "goes through" in texts(hub), "the write behind it")
    view.page.locator(f"pinbox-toolbar .chip[data-pin={pin['id']}]").click()
    view.card.get_by_text("already resolved").wait_for()
    view.card.get_by_role("button", name="Discard").click()
    view.card.get_by_role("button", name="Looks good").wait_for()


def kept(view: View) -> int:
    """Writes that the hub has not taken."""
    return view.page.evaluate("document.querySelector('pinbox-toolbar').store.entries.length")


def refused(view: View, hub, shop) -> None:
    """A pin that was too long for the hub, with a reply that waits for it."""
    view.open(shop)
    view.place("#total")
    view.field.fill("too long " * 8000)
    view.send()
    view.card.get_by_text("refused").wait_for()
    view.field.fill("and this")
    view.send()
    assert hub.pins() == []


def test_words_the_hub_refused_can_be_changed_and_sent(view, hub, shop):
    refused(view, hub, shop)
    view.card.get_by_role("button", name="Edit").first.click()
    view.wait(lambda: view.field.input_value().endswith("too long \nand this"))
    view.field.fill("short")
    view.send()
    view.wait(lambda: texts(hub) == ["short"])
    assert hub.pins()[0]["target"]["selector"] == "#total"
    assert (kept(view), view.chips.count()) == (0, 1)


def test_a_refused_pin_takes_along_what_was_to_follow_it(view, hub, shop):
    refused(view, hub, shop)
    assert kept(view) == 2
    view.card.get_by_role("button", name="Discard").first.click()
    view.wait(lambda: kept(view) == 0)
    assert (view.chips.count(), hub.pins()) == (0, [])


def test_an_edit_that_was_queued_does_not_bring_a_resolved_pin_back(view, hub, shop):
    pin = hub.pin("wrong sum", target={"url": shop, "selector": "#total"})
    view.open(shop)
    view.chips.first.click()
    view.page.context.set_offline(True)
    view.field.fill("also the tax")
    view.send()
    hub.ask(f"/pins/{pin['id']}/resolve", {"by": "agent"})
    view.page.context.set_offline(False)
    view.wait(lambda: hub.ask(f"/pins/{pin['id']}/thread"))
    view.page.reload()
    view.wait(lambda: "To verify" in view.state())
    assert [p["status"] for p in hub.pins()] == ["resolved"]
    assert [m["text"] for m in hub.ask(f"/pins/{pin['id']}/thread")] == ["also the tax"]


def test_a_slow_hub_costs_no_word_and_no_second_pin(view, hub, shop):
    view.open(shop)
    held = []
    view.page.route(
        "**/pins",
        lambda route: held.append(route) if route.request.method == "POST" else route.continue_(),
    )
    write(view, "patience")
    view.card.get_by_text("Sending").wait_for()
    assert view.card.get_by_text("patience").count() == 1
    view.card.get_by_role("textbox").fill("more words")
    held[0].continue_()
    view.page.get_by_role("dialog", name="Pin 1").wait_for()
    assert view.field.input_value() == "more words"
    assert texts(hub) == ["patience"]


def test_an_answer_that_got_lost_makes_no_second_pin(view, hub, shop):
    view.open(shop)
    lost = []

    def lose(route):
        if route.request.method != "POST" or lost:
            route.continue_()
            return
        lost.append(route.fetch())  # the hub has it, the page never hears so
        route.abort()

    view.page.route("**/pins", lose)
    write(view, "only once")
    view.page.get_by_role("dialog", name="Pin 1").wait_for()
    assert lost
    assert texts(hub) == ["only once"]


def test_an_agent_that_answers_before_the_hub_does_is_read_in_the_card(view, hub, shop):
    view.open(shop)
    held = []

    def hold(route):
        if route.request.method == "POST":
            held.append((route, route.fetch()))
        else:
            route.continue_()

    view.page.route("**/pins", hold)
    write(view, "quick")
    view.wait(lambda: held and hub.pins())
    pin = hub.pins()[0]
    hub.says(pin["id"], "done already", origin="claude")
    known = f"document.querySelector('pinbox-toolbar').store.tails.has('{pin['id']}')"
    view.wait(lambda: view.page.evaluate(known), "the answer has come by the socket")
    route, answer = held[0]
    route.fulfill(response=answer)
    view.card.get_by_text("done already").wait_for()
    assert view.card.get_by_text("Loading the thread").count() == 0


def test_words_of_a_reply_stay_when_the_card_is_closed_or_the_page_reloaded(view, hub, shop):
    hub.pin("sum", target={"url": shop, "selector": "#total"})
    view.open(shop)
    view.chips.first.click()
    view.field.fill("not yet sent")
    view.page.mouse.click(1200, 500)
    view.page.keyboard.press("Escape")
    view.page.reload()
    view.chips.first.click()
    assert view.field.input_value() == "not yet sent"


def test_a_refused_token_is_said_and_a_new_one_is_asked_for(view, hub, site):
    page = f"""<!doctype html><p id=total>x</p><script type=module crossorigin>
      import {{ init }} from "{hub.url}/toolbar/toolbar.js";
      window.asked = 0;
      init({{ endpoint: "{hub.url}", project: "{hub.id}", lang: "en",
              getToken: async () => (window.asked++, window.good ? "{hub.page_token}" : "stale") }});
    </script>"""
    view.open(site.put("/jwt", page))
    view.page.get_by_text("Signed out").first.wait_for()
    write(view, "kept while signed out")
    view.page.keyboard.press("Escape")
    asked = view.page.evaluate("window.asked")
    view.page.wait_for_timeout(1_500)
    assert view.page.evaluate("window.asked") <= asked + 2, "it does not hammer"
    view.page.evaluate("window.good = true")
    with contextlib.suppress(Exception):  # it may have tried by itself, and the button is gone
        view.page.get_by_role("button", name="Retry").click(timeout=2_000)
    view.wait(lambda: texts(hub) == ["kept while signed out"])


class Doorman:
    """Accepts connections on the port of a hub that is away, and hangs up."""

    def __init__(self, port: int) -> None:
        self.count = 0
        self.socket = socket.create_server(("127.0.0.1", port), backlog=50)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self.socket.accept()
                self.count += 1
                caller.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()


def test_a_hub_that_accepts_and_hangs_up_is_not_hammered(view, hub, shop):
    view.open(shop)
    view.wait(
        lambda: view.page.evaluate("document.querySelector('pinbox-toolbar').store.link") == "live"
    )
    port = int(hub.url.rsplit(":", 1)[1])
    hub.stop()
    doorman = Doorman(port)
    try:
        view.page.get_by_text("Offline").first.wait_for()
        before = doorman.count
        view.page.wait_for_timeout(6_000)
        assert doorman.count - before <= 12
    finally:
        doorman.close()


def test_without_a_hub_the_bar_says_so_within_two_seconds_and_keeps_the_pin(view, hub, site):
    with socket.create_server(("127.0.0.1", 0)) as dead:
        port = dead.getsockname()[1]
    page = SHOP.replace("__TOOLBAR__", tag(hub, endpoint=f"http://127.0.0.1:{port}"))
    view.open(site.put("/", page))
    view.page.get_by_text("Offline").first.wait_for(timeout=2_000)
    write(view, "kept")
    view.page.keyboard.press("Escape")
    view.page.get_by_text("1 not sent yet").wait_for()
    site.put("/", SHOP.replace("__TOOLBAR__", tag(hub)))
    view.page.reload()
    view.wait(lambda: texts(hub) == ["kept"])


def test_a_hub_on_another_port_is_found_by_asking_the_page(view, hub, site):
    with socket.create_server(("127.0.0.1", 0)) as dead:
        port = dead.getsockname()[1]
    found = json.dumps({"endpoint": hub.url, "token": hub.page_token})
    site.put("/hub", found, Content_Type="application/json")
    data = {"endpoint": f"http://127.0.0.1:{port}", "discover": "/hub"}
    view.open(site.put("/", SHOP.replace("__TOOLBAR__", tag(hub, **data))))
    write(view, "found you")
    view.wait(lambda: texts(hub) == ["found you"])


def test_threads_of_pins_that_were_never_opened_are_whole(view, hub, shop):
    pin = hub.pin("sum", target={"url": shop, "selector": "#total"})
    hub.says(pin["id"], "one", origin="claude")
    view.open(shop)
    view.wait(lambda: "Answered" in view.state(), "known without opening it")
    hub.says(pin["id"], "two", origin="claude")
    view.chips.first.click()
    for text in ("one", "two"):
        view.card.get_by_text(text, exact=True).wait_for()


def test_a_socket_closed_with_4401_asks_for_a_token_and_does_not_come_back_with_the_old_one(
    view, hub, shop
):
    opened = []

    def refuse(socket):
        opened.append(socket.url)
        socket.close(code=4401)

    view.page.route_web_socket("**/ws", refuse)
    view.open(shop)
    view.page.get_by_text("Signed out").first.wait_for()
    view.page.wait_for_timeout(3_000)
    assert len(opened) <= 2


def test_a_socket_closed_with_4400_is_the_end_until_the_page_is_loaded_again(view, hub, shop):
    opened = []

    def refuse(socket):
        opened.append(socket.url)
        socket.close(code=4400)

    view.page.route_web_socket("**/ws", refuse)
    view.open(shop)
    view.page.get_by_text("Reload").first.wait_for()
    view.page.wait_for_timeout(3_000)
    assert len(opened) == 1


def test_what_a_page_holds_never_keeps_a_pin_from_the_hub(view, hub, site):
    odd = r"""<script>
      Array.prototype.toJSON = function () { return "of an old library" };
      const letters = "x".repeat(199) + "\u{1f600}".repeat(40) + "\ud83d";
      title.setAttribute("aria-label", letters);
      title.textContent = "a\0b" + letters;
      title.className = "y".repeat(70_000);
      history.replaceState({}, "", "#" + "z".repeat(70_000));
    </script>"""
    view.open(site.put("/", SHOP.replace("__TOOLBAR__", odd + tag(hub))))
    for _ in range(2):  # the second time with what was kept of the first
        write(view, "one", "#total")
        view.page.keyboard.press("Escape")
        write(view, "two", "#title")
        view.page.keyboard.press("Escape")
        view.wait(lambda: not view.page.get_by_text("not sent yet").count())
        view.page.reload()
    assert texts(hub) == ["one", "two"] * 2


def test_a_picture_the_hub_has_no_more_costs_no_words(view, hub, shop):
    view.open(shop)
    view.place("#total")
    view.page.keyboard.type("with a picture")
    view.card.get_by_role("button", name="Add a screenshot").click()
    view.card.get_by_role("img", name="Screenshot").wait_for()
    view.page.route("**/pins", lambda route: route.abort())
    view.send()
    view.card.get_by_text("Not sent").first.wait_for()
    with contextlib.closing(sqlite3.connect(hub.database, timeout=20)) as database, database:
        database.execute("DELETE FROM pins_attachment")
    view.page.unroute("**/pins")
    view.wait(lambda: texts(hub) == ["with a picture"])


def test_words_outlast_a_page_that_empties_its_storage(view, hub, shop):
    view.open(shop)
    view.wait(
        lambda: view.page.evaluate("document.querySelector('pinbox-toolbar').store.link") == "live"
    )
    hub.stop()
    write(view, "first")
    view.field.fill("a reply that was begun")
    view.page.keyboard.press("Escape")
    view.page.evaluate("localStorage.clear()")
    write(view, "second", "#title")
    view.page.keyboard.press("Escape")
    view.page.get_by_text("2 not sent yet").wait_for()
    view.chips.last.click()
    assert view.field.input_value() == "a reply that was begun"
    hub.start()
    view.wait(lambda: texts(hub) == ["first", "second"])


def test_a_browser_that_keeps_nothing_for_the_page_sends_all_the_same(view, hub, shop):
    """As when a person forbids a site to keep data: no storage, and no locks either."""
    view.page.add_init_script("""
      Object.defineProperty(window, "localStorage", { get() { throw new DOMException("no", "SecurityError") } });
      navigator.locks.request = async () => { throw new DOMException("no", "SecurityError") };
    """)
    view.open(shop)
    write(view, "sent")
    view.wait(lambda: texts(hub) == ["sent"])
