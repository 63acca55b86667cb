"""Pointing at something: by mouse, by keys, by touch; what the pin then says of it."""

import pytest

from pinbox_site.toolbar import FOLDER

from .conftest import NARROW, View, in_every_look, tag

KEYS = "pidrchm? twenty keys"


@in_every_look
def test_the_first_keys_after_the_placing_click_are_all_in_the_box(view, shop):
    view.open(shop)
    view.place("#total")
    view.page.keyboard.type(KEYS)
    assert view.field.input_value() == KEYS
    assert view.card.count() == 1
    assert view.inbox.count() == 0


@in_every_look
def test_the_box_has_the_focus_within_a_tenth_of_a_second(view, shop):
    view.page.add_init_script("""
      addEventListener("click", () => { window.clickedAt = performance.now() }, true);
      const seen = () => {
        const root = document.querySelector("pinbox-toolbar")?.shadowRoot;
        if (!root?.activeElement?.matches("textarea")) requestAnimationFrame(seen);
        else window.took = performance.now() - window.clickedAt;
      };
      requestAnimationFrame(seen);""")
    view.open(shop)
    view.place("#total")
    view.page.wait_for_function("window.took !== undefined")
    assert view.page.evaluate("window.took") <= 100


@pytest.mark.parametrize("modifier", ["Control", "Meta", "Alt"])
def test_a_letter_with_a_modifier_is_not_for_the_toolbar(view, hub, shop, modifier):
    view.open(shop)
    view.place("#total")
    view.page.keyboard.type("Wrong sum")
    view.send()
    view.page.get_by_role("dialog", name="Pin 1").wait_for()
    view.page.evaluate(
        "addEventListener('keydown', (e) => e.preventDefault())"  # no reload, no window of its own
    )
    for letter in "cihdpr":
        view.page.keyboard.press(f"{modifier}+{letter}")
    assert hub.pins()[0]["status"] == "open"
    assert view.card.count() == 1
    assert view.inbox.count() == 0
    assert view.page.locator("pinbox-toolbar .shield").count() == 0


FIELDS = (
    "<input id=field>",
    "<textarea id=field></textarea>",
    "<select id=field><option>a<option>p<option>i</select>",
    "<div id=field contenteditable><b>x</b></div>",
)


@pytest.mark.parametrize("field", FIELDS)
def test_letters_typed_into_a_field_of_the_page_are_the_page_s(view, hub, site, field):
    view.open(site.put("/", f"<!doctype html><body>{field}{tag(hub)}"))
    view.page.locator("#field").focus()
    view.page.keyboard.type("pichmd?")
    said = view.page.locator("#field").evaluate("(e) => e.value ?? e.textContent")
    assert said == ("p" if "select" in field else "pichmd?x" if "div" in field else "pichmd?")
    assert view.page.locator("pinbox-toolbar .shield").count() == 0
    assert view.inbox.count() == 0
    assert view.page.locator("pinbox-toolbar .puck").count() == 0


def test_letters_typed_where_nobody_can_look_are_the_page_s(view, hub, site):
    body = """<my-editor></my-editor><script>
      customElements.define("my-editor", class extends HTMLElement { connectedCallback() {
        window.inside = this.attachShadow({ mode: "closed" }); inside.innerHTML = "<input>";
      } });</script>"""
    view.open(site.put("/closed", f"<!doctype html><body>{body}{tag(hub)}"))
    view.page.evaluate("inside.firstChild.focus()")
    view.page.keyboard.type("pid him")
    assert view.page.evaluate("inside.firstChild.value") == "pid him"
    assert view.inbox.count() == 0


def test_letters_typed_into_a_card_are_not_the_page_s(view, shop):
    view.open(shop)
    view.page.evaluate("""() => {
      window.heard = [];
      for (const type of ["keydown", "keypress", "keyup", "input", "click", "mousedown", "focusin"])
        document.addEventListener(type, () => window.heard.push(type), true);
    }""")
    view.place("#total")
    view.page.keyboard.type("abc")
    view.field.click()
    assert view.page.evaluate("window.heard") == []


