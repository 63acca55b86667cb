"""How it looks and reads, measured in the browser: contrast, type, targets, places, roles."""

import base64
import os
import re

import pytest

from pinbox_site.toolbar import FOLDER

from .conftest import NARROW, SHOP, WIDE, View, in_every_look, tag

#: A folder for pictures of every part in every look, for eyes (docs/contributing.md).
PICTURES = os.environ.get("TOOLBAR_PICTURES")

SIZES = {"wide": WIDE, "narrow": NARROW}

HELPERS = """
  const root = document.querySelector("pinbox-toolbar").shadowRoot;
  const parse = (text) => { const n = (text.match(/[\\d.]+/g) ?? []).map(Number);
    if (text.startsWith("color(srgb")) return [n[0] * 255, n[1] * 255, n[2] * 255, n[3] ?? 1];
    return [n[0] ?? 0, n[1] ?? 0, n[2] ?? 0, n[3] ?? 1] };
  const over = (a, b) => a.slice(0, 3).map((c, i) => c * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = ([r, g, b]) => { const f = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b) };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05) };
  const ground = (e) => { let c = [0, 0, 0, 0];
    for (let at = e; at && at !== root; at = at.parentNode) { const b = parse(getComputedStyle(at).backgroundColor);
      if (b[3]) { c = c[3] ? over(c, b) : b; if (b[3] === 1) return c } }
    return c };
  const shown = [...root.querySelectorAll("#layer *")].filter((e) => e.checkVisibility({ opacityProperty: true }) && e.getBoundingClientRect().width > 1);
"""

CONTRAST = (
    "() => {"
    + HELPERS
    + """
  const bad = [];
  for (const e of shown) {
    const style = getComputedStyle(e), back = ground(e);
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.nodeValue.trim());
    if (own && back[3]) { const r = ratio(over(parse(style.color), back), back); if (r < 4.5) bad.push(["text", e.className, e.textContent, r]) }
    if (e.matches("textarea, input") && back[3]) { const r = ratio(over(parse(getComputedStyle(e, "::placeholder").color), back), back); if (r < 4.5) bad.push(["placeholder", e.className, r]) }
    if (e.matches("svg") && back[3]) { const r = ratio(over(parse(style.color), back), back); if (r < 3) bad.push(["icon", e.getAttribute("class"), r]) }
    const edge = /inset/.test(style.boxShadow) && e.matches(".line, .composer, .find input, .field input") ? parse(style.boxShadow.match(/(rgba?|color)\\([^)]*\\)/)[0]) : null;
    if (edge && back[3]) { const r = ratio(over(edge, back), back); if (r < 3) bad.push(["edge", e.className, r]) }
  }
  return bad }"""
)

TYPE = (
    "() => {"
    + HELPERS
    + """
  const texts = shown.filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.nodeValue.trim()) || e.matches("textarea, input"));
  const styles = texts.map((e) => [getComputedStyle(e), e]);
  return {
    sizes: [...new Set(styles.map(([s]) => parseFloat(s.fontSize)))],
    spaced: styles.filter(([s]) => parseFloat(s.letterSpacing) > 0.06 * parseFloat(s.fontSize)).length,
    capitals: styles.filter(([s, e]) => s.textTransform === "uppercase" && e.textContent.includes(" ")).length,
    fields: styles.filter(([, e]) => e.matches("textarea, input:not([type=checkbox])")).map(([s]) => s.fontSize),
  } }"""
)

#: Focuses one control after the other, as keys do, and says whose ring is thin or faint.
RING = (
    "() => {"
    + HELPERS
    + """
  const bad = [], before = root.activeElement;
  for (const e of shown.filter((e) => e.matches("button, a, input, textarea, [tabindex='0']"))) {
    e.focus({ preventScroll: true });
    if (root.activeElement !== e) { bad.push(["no focus", e.className]); continue }
    const field = e.matches("textarea") ? e.closest(".composer") : e.matches(".find input") ? e : null;
    const style = getComputedStyle(field ?? e);
    const inset = field && style.boxShadow.match(/((?:rgba?|color)\\([^)]*\\)) 0px 0px 0px (\\d+)px inset/);
    const width = field ? Number(inset?.[2] ?? 0) : style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth);
    if (width < 2) { bad.push(["thin ring", e.className, width]); continue }
    const back = ground(!field && parseFloat(style.outlineOffset) < 0 ? e : (field ?? e).parentNode);
    const r = back[3] ? ratio(over(parse(field ? inset[1] : style.outlineColor), back), back) : 21;
    if (r < 3) bad.push(["faint ring", e.className, r]) }
  before?.focus({ preventScroll: true });
  return bad }"""
)

