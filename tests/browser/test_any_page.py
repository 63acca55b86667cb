"""The toolbar in pages that make it hard: dialogs, traps, strict policies, hostile styles."""

import pytest

from .conftest import SHOP, in_every_look, tag

TRAP = """<div id=modal role=dialog tabindex=-1><button id=inner>Inside</button><input id=trapped></div>
<script>
  const modal = document.getElementById("modal");
  window.wentAway = 0;
  document.addEventListener("focusin", (e) => { if (!modal.contains(e.target)) trapped.focus() }, true);
  document.addEventListener("focusout", (e) => {
    if (e.relatedTarget && !modal.contains(e.relatedTarget)) trapped.focus() }, true);
  for (const type of ["pointerdown", "mousedown", "click", "touchstart", "focusin"])
    document.addEventListener(type, (e) => { if (!modal.contains(e.target)) window.wentAway++ }, true);
  for (const sibling of document.body.children) if (sibling !== modal) sibling.inert = true;
  trapped.focus();
</script>"""


def pin_inside(view, hub, selector: str = "#inner") -> None:
    view.page.keyboard.press("Escape") if view.card.count() else None
    view.place(selector)
    view.page.keyboard.type("inside it")
    assert view.field.input_value() == "inside it"
    view.send()
    view.wait(hub.pins)
    assert hub.pins()[0]["target"]["selector"] == selector
    hub.says(hub.pins()[0]["id"], "seen", origin="claude")
    view.card.get_by_text("seen").wait_for()
    view.page.keyboard.press("Escape")
    view.card.wait_for(state="detached")


def test_a_pin_is_placed_inside_a_modal_dialog_which_stays_open(view, hub, site):
    body = """<button id=open-it>Open</button><dialog id=modal><button id=inner>Inside</button></dialog>
      <script>document.getElementById("open-it").onclick = () => modal.showModal(); modal.onclose = () => { window.wentAway = 1 };
      modal.onclick = (e) => { if (e.target === modal) modal.close() }</script>"""
    view.open(site.put("/dialog", f"<!doctype html><body>{body}{tag(hub)}"))
    view.page.locator("#open-it").click()
    pin_inside(view, hub)
    assert view.page.evaluate("[modal.open, window.wentAway]") == [True, None]
    assert view.page.evaluate("document.activeElement.closest('dialog')?.id") == "modal"
    view.page.keyboard.press("Escape")
    assert view.page.evaluate("modal.open") is False
    # The toolbar is back where it was, and works.
    view.place("#open-it")
    view.page.keyboard.type("after")
    assert view.field.input_value() == "after"


def test_a_dialog_that_opens_while_a_card_is_written_does_not_cover_it(view, hub, site):
    body = """<p id=text>Text</p><dialog id=modal><p>More</p></dialog>"""
    view.open(site.put("/dialog", f"<!doctype html><body>{body}{tag(hub)}"))
    view.place("#text")
    view.page.keyboard.type("half ")
    view.page.evaluate("modal.showModal()")
    view.field.click()
    view.page.keyboard.type("done")
    assert view.field.input_value() == "half done"
    view.page.evaluate("modal.remove()")
    view.wait(lambda: view.field.is_visible() and view.field.input_value() == "half done")


def test_a_popover_that_closes_on_an_outside_click_stays_open(view, hub, site):
    body = """<button id=open-it popovertarget=pop>Open</button>
      <div id=pop popover><button id=inner>Inside</button></div>"""
    view.open(site.put("/popover", f"<!doctype html><body>{body}{tag(hub)}"))
    view.page.locator("#open-it").click()
    pin_inside(view, hub)
    assert view.page.evaluate("pop.matches(':popover-open')") is True