def test_placing_does_not_reach_the_page_and_selects_nothing(view, shop):
    view.open(shop)
    view.page.evaluate("""() => {
      window.clicks = 0;
      for (const type of ["click", "mousedown", "pointerdown"])
        document.querySelector(".pay").addEventListener(type, () => window.clicks++);
    }""")
    view.place("button.pay", click_count=3)
    assert view.page.evaluate("[window.clicks, String(getSelection())]") == [0, ""]


def test_one_pin_may_be_about_several_elements(view, hub, shop):
    view.open(shop)
    view.bar.get_by_role("button", name="Pin", exact=True).click()
    view.page.keyboard.down("Shift")
    view.page.mouse.click(100, 244)
    view.page.mouse.click(330, 244)
    view.page.keyboard.up("Shift")
    marks = view.page.locator("pinbox-toolbar .frame.is-added:not([hidden])")
    assert marks.count() == 2
    # An event of the hub draws everything anew; the marks stay.
    hub.pin("from elsewhere")
    view.page.wait_for_timeout(150)
    assert marks.count() == 2
    view.page.mouse.click(560, 244)
    view.page.keyboard.type("All three headings")
    view.send()
    view.wait(lambda: len(hub.pins()) == 2)
    target = hub.pins()[0]["target"]
    assert [target["tag"], *(other["tag"] for other in target["targets"])] == ["h2", "h2", "h2"]
    assert target["context"]["textRuns"] == ["Honey"]


FOCUSED = """() => { const at = document.querySelector("pinbox-toolbar").shadowRoot.activeElement;
  return at?.textContent || at?.localName }"""


@in_every_look
def test_the_whole_loop_without_a_pointer(view, hub, shop):
    view.open(shop)
    keys = view.page.keyboard
    view.page.locator("#voucher").focus()
    keys.press("Tab")
    assert view.page.evaluate("document.activeElement.className") == "pay"
    keys.press("p")
    keys.press("ArrowLeft")  # from what was under the middle of the window
    keys.press("ArrowRight")
    keys.press("Enter")
    keys.type("By keyboard")
    keys.press("Control+Enter")
    view.wait(hub.pins)
    [pin] = hub.pins()
    hub.says(pin["id"], "Which one?", origin="claude")
    view.card.get_by_text("Which one?").wait_for()
    for _ in range(12):
        if view.page.evaluate(FOCUSED) == "textarea":
            break
        keys.press("Tab")
    keys.type("The one you see")
    keys.press("Control+Enter")
    view.wait(lambda: len(hub.ask(f"/pins/{pin['id']}/thread")) == 2)
    hub.says(pin["id"], "Done by me", origin="claude")
    hub.ask(f"/pins/{pin['id']}/resolve", {"by": "agent"})
    view.card.get_by_role("button", name="Looks good").wait_for()
    for _ in range(12):
        if view.page.evaluate(FOCUSED) == "Looks good":
            break
        keys.press("Tab")
    keys.press("Enter")
    view.wait(lambda: hub.pins()[0].get("verification"))
    view.card.wait_for(state="detached")
    assert view.page.evaluate("document.activeElement.className") == "pay"


def test_without_a_pointer_the_first_element_is_the_one_with_the_focus(view, hub, shop):
    view.open(shop)
    view.page.locator("#voucher").focus()
    view.page.keyboard.press("Tab")
    view.page.keyboard.press("p")
    view.page.keyboard.press("Enter")
    view.page.keyboard.type("This button")
    view.page.keyboard.press("Control+Enter")
    view.wait(hub.pins)
    assert hub.pins()[0]["target"]["selector"] == "button.pay"


def test_keys_take_several_elements_into_one_pin(view, hub, shop):
    view.open(shop)
    keys = view.page.keyboard
    keys.press("p")
    keys.press("ArrowLeft")  # from the third of three, which is under the middle of the window
    keys.press("Shift+Enter")
    keys.press("ArrowLeft")
    keys.press("Enter")
    keys.type("Both")
    keys.press("Control+Enter")
    view.wait(hub.pins)
    target = hub.pins()[0]["target"]
    found = [target["context"]["textRuns"][0]]
    found += [other["context"]["textRuns"][0] for other in target["targets"]]
    assert found == ["Tea", "Cups"]