TARGETS = (
    "(least) => {"
    + HELPERS
    + """
  const all = shown.filter((e) => e.matches("button, a, input, textarea, label.tick") && !e.closest("[hidden]") && !e.matches("label input"));
  const small = [];
  const part = (e) => e.closest(".bar, .card, .inbox, .menu, .modal, .notice, .aimbar") ?? e.parentNode;
  const boxes = all.map((e) => { const b = e.getBoundingClientRect();
    const min = e.matches(".chip") ? 24 : least;
    if (!e.matches("textarea") && (b.width < min - 0.5 || b.height < min - 0.5)) small.push([e.className, e.textContent, b.width, b.height]);
    return [e, b] });
  for (const [e, b] of boxes) for (const [f, c] of boxes) {
    if (e === f || part(e) !== part(f) || e.matches(".chip") || e.contains(f) || f.contains(e)) continue;
    const gap = Math.max(c.left - b.right, b.left - c.right, c.top - b.bottom, b.top - c.bottom);
    if (gap < 3.5) small.push(["near", e.className, f.className, gap]) }
  return small }"""
)


@pytest.fixture(params=[f"{size} {theme}" for size in SIZES for theme in ("light", "dark")])
def filled(request, browser, hub, site):
    """A view with pins in every state, in one of four looks. `states()` goes through its parts."""
    size, theme = request.param.split()
    url = site.put("/", SHOP.replace("__TOOLBAR__", tag(hub)))
    for selector, text in {
        "#total": "sum",
        ".item:nth-of-type(2)": "too small",
        "#title": "heading",
    }.items():
        hub.pin(text, target={"url": url, "selector": selector, "tag": "b"})
    answered, verify = hub.pins()[1], hub.pins()[0]
    hub.says(answered["id"], "Made it bigger.\nLook again.", origin="claude")
    hub.ask(f"/pins/{verify['id']}/resolve", {"by": "agent", "note": "done", "commit": "4f0c2a91"})
    context = browser.new_context(
        viewport=SIZES[size], color_scheme=theme, locale="en-GB", reduced_motion="reduce",
        has_touch=size == "narrow", is_mobile=size == "narrow",
    )  # fmt: skip
    context.set_default_timeout(15_000)
    view = View(context.new_page()).open(url)
    view.wait(lambda: view.chips.count() == 3)
    view.wait(lambda: any("Answered" in view.state(i) for i in range(3)))
    view.is_narrow = size == "narrow"
    view.look = request.param
    yield view
    context.close()


def parts(view: View):
    """Opens one part after the other and says which."""
    page = view.page
    yield "rest"
    page.locator("pinbox-toolbar .chip[aria-label*=Answered]").click()
    view.card.get_by_text("Look again.").wait_for()
    yield "answered"
    page.keyboard.press("Escape")
    page.locator("pinbox-toolbar .chip[aria-label*='To verify']").click()
    yield "verify"
    page.keyboard.press("Escape")
    page.keyboard.press("i")
    view.inbox.wait_for()
    yield "inbox"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Name and keys").wait_for()
    yield "settings"
    page.keyboard.press("Escape")
    view.bar.get_by_role("button", name="More").click()
    page.get_by_role("menu").wait_for()
    yield "menu"
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.mouse.move(120, 250)
    if view.is_narrow:
        page.get_by_role("button", name="Pin here").wait_for()
        yield "placing"
        page.get_by_role("button", name="Pin here").click()
    else:
        page.mouse.click(120, 250)
    view.field.fill("a draft")
    yield "draft"
    view.page.route("**/pins", lambda route: route.abort())
    view.send()
    view.card.get_by_text("Tried again by itself").wait_for()
    yield "trouble"
    page.keyboard.press("Escape")
    page.keyboard.press("m")
    yield "small"


