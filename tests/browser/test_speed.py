"""A fast hand on a large page: 200 pins, 5,000 elements."""

import pytest

from .conftest import tag

PAGE = "<!doctype html><style>div div{{display:inline-block;width:60px;height:20px}}</style>{body}{tag}"
#: Milliseconds of work in nine frames out of ten, the layout of what was written included. 16 is a frame at 60 Hz.
FRAME_MS = 16
SLOW_FRAME_MS = 50
#: A neighbour on the same cores makes one round slow, not all.
ROUNDS = 3


@pytest.mark.slow
@pytest.mark.timeout(300)  # seconds: 200 pins, and a browser slowed down four times
def test_hover_and_scroll_stay_within_a_frame(view, hub, site):
    body = "".join(
        "<div>"
        + "".join(f"<div class=c id=e{row * 50 + i}>{i}</div>" for i in range(49))
        + "</div>"
        for row in range(100)
    )
    url = site.put("/large", PAGE.format(body=body, tag=tag(hub)))
    for i in range(200):
        hub.pin(f"pin {i}", target={"url": url, "selector": f"#e{i * 24 // 49 * 50 + i % 49}"})
    view.page.add_init_script("""
      const ask = window.requestAnimationFrame.bind(window);
      window.costs = [];
      window.requestAnimationFrame = (work) => ask((now) => {
        const before = performance.now(); work(now);
        document.documentElement.offsetWidth; // the layout that the writes ask for is ours too
        window.costs.push(performance.now() - before) });""")
    view.open(url)
    view.wait(lambda: view.chips.count() == 200)
    session = view.page.context.new_cdp_session(view.page)
    for rate, least in ((1, FRAME_MS), (4, SLOW_FRAME_MS)):
        session.send("Emulation.setCPUThrottlingRate", {"rate": rate})
        rounds = []
        while len(rounds) < ROUNDS and min(rounds, default=least + 1) > least:
            rounds.append(_hover_and_scroll(view))
        session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
        assert min(rounds) <= least, (rate, rounds)


def _hover_and_scroll(view) -> float:
    """Milliseconds that nine frames of ten stay within."""
    view.page.evaluate("window.costs.length = 0")
    view.page.keyboard.press("p")
    for i in range(30):
        view.page.mouse.move(100 + i * 20, 200 + i * 5)
    for i in range(30):
        view.page.mouse.wheel(0, 40 if i % 2 else -40)
        view.page.wait_for_timeout(16)
    view.page.keyboard.press("Escape")
    costs = sorted(view.page.evaluate("window.costs"))
    assert len(costs) > 20
    return costs[len(costs) * 9 // 10]


def test_an_answer_is_painted_soon_after_it_was_written(view, hub, shop):
    pin = hub.pin("sum", target={"url": shop, "selector": "#total"})
    view.open(shop)
    view.chips.first.click()
    view.page.evaluate("""() => { const root = document.querySelector("pinbox-toolbar").shadowRoot;
      window.painted = {};
      new MutationObserver(() => requestAnimationFrame(() => {
        for (const words of root.querySelectorAll(".words")) window.painted[words.textContent] ??= Date.now();
      })).observe(root, { subtree: true, childList: true, characterData: true }) }""")
    view.wait(
        lambda: view.page.evaluate("document.querySelector('pinbox-toolbar').store.socket?.isLive")
    )
    took = []
    while len(took) < ROUNDS and min(took, default=101) > 100:
        text = f"answer {len(took)}"
        message = hub.says(pin["id"], text, origin="claude")
        view.page.wait_for_function("(text) => window.painted[text]", arg=text)
        took.append(view.page.evaluate(f"window.painted['{text}'] - Date.parse('{message['at']}')"))
    assert min(took) <= 100, took