def test_the_bar_is_one_stop_and_arrows_go_through_it(view, hub, shop):
    view.open(shop)
    keys = view.page.keyboard
    grip = view.bar.get_by_role("button", name="Pinbox: Connected")
    grip.focus()
    named = "document.querySelector('pinbox-toolbar').shadowRoot.activeElement?.getAttribute('aria-label')"
    seen = []
    for key in ("ArrowRight", "ArrowRight", "End", "ArrowRight", "ArrowLeft", "Home"):
        keys.press(key)
        seen.append(view.page.evaluate(named))
    bar = ["Pinbox: Connected", None, "Inbox, 0 waiting for you", "More", "Make small"]
    assert seen == [bar[1], bar[2], bar[4], bar[0], bar[4], bar[0]]
    keys.press("ArrowRight")
    hub.pin("drawn anew", target={"url": shop, "selector": "#total"})
    view.wait(lambda: view.chips.count() == 1)
    stops = view.bar.locator("button[tabindex='0']")
    assert stops.count() == 1
    assert stops.inner_text() == "Pin", "it stays where the arrows left it"
    where = "() => document.querySelector('pinbox-toolbar').shadowRoot.activeElement?.closest('.bar button')?.textContent"
    seen = []
    for key in ("Tab", "Shift+Tab", "Shift+Tab"):
        keys.press(key)
        seen.append(view.page.evaluate(where))
    assert seen == [None, "Pin", None]


def test_escape_takes_a_draft_without_words_back_and_keeps_one_with_words(view, hub, shop):
    view.open(shop)
    view.place("#total")
    view.page.keyboard.press("Escape")
    assert view.chips.count() == 0
    view.place("#total")
    view.page.keyboard.type("Half a thought")
    view.page.keyboard.press("Escape")
    view.card.wait_for(state="detached")
    view.page.reload()
    view.chips.first.click()
    assert view.field.input_value() == "Half a thought"
    assert hub.pins() == []


def test_touch_aims_with_a_mark_that_is_dragged(browser, hub, shop):
    context = browser.new_context(viewport=NARROW, has_touch=True, is_mobile=True, locale="en-GB")
    view = View(context.new_page()).open(shop)
    view.bar.get_by_role("button", name="Pin", exact=True).tap()
    spot = view.page.locator("#title").bounding_box()
    view.page.touchscreen.tap(spot["x"] + 20, spot["y"] + 10)
    mark = view.page.get_by_role("slider")
    mark.wait_for()
    aim = spot["x"] + 20
    view.wait(lambda: abs(mark.bounding_box()["x"] + 36 - aim) < 1.5, "it is where the finger was")
    view.page.get_by_role("button", name="Pin here").tap()
    view.field.fill("On a phone")
    view.card.get_by_role("button", name="Send").tap()
    view.wait(hub.pins)
    assert hub.pins()[0]["target"]["selector"] == "#title"
    context.close()


ODD = {
    "tailwind": '<p class="md:hover:w-1/2">x</p><p class="w-[calc(100%-2rem)]">y</p>',
    "digit first": '<p class="1-col">x</p><p class="2-col">y</p>',
    "dots and colons": '<p id="a.b:c">x</p><p id="a.b">y</p>',
    "emoji": '<p class="🍯">x</p><p class="🍵">y</p>',
    "made up ids": '<p id=":r1:">x</p><p id="radix-42">y</p>',
    "twins": "<div><p>x</p><p>x</p></div><div><p>x</p><p>x</p></div>",
    "quotes": """<p data-testid='a"b>c\\d'>x</p><p data-testid="it's">y</p>""",
    "same id twice": '<p id="twice">x</p><p id="twice">y</p>',
    "svg": '<svg width="40" height="40"><g><rect width="40" height="20"/></g></svg>',
    "a form's own names": '<form><input name="id"><input name="className"></form>',
    "of its children too": '<form><select name="children"><option></select><b></b><b></b></form>',
}


