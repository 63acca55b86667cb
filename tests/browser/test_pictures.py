"""Screenshots: asked for, cut to the element, private parts painted over, never at the cost of words."""

import json
import struct
import urllib.request

from .conftest import SHOP, tag


def test_a_screenshot_goes_along_and_is_shown_in_the_thread(view, hub, shop):
    view.open(shop)
    view.place(".item:nth-of-type(2)")
    view.page.keyboard.type("see the picture")
    view.card.get_by_role("button", name="Add a screenshot").click()
    view.card.get_by_role("img", name="Screenshot").wait_for()
    assert view.field.input_value() == "see the picture"
    view.send()
    view.wait(hub.pins)
    [pin] = hub.pins()
    [picture] = pin["attachments"]
    assert picture["contentType"] == "image/webp"
    # The element is about 210 wide; a little of what is around it is on the picture.
    assert 200 < picture["width"] < 400
    view.wait(
        lambda: view.page.evaluate("""() => {
        const img = document.querySelector("pinbox-toolbar").shadowRoot.querySelector("img");
        return img?.complete && img.src.includes("/media/") && img.naturalWidth }"""),
        "the picture is shown from the hub",
    )


def test_a_capture_that_fails_is_said_and_costs_no_pin(view, hub, site):
    colours = (
        "<style>h1 { color: oklch(0.6 0.2 30); background: color-mix(in oklab, red, blue) }</style>"
    )
    url = site.put(
        "/", SHOP.replace("</head>", colours + "</head>").replace("__TOOLBAR__", tag(hub))
    )
    view.page.add_init_script(
        "navigator.mediaDevices.getDisplayMedia = async () => { throw new Error('Permission denied') }"
    )
    view.open(url)
    view.place("h1")
    view.page.keyboard.type("still sent")
    view.card.get_by_role("button", name="Add a screenshot").click()
    view.card.get_by_text("No screenshot: Permission denied").wait_for()
    assert view.field.input_value() == "still sent"
    view.send()
    view.wait(hub.pins)
    assert "attachments" not in hub.pins()[0]


def test_a_capture_without_a_picture_ends(view, hub, shop):
    view.page.add_init_script(
        "navigator.mediaDevices.getDisplayMedia = async () => new MediaStream()"
    )
    view.open(shop)
    view.place("h1")
    view.card.get_by_role("button", name="Add a screenshot").click()
    view.card.get_by_text("No screenshot: the browser sends no picture").wait_for()
    view.page.keyboard.type("still written")
    assert view.field.input_value() == "still written"


def test_what_is_private_is_painted_over(view, hub, site):
    body = """<div id=at style="width:300px;height:100px;background:#fff">
      <p data-pinbox-private style="margin:0;width:300px;height:100px;background:#f00">secret</p></div>"""
    view.open(site.put("/", f"<!doctype html><body style='margin:0'>{body}{tag(hub)}"))
    colour = view.page.evaluate(
        """async () => {
      const { app } = document.querySelector("pinbox-toolbar");
      const url = await (await app.rest()).shoot(document.getElementById("at"), document.querySelector("pinbox-toolbar").shadowRoot.firstElementChild);
      const image = new Image(); image.src = url; await image.decode();
      const paper = new OffscreenCanvas(image.width, image.height).getContext("2d");
      paper.drawImage(image, 0, 0);
      return [...paper.getImageData(image.width / 2, image.height / 3, 1, 1).data] }"""
    )
    assert struct.pack("4B", *colour)
    red, green, blue, _ = colour
    assert max(red, green, blue) - min(red, green, blue) < 12, colour


def test_a_file_in_a_thread_can_be_fetched_from_a_page_under_localhost(view, hub, shop):
    """Which is another site than a hub under 127.0.0.1."""
    upload = urllib.request.Request(
        f"{hub.url}/attachments?kind=file",
        data=b"what the log said",
        headers={"Authorization": f"Bearer {hub.token}"},
    )
    with urllib.request.urlopen(upload, timeout=20) as answer:
        made = json.load(answer)["data"]["attachment"]
    url = shop.replace("127.0.0.1", "localhost")
    pin = hub.pin("see the log", target={"url": url, "selector": "#total"})
    hub.says(pin["id"], "here it is", attachments=[{"id": made["id"]}])
    view.open(url)
    view.chips.first.click()
    answers = []
    view.page.context.on("response", lambda answer: answers.append((answer.url, answer.status)))
    view.card.get_by_role("link", name="Attachment").click()
    view.wait(lambda: any("/media/" in address for address, _ in answers))
    assert [status for address, status in answers if "/media/" in address] == [200]
