"""Another toolbar, which speaks the protocol as docs/wire.md promises it and knows nothing else of us:
the calls it makes, in its order, with its headers, from a page on another port.
"""

import pytest

#: What such a toolbar does from its first call to the last verdict; every answer, and every frame.
LIFE = """async ([endpoint, token, cursor]) => {
  const consumer = "k3j9x0a1bz";
  const frames = [], waiting = [];
  const socket = new WebSocket(endpoint.replace("http", "ws") + "/ws", `pinbox.token.${token}`);
  socket.onmessage = ({ data }) => { frames.push(JSON.parse(data)); waiting.splice(0).forEach((go) => go()) };
  await new Promise((opened, failed) => Object.assign(socket, { onopen: opened, onerror: failed }));
  const seen = async (wanted) => {
    for (;;) {
      const found = frames.find(wanted);
      if (found) return found;
      await new Promise((go) => waiting.push(go));
    }
  };
  const ask = async (path, body, type = "application/json") => {
    const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "content-type": type }) };
    const answer = await fetch(endpoint + path, { method: body === undefined ? "GET" : "POST", headers, body });
    return { status: answer.status, ...(await answer.json()) };
  };
  const post = (path, body) => ask(path, JSON.stringify(body));

  socket.send(JSON.stringify({ type: "hello", protocol: 1, consumerId: consumer, lastSeq: cursor }));
  const catchUp = await seen((frame) => frame.type === "catch-up");
  const before = await ask("/pins");

  const paper = new OffscreenCanvas(40, 20);
  paper.getContext("2d").fillRect(0, 0, 40, 20);
  const picture = await paper.convertToBlob({ type: "image/webp", quality: 0.7 });
  const upload = await ask("/attachments?kind=screenshot", picture, "image/webp");
  const made = await post("/pins", {
    text: "Save button too small", kind: "note",
    target: { url: location.href, selector: "button.save", tag: "button", rect: { x: 12, y: 40, width: 80, height: 24 },
      spot: { x: 0.4, y: 0.5 }, fixed: false, context: { classes: ["save"], styles: { display: "block" }, textRuns: ["Save"] },
      targets: [{ selector: "button.cancel", tag: "button" }] },
    env: { viewport: { w: 1440, h: 900, dpr: 2 }, browser: navigator.userAgent, os: "MacIntel", colorScheme: "dark" },
    author: { userId: consumer }, attachments: [upload.data.attachment],
  });
  const { id } = made.data;
  const calls = { upload, made };
  calls.thread = await ask(`/pins/${id}/thread`);
  calls.reply = await post(`/pins/${id}/thread`, { role: "human", text: "Please" });
  calls.resolved = await post(`/pins/${id}/resolve`, { by: "human" });
  calls.again = await post(`/pins/${id}/resolve`, { by: "human" });
  calls.accepted = await post(`/pins/${id}/verify`, { outcome: "accepted" });
  calls.reopened = await post(`/pins/${id}/verify`, { outcome: "reopened" });
  const last = await seen((frame) => frame.type === "event" && frame.payload.verification?.outcome === "reopened");
  calls.after = await ask("/pins");
  socket.close();
  return { catchUp, before, calls, last, id, events: frames.filter((frame) => frame.type === "event") };
}"""


@pytest.mark.parametrize("token", ["token", "page_token"])
def test_a_toolbar_that_knows_only_the_protocol_works_with_this_hub(page, hub, site, token):
    cursor = hub.ask("/summary")["lastEventSeq"]
    old = hub.pin("from before")
    page.goto(site.put("/", "<!doctype html><button class=save>Save</button>"))
    told = page.evaluate(LIFE, [hub.url, getattr(hub, token), cursor])
    caught, calls = told["catchUp"], told["calls"]
    assert (caught["protocol"], caught["minProtocol"]) == (1, 1)
    assert [event["payload"]["id"] for event in caught["events"]] == [old["id"]]
    assert [event["seq"] for event in caught["events"]] == [caught["lastSeq"]]
    assert [pin["id"] for pin in told["before"]["data"]] == [old["id"]]
    assert {name: call["status"] for name, call in calls.items()} == {
        "upload": 201, "made": 201, "thread": 200, "reply": 201, "resolved": 200, "again": 409,
        "accepted": 200, "reopened": 200, "after": 200,
    }  # fmt: skip
    assert calls["again"]["error"]["code"] == "E_CONFLICT"
    made = calls["made"]["data"]
    assert (made["n"], made["status"], made["author"]["userId"]) == (
        old["n"] + 1,
        "open",
        "k3j9x0a1bz",
    )
    assert made["target"]["targets"][0]["selector"] == "button.cancel"
    assert made["attachments"][0]["id"] == calls["upload"]["data"]["attachment"]["id"]
    assert calls["thread"]["data"] == []
    assert [pin["id"] for pin in calls["after"]["data"]] == [told["id"], old["id"]]
    # Whoever wrote hears of it as well: only events move such a toolbar's cursor.
    assert [event["eventType"] for event in told["events"]] == [
        "pin.created", "thread.message", "pin.resolved", "pin.verified", "pin.verified",
    ]  # fmt: skip
    assert [event["seq"] for event in told["events"]] == [
        caught["lastSeq"] + i for i in range(1, 6)
    ]
    assert None not in [*made.values(), *made["target"].values(), *calls["reply"]["data"].values()]


REFUSED = """async ([endpoint]) => {
  const socket = new WebSocket(endpoint.replace("http", "ws") + "/ws", "pinbox.token.wrong");
  const code = await new Promise((closed) => { socket.onclose = (event) => closed(event.code) });
  const answer = await fetch(endpoint + "/pins", { headers: { authorization: "Bearer wrong" } });
  return [code, answer.status, (await answer.json()).error.code] }"""


def test_it_is_told_in_the_protocol_s_words_that_its_token_is_no_good(page, hub, site):
    page.goto(site.put("/", "<!doctype html><p>x</p>"))
    assert page.evaluate(REFUSED, [hub.url]) == [4401, 401, "E_INVALID_INPUT"]