def test_a_selector_finds_exactly_its_element_again(page, site):
    module = site.put(
        "/selector.js", (FOLDER / "selector.js").read_text(), Content_Type="text/javascript"
    )
    page.goto(site.put("/odd", "<!doctype html><body>"))
    wrong = page.evaluate(
        """async ([module, bodies]) => {
      const { selectorOf, find } = await import(module);
      return bodies.flatMap((body) => {
        document.body.innerHTML = body;
        return [...document.body.querySelectorAll("*")]
          .map((element) => [element.outerHTML, selectorOf(element), find(selectorOf(element)) === element])
          .filter(([, , isSame]) => !isSame);
      });
    }""",
        [module, list(ODD.values())],
    )
    assert wrong == []


def test_an_element_in_a_frame_is_found_again_through_its_frames(view, hub, site):
    site.put("/inner", "<!doctype html><body style='margin:0'><button class=buy>Buy</button>")
    site.put("/outer", "<!doctype html><body style='margin:20px'><iframe id=deep src=/inner>")
    body = "<iframe name=shop src=/outer style='margin:60px 0 0 40px;border:3px solid;width:400px;height:300px'></iframe>"
    view.open(site.put("/frames", f"<!doctype html><body>{body}{tag(hub)}"))
    button = view.page.frame_locator("[name=shop]").frame_locator("#deep").locator(".buy")
    box = button.bounding_box()
    view.bar.get_by_role("button", name="Pin", exact=True).click()
    view.page.mouse.click(box["x"] + 10, box["y"] + 8)
    view.page.keyboard.type("Too dear")
    view.send()
    view.wait(hub.pins)
    target = hub.pins()[0]["target"]
    assert target["selector"] == 'iframe[name="shop"] >>> #deep >>> button.buy'
    assert target["url"] == view.page.url
    assert (target["rect"]["x"], target["rect"]["y"]) == pytest.approx(
        (box["x"], box["y"]), abs=0.2
    )
    view.page.reload()
    view.chips.first.wait_for()
    dot = view.page.locator("pinbox-toolbar .dot").bounding_box()
    assert (dot["x"] + 4, dot["y"] + 4) == pytest.approx((box["x"] + 10, box["y"] + 8), abs=0.5)


def test_a_path_of_a_bundle_is_never_called_the_source(view, hub, site):
    body = """<p id=react>text</p><script>react["__reactFiber$x"] = react["__reactProps$x"] = {
      _debugSource: { fileName: "/static/js/main.4f0c.js", lineNumber: 1 }, _debugStack: new Error("/static/js/main.4f0c.js:1:2") }</script>"""
    view.open(site.put("/react", f"<!doctype html><body>{body}{tag(hub)}"))
    view.place("#react")
    view.page.keyboard.type("x")
    view.send()
    view.wait(hub.pins)
    assert "source" not in hub.pins()[0]["target"]
    assert "main.4f0c" not in str(hub.pins())


def test_stable_attributes_come_before_classes_and_places(view, hub, site):
    body = '<ul><li class="x"><b data-testid="price" class="x y">1</b></li></ul>'
    view.open(site.put("/odd", f"<!doctype html><body>{body}{tag(hub)}"))
    view.place("b")
    view.page.keyboard.type("x")
    view.send()
    view.wait(hub.pins)
    assert hub.pins()[0]["target"]["selector"] == '[data-testid="price"]'


def test_an_element_inside_a_shadow_root_is_reached_and_found_again(view, hub, site):
    body = """<my-card></my-card><script>
      customElements.define("my-card", class extends HTMLElement { connectedCallback() {
        this.attachShadow({ mode: "open" }).innerHTML = "<p>text</p><button class=buy>Buy</button>";
      } });</script>"""
    url = site.put("/shadow", f"<!doctype html><body>{body}{tag(hub)}")
    view.open(url)
    view.place("my-card button")
    view.page.keyboard.type("Wrong word")
    view.send()
    view.wait(hub.pins)
    assert hub.pins()[0]["target"]["selector"] == "my-card >>> button.buy"
    view.page.reload()
    view.chips.first.click()
    view.page.locator("pinbox-toolbar .frame:not([hidden])").first.wait_for(state="attached")


