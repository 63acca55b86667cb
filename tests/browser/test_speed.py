"""A fast hand on a large page: 200 pins, 5,000 elements."""

import pytest

from .conftest import NARROW, WIDE, in_every_look, tag

PAGE = "<!doctype html><style>div div{{display:inline-block;width:60px;height:20px}}</style>{body}{tag}"
#: Milliseconds of work in nine frames out of ten, the layout of what was written included. 16 is a frame at 60 Hz.
FRAME_MS = 16
SLOW_FRAME_MS = 50
#: A neighbour on the same cores makes one round slow, not all.
ROUNDS = 3


@in_every_look
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


@in_every_look
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


#: Tells, of each frame, what was read of the layout after something had been written in it.
ORDER = """() => {
  window.late = [];
  let written = null; // outside of frames
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (work) => ask((now) => { written = ""; work(now); written = null });
  const wrote = (what) => { if (written === "") written = what };
  const read = (what) => { if (written) window.late.push(`${what} after ${written}`) };
  const wrap = (of, name, before) => {
    const found = Object.getOwnPropertyDescriptor(of, name);
    for (const part of ["value", "get"]) if (typeof found[part] === "function") {
      const { [part]: old } = found;
      found[part] = function (...given) { before(name); return old.apply(this, given) };
    }
    Object.defineProperty(of, name, found);
  };
  for (const name of ["getBoundingClientRect", "getClientRects", "scrollHeight", "scrollTop", "clientHeight", "clientLeft", "clientTop"]) wrap(Element.prototype, name, read);
  for (const name of ["offsetWidth", "offsetHeight"]) wrap(HTMLElement.prototype, name, read);
  for (const of of [Document, ShadowRoot]) wrap(of.prototype, "elementsFromPoint", read);
  for (const name of ["innerWidth", "innerHeight", "scrollX", "scrollY", "getComputedStyle"]) wrap(window, name, read);
  const style = Object.getOwnPropertyDescriptor(HTMLElement.prototype, "style");
  Object.defineProperty(HTMLElement.prototype, "style", { get() {
    return new Proxy(style.get.call(this), {
      set: (real, name, value) => { wrote(name); real[name] = value; return true },
      get: (real, name) => typeof real[name] === "function" ? (...given) => { wrote(given[0]); return real[name](...given) } : real[name],
    });
  } });
  wrap(DOMTokenList.prototype, "toggle", wrote);
}"""


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_in_a_frame_the_layout_is_read_before_anything_is_written(view, hub, site, size):
    body = '<div id=at style="width:90%;height:700px">x</div><div style="height:3000px">y</div>'
    url = site.put("/read", f"<!doctype html><body>{body}{tag(hub)}")
    for i in range(5):
        hub.pin(
            f"pin {i}", target={"url": url, "selector": "#at", "spot": {"x": 0.2 * i, "y": 0.3}}
        )
    view.page.set_viewport_size(size)
    view.open(url)
    view.wait(lambda: view.chips.count() == 5)
    for card_is_open in (False, True):
        if card_is_open:
            view.chips.first.click()
            view.card.wait_for()
        else:
            view.page.evaluate(ORDER)
            view.page.keyboard.press("p")
        for i in range(10):
            view.page.mouse.move(100 + 20 * i, 200)
            view.page.mouse.wheel(0, 30 if i % 2 else -20)
            view.page.wait_for_timeout(20)
        if not card_is_open:
            view.page.keyboard.press("Escape")
        late = view.page.evaluate("window.late.splice(0)")
        # A card that has just got another width may look once how high it is in that.
        assert len(late) <= int(card_is_open), late
        assert set(late) <= {"scrollHeight after transform"}
    assert view.page.evaluate(
        "() => { document.body.style.width = '99%'; requestAnimationFrame(() => {"
        " document.body.style.width = ''; innerWidth }); return new Promise((done) =>"
        " setTimeout(() => done(window.late.length), 100)) }"
    ), "a late read is seen"


def test_the_outline_is_at_the_element_in_the_next_frame_and_nothing_trails(view, shop):
    # Before the toolbar's own listeners, which end what happens over it.
    view.page.add_init_script("""
      window.off = [];
      addEventListener("pointermove", (event) => requestAnimationFrame(() => requestAnimationFrame(() => {
        // The second frame begins when the first is painted: what it finds is what was seen.
        const aim = document.querySelector("pinbox-toolbar")?.shadowRoot.querySelector(".frame.is-aim");
        const under = document.elementsFromPoint(event.clientX, event.clientY).find((e) => e.localName !== "pinbox-toolbar");
        if (!aim || !window.isWatched) return;
        const box = under.getBoundingClientRect(), top = aim.children[4].getBoundingClientRect();
        window.off.push(Math.max(Math.abs(top.x + 1 - box.x), Math.abs(top.y + 1 - box.y), Math.abs(top.width - 2 - box.width)));
      })), true)""")
    view.open(shop)
    view.page.keyboard.press("p")
    view.page.mouse.move(100, 300)
    view.page.evaluate("""() => {
      window.changed = new Set();
      window.isWatched = true;
      const aim = document.querySelector("pinbox-toolbar").shadowRoot.querySelector(".frame.is-aim");
      new MutationObserver((records) => records.forEach((r) => window.changed.add(r.attributeName)))
        .observe(aim, { attributes: true, subtree: true }) }""")
    for at in ((100, 240), (330, 240), (560, 260), (60, 30), (150, 330)):
        view.page.mouse.move(*at)
        view.page.wait_for_timeout(60)
    off = view.page.evaluate("window.off")
    assert len(off) >= 5
    assert max(off) < 1, off
    assert set(view.page.evaluate("[...window.changed]")) <= {"style", "hidden"}
    style = """() => [...document.querySelector("pinbox-toolbar").shadowRoot.querySelectorAll(".frame.is-aim, .frame.is-aim *")]
      .flatMap((e) => [...e.style].filter((name) => name !== "transform").concat(
        parseFloat(getComputedStyle(e).transitionDuration) ? "transition" : [], e.getAnimations().map(() => "animation")))"""
    assert view.page.evaluate(style) == []