def test_every_part_can_be_read_hit_and_heard(filled):
    """Contrast and axe in each theme and width; type and targets, which no theme changes, in one."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    bad, sizes = {}, set()
    for part in parts(filled):
        bad[part] = filled.page.evaluate(CONTRAST)
        filled.page.keyboard.press("Shift")  # what is focused now is focused by keys
        bad[part] += filled.page.evaluate(RING)
        if PICTURES:
            filled.page.screenshot(path=f"{PICTURES}/{filled.look} {part}.png")
        result = axe.run(filled.page, context="pinbox-toolbar")
        bad[part] += [
            (v["id"], [n["html"][:160] for n in v["nodes"]]) for v in result.response["violations"]
        ]
        if filled.look.endswith("dark"):
            continue
        bad[part] += filled.page.evaluate(TARGETS, 44 if filled.is_narrow else 32)
        found = filled.page.evaluate(TYPE)
        sizes |= set(found["sizes"])
        bad[part] += [name for name in ("spaced", "capitals") if found[name]]
        if filled.is_narrow:
            bad[part] += sorted(set(found["fields"]) - {"16px"})
            if part == "menu":  # a finger has no keys
                caps = filled.page.locator("pinbox-toolbar .menu .key")
                bad[part] += [cap.inner_text() for cap in caps.all() if cap.is_visible()]
    assert bad == {part: [] for part in bad}
    assert min(sizes, default=12) >= 12
    assert len(sizes) <= 5


#: The share of a picture's pixels that stand out from the page around it.
SEEN = """async ([data, back]) => {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const paper = new OffscreenCanvas(image.width, image.height).getContext("2d");
  paper.drawImage(image, 0, 0);
  const { data: found } = paper.getImageData(0, 0, image.width, image.height);
  const light = (rgb) => { const [r, g, b] = rgb.map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b };
  const ground = light([back, back, back]);
  let seen = 0;
  for (let i = 0; i < found.length; i += 4) {
    const [x, y] = [light([...found.slice(i, i + 3)]), ground].sort((p, q) => q - p);
    if ((x + 0.05) / (y + 0.05) >= 3) seen++;
  }
  return seen / (found.length / 4) }"""


@pytest.mark.parametrize("ground", [255, 0, 128], ids=["white", "black", "grey"])
def test_what_is_drawn_on_the_page_shows_on_any_ground(view, hub, site, ground):
    body = f"""<style>body {{ margin: 0; background: rgb({ground}, {ground}, {ground}) }}
      div {{ position: absolute; top: 200px; width: 200px; height: 100px }}</style>
      <div id=a style="left:340px"></div><div id=b style="left:100px"></div>"""
    url = site.put("/ground", f"<!doctype html><body>{body}{tag(hub)}")
    hub.pin("x", target={"url": url, "selector": "#a", "targets": [{"selector": "#b"}]})
    view.open(url)
    view.chips.first.click()
    view.card.wait_for()
    view.page.wait_for_function(STILL)
    dot = view.page.locator("pinbox-toolbar .dot").bounding_box()
    chip = view.chips.first.bounding_box()
    view.page.keyboard.press("Escape")
    pieces = {
        "dot": (dot["x"] - 2, dot["y"] - 2, 12, 12),
        "chip": (chip["x"] - 2, chip["y"] - 2, chip["width"] + 4, chip["height"] + 4),
        "needle": (dot["x"] + 4, chip["y"] + 26, chip["x"] - dot["x"], dot["y"] - chip["y"] - 28),
    }
    frames = {
        "frame": (390, 197, 40, 6),
        "side": (337, 220, 6, 40),
        "added": (150, 197, 40, 6),
        "number": (90, 188, 24, 24),
    }

    def share(name, clip):
        at = dict(zip(("x", "y", "width", "height"), clip, strict=True))
        picture = base64.b64encode(view.page.screenshot(clip=at)).decode()
        return name, view.page.evaluate(SEEN, [picture, ground])

    shares = dict(share(*piece) for piece in pieces.items())
    view.chips.first.click()
    shares |= dict(share(*piece) for piece in frames.items())
    view.page.keyboard.press("Escape")
    view.page.keyboard.press("p")
    view.page.mouse.move(390, 250)
    view.page.locator("pinbox-toolbar .tag").wait_for()
    shares |= dict([share("aim", frames["frame"]), share("tag", (338, 160, 40, 34))])
    thin = {"needle": 0.02, "tag": 0.04}  # a line, and a dark plate with a light edge
    assert [name for name in shares if shares[name] < thin.get(name, 0.2)] == [], shares


def test_words_are_set_to_be_read(view, hub, shop):
    pin = hub.pin("First line\nsecond line", target={"url": shop, "selector": "#total"})
    hub.says(pin["id"], "An answer\n\nin three lines", origin="claude")
    view.open(shop)
    view.chips.first.click()
    view.card.get_by_text("An answer").wait_for()
    words = view.card.locator(".words")
    for i, lines in enumerate((2, 3)):
        assert words.nth(i).bounding_box()["height"] == 21 * lines
        style = words.nth(i).evaluate(
            "(e) => { const s = getComputedStyle(e); return [s.fontSize, s.lineHeight] }"
        )
        assert style == ["14px", "21px"]
    number = view.chips.first.locator("span").last
    style = (
        "(e) => { const s = getComputedStyle(e); return [parseFloat(s.fontSize), +s.fontWeight] }"
    )
    size, weight = number.evaluate(style)
    assert (size >= 11, weight >= 600) == (True, True)


@pytest.mark.parametrize(
    ("platform", "keys", "shift"), [("MacIntel", "⌘ ↵", "⇧"), ("Linux x86_64", "Ctrl ↵", "Shift")]
)
def test_keys_are_printed_as_the_reader_s_keyboard_has_them(view, shop, platform, keys, shift):
    view.page.add_init_script(
        f"Object.defineProperty(navigator, 'platform', {{ get: () => '{platform}' }})"
    )
    view.open(shop)
    view.place("#total")
    send = view.card.get_by_role("button", name="Send")
    assert send.get_attribute("title") == f"Send ({keys})"
    view.page.keyboard.press("Escape")
    view.page.keyboard.press("?")
    dialog = view.page.get_by_role("dialog", name="Name and keys")
    dialog.get_by_text(keys, exact=True).wait_for()
    dialog.get_by_text(f"{shift}-click to add").wait_for()


def test_a_page_may_say_its_theme_and_a_person_another(view, hub, site):
    view.page.emulate_media(color_scheme="light")
    theme = "document.querySelector('pinbox-toolbar').getAttribute('data-pb')"
    by_script = site.put("/", SHOP.replace("__TOOLBAR__", tag(hub, theme="dark")))
    element = (
        f'<pinbox-toolbar data-pb=dark hub="{hub.url}" token="{hub.page_token}"></pinbox-toolbar>'
    )
    module = f'<script type=module crossorigin src="{hub.url}/toolbar/toolbar.js"></script>'
    by_element = site.put("/element", SHOP.replace("__TOOLBAR__", element + module))
    for url in (by_script, by_element):
        view.open(url)
        assert view.page.evaluate(theme) == "dark"
        view.page.emulate_media(color_scheme="dark")
        view.page.emulate_media(color_scheme="light")
        assert view.page.evaluate(theme) == "dark", "the system does not change what the page says"
        view.page.keyboard.press("d")
        assert view.page.evaluate(theme) == "light"
        view.page.reload()
        view.bar.wait_for()
        assert view.page.evaluate(theme) == "light", "the person's choice stays"


MOTION = re.compile(r"animation:\s*([\w-]+) ([\d.]+)(m?s) (\S+?)(?: (\d+))?;")


def test_every_motion_is_short_and_of_one_kind():
    styles = "".join((FOLDER / name).read_text() for name in ("style.js", "more.js"))
    assert not re.search(r"transition|infinite", styles)
    found = MOTION.findall(styles)
    assert len(found) == len(re.findall(r"animation:", styles))
    for name, number, unit, easing, count in found:
        took = float(number) * (1 if unit == "ms" else 1000)
        assert easing == "var(--ease)"
        # What waits may go on for a while; it blocks nothing and ends by itself.
        assert took <= 180 or (name == "wait" and took * int(count) <= 5_000)
    frames = re.findall(r"@keyframes [\w-]+ \{ \w+%? \{ ([^}]*)\} \}", styles)
    assert len(frames) == styles.count("@keyframes")
    for body in frames:
        assert set(re.findall(r"([\w-]+):", body)) <= {"opacity", "transform"}


def test_the_bar_keeps_its_width_whatever_happens(view, hub, shop):
    view.open(shop)
    width = view.bar.bounding_box()["width"]
    assert (width <= 320, view.bar.bounding_box()["height"]) == (True, 44)
    button = view.bar.get_by_role("button", name="waiting for you").bounding_box()
    for i in range(12):
        pin = hub.pin(f"pin {i}", target={"url": shop, "selector": "#total"})
        hub.says(pin["id"], "answer")
    view.wait(
        lambda: (
            "12 waiting"
            in (
                view.bar.get_by_role("button", name="waiting for you").get_attribute("aria-label")
                or ""
            )
        )
    )
    assert view.bar.bounding_box()["width"] == width
    assert view.bar.get_by_role("button", name="waiting for you").bounding_box() == button
    view.bar.get_by_role("button", name="Pin", exact=True).click()
    assert view.bar.bounding_box()["width"] == width
    view.page.keyboard.press("Escape")
    view.page.route("**/pins", lambda route: route.abort())
    view.place("#title")
    view.page.keyboard.type("not sent")
    view.send()
    view.page.keyboard.press("Escape")
    view.page.get_by_text("1 not sent yet").wait_for()
    assert view.bar.bounding_box()["width"] == width
    assert view.bar.get_by_role("button", name="waiting for you").bounding_box() == button


#: The dot is where the element is now.
AT = """() => { const dot = document.querySelector("pinbox-toolbar").shadowRoot.querySelector(".dot").getBoundingClientRect();
  const b = document.getElementById("at").getBoundingClientRect();
  return Math.abs(dot.x + 4 - b.x - b.width / 2) < 1 && Math.abs(dot.y + 4 - b.y - b.height / 2) < 1 }"""
PLACES = [(x, y) for x in (0, 30, 65, 85) for y in (0, 35, 90)]
#: Nothing of the toolbar moves any more.
STILL = "() => document.querySelector('pinbox-toolbar').shadowRoot.getAnimations({ subtree: true }).length === 0"


@in_every_look
def test_a_card_is_off_its_element_off_its_chip_off_the_bar_and_inside_the_window(view, hub, site):
    page = view.page
    size = page.viewport_size
    body = '<div id=at style="position:absolute;width:120px;height:60px;background:#ccc">x</div>'
    url = site.put("/at", f"<!doctype html><body>{body}{tag(hub)}")
    hub.pin("A pin " * 30, target={"url": url, "selector": "#at"})
    view.open(url)
    view.chips.first.wait_for()
    for x, y in PLACES:
        page.evaluate(
            "([x, y]) => { const s = document.getElementById('at').style;"
            " s.left = `calc((100% - 120px) * ${x} / 85)`; s.top = `calc((100vh - 64px) * ${y} / 90)` }",
            [x, y],
        )  # fmt: skip
        page.wait_for_function(AT)
        view.chips.first.click()
        page.wait_for_function(STILL)
        card, at, bar = (
            view.card.bounding_box(), page.locator("#at").bounding_box(), view.bar.bounding_box()
        )  # fmt: skip
        chip = view.chips.first.bounding_box()
        width, height = size["width"], size["height"]
        where = (size, x, y, card, at)
        assert min(card["x"], card["y"]) >= 8, where
        assert card["x"] + card["width"] <= width - 8, where
        assert card["y"] + card["height"] <= height - 8, where
        assert not meet(card, bar), where
        free = max(at["x"], width - at["x"] - 120, at["y"], height - at["y"] - 60)
        assert not meet(card, chip), where
        if free >= 360 + 80:  # the bar and the chip take their part
            assert not meet(card, at), where
        assert page.locator("pinbox-toolbar .frame:not([hidden])").count() == 1
        page.keyboard.press("Escape")


def meet(a, b) -> bool:
    return (
        a["x"] < b["x"] + b["width"] and b["x"] < a["x"] + a["width"]
        and a["y"] < b["y"] + b["height"] and b["y"] < a["y"] + a["height"]
    )  # fmt: skip


def test_the_dot_is_where_it_was_clicked_and_close_chips_fan_out(view, hub, shop):
    view.open(shop)
    box = view.page.locator("button.pay").bounding_box()
    x, y = round(box["x"]) + 20, round(box["y"]) + 20  # a click is at a whole pixel
    for i in range(3):
        view.bar.get_by_role("button", name="Pin", exact=True).click()
        view.page.mouse.click(x + i, y)
        view.page.keyboard.type(f"pin {i}")
        view.send()
        view.page.get_by_role("dialog", name=f"Pin {i + 1}").wait_for()
        view.page.keyboard.press("Escape")
    dots = [dot.bounding_box() for dot in view.page.locator("pinbox-toolbar .dot").all()]
    assert sorted(dot["x"] + 4 - x for dot in dots) == pytest.approx([0, 1, 2], abs=0.11)
    chips = [chip.bounding_box() for chip in view.chips.all()]
    assert not any(meet(a, b) for a in chips for b in chips if a is not b)


def test_many_pins_on_one_spot_become_one_chip_with_their_count(view, hub, shop):
    for i in range(12):
        hub.pin(f"pin {i}", target={"url": shop, "selector": "#total"})
    view.open(shop)
    view.wait(lambda: view.page.locator("pinbox-toolbar [data-more]").count() == 1)
    shown = [chip.bounding_box() for chip in view.chips.all() if chip.is_visible()]
    assert len(shown) < 12
    assert not any(meet(a, b) for a in shown for b in shown if a is not b)


@in_every_look
def test_reduced_motion_stands_still_and_the_usual_one_is_short(view, browser, hub, shop):
    seen = """() => document.querySelector("pinbox-toolbar").shadowRoot.getAnimations({ subtree: true })
      .map((a) => [a.effect.getComputedTiming().endTime,
        Object.keys(a.effect.getKeyframes()[0]).filter((k) => !["offset", "computedOffset", "easing", "composite"].includes(k)).sort()])"""
    view.open(shop)
    view.bar.get_by_role("button", name="Pinbox: Connected").wait_for()  # its lamp has stopped
    view.place("#total")
    for end, names in view.page.evaluate(seen):
        assert end <= 180
        assert set(names) <= {"opacity", "transform"}
    view.page.emulate_media(reduced_motion="reduce")
    view.page.keyboard.press("Escape")
    view.place("#total")
    assert view.page.evaluate(seen) == []


def test_it_moves_out_of_the_way_of_the_page_s_own_bar_and_remembers_its_corner(view, hub, site):
    bar = '<footer style="position:fixed;bottom:0;left:0;right:0;height:56px">own bar</footer>'
    url = site.put("/fixed", f"<!doctype html><body><p>text</p>{bar}{tag(hub)}")
    view.open(url)
    view.wait(lambda: view.bar.bounding_box()["y"] + 44 <= 800 - 56)
    grip = view.bar.get_by_role("button", name="Pinbox: Connected").bounding_box()
    view.page.mouse.move(grip["x"] + 10, grip["y"] + 10)
    view.page.mouse.down()
    view.page.mouse.move(1200, 100, steps=4)
    view.page.mouse.up()
    view.wait(lambda: view.bar.bounding_box()["x"] > 900 and view.bar.bounding_box()["y"] < 60)
    view.page.reload()
    view.bar.wait_for()
    view.wait(lambda: view.bar.bounding_box()["x"] > 900 and view.bar.bounding_box()["y"] < 60)


def test_german_readers_read_german(browser, hub, site):
    url = site.put("/", SHOP.replace("__TOOLBAR__", tag(hub).replace(' data-lang="en"', "")))
    context = browser.new_context(viewport=WIDE, locale="de-DE")
    page = context.new_page()
    page.goto(url)
    page.get_by_role("button", name="Eingang, 0 warten auf dich").wait_for()
    context.close()


def test_every_word_has_its_german():
    words = {
        name: set(re.findall(r"^  (\w+): \"", (FOLDER / f"{name}.js").read_text(), re.MULTILINE))
        for name in ("texts", "settings", "menu", "inbox", "de")
    }
    assert words["texts"] | words["settings"] | words["menu"] | words["inbox"] == words["de"]