def test_nothing_private_is_captured(view, hub, site):
    body = """<section><p>public words</p><p data-pinbox-private>secret words</p>
      <input type=password value="hunter2"><input value="typed text">
      <div data-pinbox-private aria-label="secret label"><b id=in>secret inside</b></div></section>"""
    view.open(site.put("/private", f"<!doctype html><body>{body}{tag(hub)}"))
    for selector in ("section", "#in", "input[type=password]"):
        view.page.keyboard.press("p")
        box = view.page.locator(selector).bounding_box()
        view.page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
        view.page.keyboard.type("look")
        view.send()
        count = len(hub.pins())
        view.wait(lambda count=count: len(hub.pins()) >= count)
        view.page.keyboard.press("Escape")
    view.wait(lambda: len(hub.pins()) == 3)
    stored = str(hub.pins())
    assert "public words" in stored
    for secret in ("secret", "hunter2", "typed text"):
        assert secret not in stored.replace("data-pinbox-private", "")


def test_no_private_word_gets_into_a_selector(view, hub, site):
    body = """<style>main * { display: inline-block }</style><main>
      <a data-pinbox-private href="/people/ada-lovelace" title="ada-lovelace">x</a>
      <p data-pinbox-private><img alt="ada-lovelace" width=40 height=40></p>
      <div data-pinbox-private aria-label="ada-lovelace"><i>i</i> <u>u</u></div>
      <input type=password placeholder="ada-lovelace" style="width:80px"></main>"""
    view.open(site.put("/private", f"<!doctype html><body>{body}{tag(hub)}"))
    private = ("main > a", "main img", "main i", "main u", "main input")
    for count, selector in enumerate(private, 1):
        view.place(selector)
        view.page.keyboard.type("look")
        view.send()
        view.wait(lambda count=count: len(hub.pins()) == count)
        view.page.keyboard.press("Escape")
    assert "ada-lovelace" not in str(hub.pins())
    found = [pin["target"]["selector"] for pin in reversed(hub.pins())]
    same = "([found, meant]) => document.querySelector(found) === document.querySelector(meant)"
    pairs = zip(found, private, strict=True)
    assert all(view.page.evaluate(same, list(pair)) for pair in pairs), found


def test_failed_requests_and_console_errors_go_along_only_when_they_are_ticked(view, hub, site):
    script = """<script>
      fetch("/gone?token=abc").catch(() => {}); console.error("broken", {secret: 1});
      setTimeout(() => { throw new Error("late") });</script>"""
    url = site.put("/trouble", f"<!doctype html><body><p>here</p>{script}{tag(hub)}")
    view.page.add_init_script("window.onerror = () => true")
    view.open(url)
    view.page.evaluate("""() => { console.error("broken", { secret: 1 }); fetch("/lost?key=1") }""")
    view.place("p")
    view.page.keyboard.type("without")
    view.send()
    view.wait(hub.pins)
    assert "failedRequests" not in hub.pins()[0]["target"]["context"]
    view.page.keyboard.press("Escape")
    view.place("p")
    view.card.get_by_role("checkbox").check()
    view.field.fill("with")
    view.send()
    view.wait(lambda: len(hub.pins()) == 2)
    context = hub.pins()[0]["target"]["context"]
    assert "404 /lost" in context["failedRequests"]
    assert "404 /gone" in context["failedRequests"]
    assert "broken [Object]" in context["consoleErrors"]


def test_what_went_wrong_longer_than_a_minute_ago_is_not_offered(view, hub, shop):
    view.page.clock.install()
    view.open(shop)
    view.page.evaluate("console.error('long ago')")
    view.place("#total")
    view.card.get_by_role("checkbox").wait_for()
    view.page.keyboard.press("Escape")
    view.page.clock.fast_forward(61_000)
    view.place("#total")
    view.field.wait_for()
    assert view.card.get_by_role("checkbox").count() == 0