def test_a_modal_that_traps_focus_and_closes_on_outside_clicks_does_neither(view, hub, site):
    # The toolbar is there before the modal opens, as in a page.
    url = site.put("/trap", f"<!doctype html><body>{tag(hub)}<main></main>")
    view.open(url)
    view.page.evaluate("""(html) => {
      const place = document.createElement("div"); document.body.append(place);
      place.outerHTML = html.split("<script>")[0];
      const script = document.createElement("script");
      script.textContent = html.split("<script>")[1].split("</script>")[0];
      document.body.append(script);
    }""", TRAP)  # fmt: skip
    pin_inside(view, hub)
    assert view.page.evaluate("window.wentAway") == 0


POLICY = (
    "default-src 'none'; script-src 'nonce-abc123'; style-src 'nonce-abc123'; "
    "connect-src {hub} {socket}; img-src {hub} blob:; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)


def test_a_strict_policy_is_kept_and_everything_works(view, hub, site):
    policy = POLICY.format(hub=hub.url, socket=hub.url.replace("http", "ws"))
    body = SHOP.replace("<style>", '<style nonce="abc123">').replace(
        "__TOOLBAR__", tag(hub, nonce="abc123")
    )
    said = []
    view.page.on("console", lambda message: said.append(message.text))
    view.open(site.put("/strict", body, Content_Security_Policy=policy))
    view.place("#total")
    view.page.keyboard.type("under a policy")
    view.send()
    view.page.get_by_role("dialog", name="Pin 1").wait_for()
    view.page.keyboard.press("Escape")
    view.page.keyboard.press("i")
    view.inbox.wait_for()  # fetched later than the first script, under the same policy
    for key in ("Escape", "?", "Escape", "m"):
        view.page.keyboard.press(key)
    assert view.page.locator("pinbox-toolbar .puck").is_visible()
    assert [text for text in said if "Content Security Policy" in text or "Trusted" in text] == []


def test_what_is_fetched_later_and_cannot_be_had_is_said_and_asked_for_again(view, shop):
    view.page.route("**/toolbar/more.js*", lambda route: route.abort())
    view.open(shop)
    view.page.keyboard.press("i")
    view.page.locator("pinbox-toolbar .toast").get_by_text("Could not be loaded").wait_for()
    assert view.inbox.count() == 0
    view.page.unroute("**/toolbar/more.js*")
    view.page.keyboard.press("i")
    view.inbox.wait_for()


def test_a_policy_that_forbids_the_hub_is_said(view, hub, site):
    policy = f"default-src 'none'; script-src {hub.url} 'nonce-abc123'; style-src 'unsafe-inline'"
    body = SHOP.replace("__TOOLBAR__", tag(hub, nonce="abc123"))
    view.open(site.put("/strict", body, Content_Security_Policy=policy))
    view.page.get_by_text("Blocked").first.wait_for()
    view.bar.get_by_role("button", name="More").click()
    view.page.get_by_text("connect-src").wait_for()


HOSTILE = """<style>* { all: unset !important } pinbox-toolbar { color: red; font-size: 40px }
  html { font-size: 30px } body { transform: rotate(0.5deg) scale(0.9); filter: blur(0) }</style>"""


def box_of(view, name: str):
    return view.page.evaluate(
        """(name) => { const b = document.querySelector("pinbox-toolbar").shadowRoot
          .querySelector(name).getBoundingClientRect(); return [b.width, b.height] }""",
        name,
    )


TEXT = """() => { const s = getComputedStyle(document.querySelector("pinbox-toolbar").shadowRoot
  .querySelector("textarea")); return [s.fontSize, s.direction, s.color] }"""


@in_every_look
@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_the_page_s_own_styles_change_nothing_in_it(view, hub, site, direction):
    plain = SHOP.replace("__TOOLBAR__", tag(hub))
    hostile = plain.replace("</head>", HOSTILE + "</head>").replace(
        "<html", f'<html dir="{direction}"'
    )
    seen = []
    for path, page in (("/", plain), ("/hostile", hostile)):
        view.open(site.put(path, page))
        bar = box_of(view, ".bar")
        view.page.keyboard.press("p")
        view.page.mouse.click(300, 300)
        if view.page.viewport_size["width"] < 720:
            view.page.get_by_role("button", name="Pin here").click()
        view.page.keyboard.type("still fine")
        assert view.field.input_value() == "still fine"
        seen.append((bar, box_of(view, ".card")[0], view.page.evaluate(TEXT)))
        view.page.evaluate("localStorage.clear()")
    assert seen[0] == seen[1]
    assert seen[0][2][:2] == ["14px", "ltr"]


def test_the_page_keeps_its_selection_its_cursor_and_its_place(view, hub, site):
    long = SHOP.replace("</main>", "<div style='height:2000px'></div></main>")
    view.open(site.put("/long", long.replace("__TOOLBAR__", tag(hub))))
    view.page.mouse.wheel(0, 40)
    view.page.wait_for_function("scrollY === 40")
    box = view.page.locator("#title").bounding_box()
    view.page.mouse.dblclick(box["x"] + 10, box["y"] + box["height"] / 2)
    kept = """() => [String(getSelection()), scrollY, getComputedStyle(document.body).cursor,
      getComputedStyle(document.querySelector(".pay")).cursor]"""
    before = view.page.evaluate(kept)
    assert before[0] == "Your"
    view.place("#total")
    view.page.keyboard.press("Escape")
    assert view.page.evaluate(kept) == before
    view.place("#title")
    view.page.keyboard.type("This word")
    view.send()
    view.wait(hub.pins)
    assert hub.pins()[0]["target"]["context"]["selectedText"] == "Your"
    view.page.keyboard.press("Escape")
    assert view.page.evaluate(kept) == before
    view.page.keyboard.press("p")
    view.page.keyboard.press("Escape")
    assert view.page.evaluate(kept) == before


def test_the_page_is_laid_out_as_without_it(view, hub, site):
    measure = """() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight,
      ...[...document.querySelectorAll("body *:not(script)")].map((e) => {
        const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height].join() })]"""
    view.page.goto(site.put("/plain", SHOP.replace("__TOOLBAR__", "")))
    plain = view.page.evaluate(measure)
    view.page.add_init_script("""
      window.shift = 0;
      new PerformanceObserver((list) => { for (const e of list.getEntries()) window.shift += e.hadRecentInput ? 0 : e.value })
        .observe({ type: "layout-shift", buffered: true });""")
    view.open(site.put("/", SHOP.replace("__TOOLBAR__", tag(hub))))
    assert view.page.evaluate(measure) == plain
    view.place("#total")
    assert view.page.evaluate(measure) == plain
    assert view.page.evaluate("window.shift") == 0


@pytest.mark.parametrize("width", [320, 390, 720, 2560])
def test_no_control_is_cut_at_any_width(view, hub, shop, width):
    hub.pin("A pin with a long text " * 5, target={"url": shop, "selector": "#total"})
    view.page.set_viewport_size({"width": width, "height": 700})
    view.open(shop)
    outside = """() => [...document.querySelector("pinbox-toolbar").shadowRoot.querySelectorAll("button, input, textarea, a")]
      .filter((e) => e.checkVisibility() && !e.closest("[hidden]")).map((e) => [e.className || e.localName, e.getBoundingClientRect()])
      .filter(([, b]) => b.width && (b.left < 0 || b.right > innerWidth)).map(([n]) => n)"""
    window = view.page.get_by_role("dialog", name="Name and keys")
    for key, part in ((None, view.bar), ("i", view.inbox), ("Escape", view.bar), ("?", window)):
        if key:
            view.page.keyboard.press(key)
        part.wait_for()
        assert view.page.evaluate(outside) == []
    view.page.keyboard.press("Escape")
    view.chips.first.click()
    assert view.page.evaluate(outside) == []
    assert view.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_page_that_swaps_its_whole_body_keeps_its_toolbar(view, hub, shop):
    view.open(shop)
    view.place("#total")
    view.page.keyboard.type("half")
    view.page.evaluate("""() => { const body = document.createElement("body");
      body.innerHTML = "<h1 id=new>New</h1>"; document.documentElement.replaceChild(body, document.body) }""")
    assert view.field.input_value() == "half"
    view.page.evaluate("document.querySelector('pinbox-toolbar').parentNode.replaceChildren()")
    view.page.keyboard.press("Escape")
    view.bar.wait_for()


@pytest.mark.parametrize(
    "anew",
    [
        "document.write('<!doctype html><h1 id=new>New</h1>'); document.close()",
        "const root = document.createElement('html'); root.innerHTML = '<h1 id=new>New</h1>'; "
        "document.replaceChild(root, document.documentElement)",
    ],
)
def test_a_page_that_writes_itself_anew_has_a_toolbar_that_works(view, hub, shop, anew):
    view.open(shop)
    view.page.evaluate(f"() => {{ {anew} }}")
    view.place("#new")
    view.page.keyboard.type("still here")
    view.send()
    view.wait(lambda: [pin["text"] for pin in hub.pins()] == ["still here"])


def test_a_page_that_takes_away_what_it_does_not_know_does_not_hang(view, hub, site):
    remover = """<script>window.taken = 0; new MutationObserver(() => {
      for (const element of document.documentElement.children)
        if (!/^(HEAD|BODY)$/.test(element.tagName) && ++taken < 5000) element.parentNode.removeChild(element)
    }).observe(document, { childList: true, subtree: true })</script>"""
    view.page.goto(site.put("/", SHOP.replace("__TOOLBAR__", remover + tag(hub))))
    view.wait(lambda: view.page.evaluate("taken") > 0)
    assert view.page.evaluate("new Promise((done) => setTimeout(() => done(taken), 100))") < 1000


@pytest.mark.parametrize("style", ["html { zoom: 1.5 }", "body { zoom: 1.6 }"])
def test_a_zoom_of_the_page_s_own_moves_nothing_of_it(view, hub, site, style):
    dialog = "<dialog id=small><b id=inner>Sure?</b></dialog><main"
    body = SHOP.replace("</head>", f"<style>{style}</style></head>").replace("<main", dialog)
    view.open(site.put("/", body.replace("__TOOLBAR__", tag(hub))))
    view.page.evaluate("small.showModal()")
    view.place("#inner")
    view.page.keyboard.type("x")
    dot = view.page.locator("pinbox-toolbar .dot").bounding_box()
    at = view.page.locator("#inner").bounding_box()
    middle = (at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    assert (dot["x"] + 4, dot["y"] + 4) == pytest.approx(middle, abs=1)
    assert box_of(view, ".card")[0] == 336
    # A dialog is no bar of the page that ours would have to give way to.
    assert view.bar.bounding_box()["y"] == 800 - 44 - 12


def test_it_is_not_printed(view, hub, shop):
    view.open(shop)
    view.page.emulate_media(media="print")
    assert not view.bar.is_visible()


def test_keys_and_errors_of_an_odd_kind_cost_the_page_nothing(view, hub, shop):
    """Any error of ours would fail the test: what a browser fills in sends keys without a key, and
    another site's window may not even be looked at.
    """
    view.open(shop)
    for key in ("Escape", "p"):
        view.page.keyboard.press(key)
        view.page.evaluate("document.body.dispatchEvent(new Event('keydown', { bubbles: true }))")
    view.page.evaluate("""() => {
      const closed = () => { throw new Error("closed") };
      console.error(new Proxy({}, { get: closed }), Object.create(null), Symbol("x"));
      console.error(Object.defineProperty(new Error("x"), "message", { get: closed }));
    }""")


def test_a_view_of_a_one_page_app_shows_its_own_pins_only(view, hub, shop):
    hub.pin("here", target={"url": shop, "selector": "#total"})
    hub.pin("there", target={"url": shop + "#/cart", "selector": "#title"})
    view.open(shop)
    view.wait(lambda: view.chips.count() == 1)
    view.page.evaluate("history.pushState({}, '', '#/cart')")
    view.wait(lambda: "Pin 2" in view.state())
    assert view.chips.count() == 1
