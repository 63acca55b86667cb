"""How a page finds back to its hub, and what it says when the browser keeps it from one."""

import pytest

from pinbox_site import toolbar

from .conftest import SHOP

WIRE = (toolbar.FOLDER / "wire.js").read_text()
SCRIPT = "/toolbar/toolbar.iife.js"
FILES = {f"/toolbar/{path.name}": path.read_text() for path in toolbar.MADE.glob("*.js")}


def link(view):
    return view.page.evaluate("document.querySelector('pinbox-toolbar').store.link")


def test_pages_that_lost_their_hub_together_come_back_one_after_the_other(page, site):
    site.put("/wire.js", WIRE, Content_Type="text/javascript")
    page.goto(site.put("/", "<title>empty</title>"))
    waits = page.evaluate(
        """async () => {
          const { backoff } = await import("/wire.js");
          const many = (failures) => Array.from({ length: 200 }, () => backoff(failures));
          return [1, 2, 3, 4, 5, 6, 7, 20].map(many);
        }"""
    )
    assert max(waits[0]) - min(waits[0]) >= 2_000 * 0.9  # of 200 by chance
    assert [min(some) // 1_000 for some in waits] == [1, 2, 4, 8, 16, 30, 30, 30]
    assert all(len(set(some)) > 100 for some in waits[:5])
    assert max(waits[-1]) <= 30_000


@pytest.mark.parametrize("code", [1012, 1013])
def test_a_socket_that_is_told_to_come_back_later_does_and_not_at_once(view, hub, shop, code):
    times = []

    def first_time_closed(socket):
        times.append(view.page.evaluate("performance.now()") if times else 0)
        if len(times) == 1:
            socket.close(code=code)
        else:
            socket.connect_to_server()

    view.page.route_web_socket("**/ws", first_time_closed)
    view.open(shop)
    view.wait(lambda: link(view) == "live" and len(times) == 2)
    pin = hub.pin("after the break", target={"url": shop, "selector": "#total"})
    view.wait(lambda: view.chips.count() == 1, pin["id"])


def test_a_public_page_that_may_not_reach_this_machine_is_told_so_and_keeps_the_pin(view, hub):
    """On https from elsewhere, a browser asks the person before a page may call loopback."""
    named = f'data-endpoint="http://127.0.0.1:1" data-token="t" data-project="{hub.id}"'
    script = f'<script src="{SCRIPT}" {named} data-lang="en"></script>'
    files = {"/": SHOP.replace("__TOOLBAR__", script), **FILES}

    def answer(route):
        path = route.request.url.removeprefix("https://shop.example")
        kind = "text/html" if path == "/" else "text/javascript"
        route.fulfill(body=files[path], content_type=kind)

    view.page.route("https://shop.example/**", answer)
    view.page.add_init_script(
        "navigator.permissions.query = async ({ name }) => {"
        " if (name !== 'loopback-network') throw new TypeError(name); return { state: 'denied' } }"
    )
    view.open("https://shop.example/")
    view.wait(lambda: link(view) == "blocked")
    view.bar.get_by_role("button", name="More").click()
    view.page.get_by_text("allow it in the browser's site settings (local network)").wait_for()
    view.page.get_by_text("A team hub needs no such permission").wait_for()
    view.page.keyboard.press("Escape")
    view.place("#total")
    view.page.keyboard.type("kept")
    view.send()
    view.page.keyboard.press("Escape")
    view.page.get_by_text("1 not sent yet").wait_for()