def test_a_name_goes_along_with_what_its_owner_writes(view, hub, shop):
    view.open(shop)
    view.page.keyboard.press("?")
    view.page.get_by_role("textbox", name="Your name").fill("Ada")
    view.page.keyboard.press("Escape")
    view.place("#total")
    view.card.get_by_role("button", name="Your name: Ada").wait_for()
    view.field.fill("Mine")
    view.send()
    view.wait(hub.pins)
    [pin] = hub.pins()
    assert pin["author"]["name"] == "Ada"
    view.page.get_by_role("dialog", name="Pin 1").wait_for()
    view.field.fill("And mine")
    view.field.press("Control+Enter")  # the button moves as the thread comes
    view.wait(lambda: hub.ask(f"/pins/{pin['id']}/thread"))
    assert hub.ask(f"/pins/{pin['id']}/thread")[0]["origin"] == "Ada"
    view.page.evaluate("localStorage.clear()")  # somebody else
    view.page.reload()
    view.chips.first.click()
    assert view.card.locator("bdi").all_text_contents() == ["Ada", "Ada"]


def test_an_element_is_moved_by_dragging_its_frame(view, hub, shop):
    view.open(shop)
    view.place("button.pay")
    view.card.get_by_role("button", name="Move it").click()
    box = view.page.locator("button.pay").bounding_box()
    view.page.mouse.move(box["x"] + 5, box["y"] + 5)
    view.page.mouse.down()
    view.page.mouse.move(box["x"] + 65, box["y"] + 25, steps=3)
    view.page.mouse.up()
    view.field.fill("Further right")
    view.send()
    view.wait(hub.pins)
    [pin] = hub.pins()
    assert pin["kind"] == "move"
    moved = {side: pin["move"]["to"][side] - pin["move"]["from"][side] for side in "xy"}
    assert moved == {"x": 60, "y": 20}


def test_where_a_template_marks_its_elements_the_pin_says_the_line(view, hub, site):
    body = '<main data-pb-source="templates/checkout.html:42"><p>text</p></main>'
    view.open(site.put("/marked", f"<!doctype html><body>{body}{tag(hub)}"))
    view.place("p")
    view.page.keyboard.type("x")
    view.send()
    view.wait(hub.pins)
    assert hub.pins()[0]["target"]["source"] == {
        "file": "templates/checkout.html",
        "line": 42,
        "via": "framework",
    }


def test_a_form_whose_fields_are_called_like_its_properties_is_a_form(view, hub, site):
    names = ("id", "children", "attributes", "className", "title")
    fields = "".join(f'<input type="hidden" name="{name}">' for name in names)
    body = f'<form aria-label="Trip" style="padding: 20px"><h2>Where to?</h2>{fields}</form>'
    view.open(site.put("/form", f"<!doctype html><body>{body}{tag(hub)}"))
    view.bar.get_by_role("button", name="Pin", exact=True).click()
    box = view.page.locator("form").bounding_box()
    view.page.mouse.click(box["x"] + 5, box["y"] + 5)
    view.page.keyboard.type("x")
    assert view.card.locator(".crumbs").inner_text() == "form “Trip”"
    view.send()
    view.wait(hub.pins)
    assert hub.pins()[0]["target"]["context"]["aria"] == {"aria-label": "Trip"}


@pytest.mark.parametrize(
    ("style", "inside", "selector"),
    [
        ("button { pointer-events: none }", "<button id=pay disabled>Pay</button>", "#pay"),
        ("body { pointer-events: none }", "<p><b id=deep>Deep</b></p>", "#deep"),
        # The icon of what can be pressed is a part of it, and what cannot be seen is not there.
        ("i { pointer-events: none }", "<button id=pay><i>icon of it</i></button>", "#pay"),
        ("i { pointer-events: none; opacity: 0 }", "<p id=seen>Text<i>hidden</i></p>", "#seen"),
    ],
)
def test_what_takes_no_pointer_can_be_pointed_at(view, hub, site, style, inside, selector):
    body = f"<style>i {{ position: absolute; inset: 0 }} {style}</style>{inside}"
    view.open(site.put("/deaf", f"<!doctype html><body>{body}{tag(hub)}"))
    view.place(selector)
    view.page.keyboard.type("x")
    view.send()
    view.wait(hub.pins)
    assert hub.pins()[0]["target"]["selector"] == selector
