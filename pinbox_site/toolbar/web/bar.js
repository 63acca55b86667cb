// The bar, and the small round button it becomes.

import { h, setStyle } from "./dom.js";
import { drop, icon, iconButton, mark } from "./icons.js";
import { isYourTurn } from "./states.js";
import { say } from "./texts.js";

/** @typedef {import("./toolbar.js").App} App */
/** @typedef {import("./dom.js").VNode} VNode */
/** @typedef {{ x: "left" | "middle" | "right", y: "top" | "bottom" }} Dock */

/** Pixels a pointer may wander in a click. */
const CLICK_SLOP = 6;
const BAR_EDGE = 12;

/** How many pins wait for a person. @param {App} app */
export function yourTurn(app) {
  return app.store.list().filter((pin) => isYourTurn(app.store.state(pin))).length;
}

/** @param {App} app @returns {VNode[]} */
export function barView(app) {
  const { ui } = app;
  if (app.picker.isOn && app.picker.mode !== "fine") return [];
  const count = yourTurn(app);
  return [
    h(
      "div.dock",
      { key: "dock", class: ui.small ? "is-puck" : "", "data-x": ui.dock.x, "data-y": ui.dock.y, ref: (/** @type {HTMLElement} */ node) => app.nodes.set("dock", node) },
      ui.small ? puck(app, count) : bar(app, count),
      notice(app),
    ),
  ];
}

/** @param {App} app */
function lamp(app) {
  const kind = app.store.link === "live" ? "live" : app.store.link === "connecting" ? "connecting" : "off";
  return h("span.lamp", { key: "lamp", class: `is-${kind}` });
}

/** @param {App} app @param {number} count */
function bar(app, count) {
  const { ui, store } = app;
  const isPlacing = app.picker.mode === "fine";
  return h(
    "div.bar",
    { key: "bar", role: "toolbar", "aria-label": say("pinbox"), ref: (/** @type {HTMLElement} */ node) => stopAt(node, 0), on: { keydown: rove } },
    h(
      "button.act.grip",
      { key: "grip", "data-link": store.link, "aria-label": `${say("pinbox")}: ${say(`link_${store.link}`)}`, title: say(`link_${store.link}`), "aria-haspopup": "menu", "aria-expanded": ui.menu, on: { ...drag(app, () => app.toggleMenu()), keydown: (/** @type {KeyboardEvent} */ event) => moveByKey(app, event) } },
      drop(),
      lamp(app),
    ),
    h("button.act.solid.place", { key: "place", "aria-pressed": isPlacing, title: `${say(isPlacing ? "pin_stop" : "pin_hint")} (P)`, on: { click: (/** @type {MouseEvent} */ event) => (isPlacing ? app.picker.stop() : app.startPlacing(event.detail === 0)) } }, icon(isPlacing ? "close" : "pin"), say(isPlacing ? "cancel" : "pin")),
    h(
      "button.act.list",
      { key: "list", "aria-label": say("inbox_count", { n: count }), title: `${say("inbox")} (I)`, "aria-expanded": ui.inbox, on: { click: () => app.toggleInbox() } },
      icon("inbox"),
      h("span.count", { key: "count", class: count ? "some" : "" }, count > 99 ? "99+" : count),
    ),
    iconButton("more", say("more"), () => app.toggleMenu(), { "aria-haspopup": "menu", "aria-expanded": ui.menu }),
    iconButton("small", say("minimise"), () => app.minimize(), { title: `${say("minimise")} (M)` }),
  );
}

/** @param {App} app @param {number} count */
function puck(app, count) {
  return h(
    "button.puck",
    {
      key: "puck",
      "aria-label": `${say("pinbox")}. ${say("inbox_count", { n: count })}. ${say(`link_${app.store.link}`)}`,
      "aria-haspopup": "menu",
      "aria-expanded": app.ui.menu,
      ref: (/** @type {HTMLElement} */ node) => app.nodes.set("puck", node),
      on: drag(app, () => (app.more ? app.toggleMenu() : app.restore())),
    },
    drop(),
    lamp(app),
    count ? h("span.count.some", { key: "count" }, count > 99 ? "99+" : count) : null,
  );
}

/** What is wrong with the connection, beside the bar, in words. @param {App} app */
function notice(app) {
  const { store, ui } = app;
  const out = store.entries.length;
  const isBad = store.link !== "live" && store.link !== "connecting";
  if ((!isBad && !(out && store.link === "connecting")) || ui.card || ui.inbox || ui.menu || app.picker.isOn) return null;
  return h(
    "div.notice",
    { key: "notice", role: "status" },
    h(
      "div",
      null,
      h("span", { class: "is-failed" }, mark("failed")),
      h("span", null, [isBad ? say(/** @type {import("./texts.js").TextKey} */ (`short_${store.link}`)) : "", out ? say("waiting_out", { n: out }) : ""].filter(Boolean).join(" · ")),
      isBad && store.link !== "unset" && store.link !== "outdated" ? h("button.act", { on: { click: () => store.retryLink() } }, say("retry")) : null,
    ),
  );
}

/** Arrow keys go through the buttons of a toolbar; Tab leaves it. @param {KeyboardEvent} event */
function rove(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1, Home: -99, End: 99 }[event.key];
  const from = event.composedPath()[0];
  if (!step || event.altKey || event.shiftKey || event.ctrlKey || event.metaKey || !(from instanceof HTMLElement)) return;
  event.preventDefault();
  const bar = /** @type {HTMLElement} */ (from.closest("[role=toolbar]"));
  const buttons = [...bar.querySelectorAll("button")];
  const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (from));
  const to = Math.abs(step) > 1 ? (step > 0 ? buttons.length - 1 : 0) : (at + step + buttons.length) % buttons.length;
  stopAt(bar, to);
  buttons[to]?.focus();
}

/** The one button of the bar at which Tab stops; it stays that when the bar is drawn anew. @param {HTMLElement} bar @param {number} nth */
function stopAt(bar, nth) {
  bar.querySelectorAll("button").forEach((button, i) => (button.tabIndex = i === nth ? 0 : -1));
}

// --- dragging -------------------------------------------------------------------------------------

/** @param {App} app @param {() => void} clicked */
function drag(app, clicked) {
  return {
    pointerdown: (/** @type {PointerEvent} */ event) => {
      if (event.button !== 0) return;
      const node = /** @type {Element} */ (event.composedPath().find((target) => target instanceof HTMLButtonElement));
      node.setPointerCapture(event.pointerId);
      app.drag = { x: event.clientX, y: event.clientY, dx: 0, dy: 0, isDrag: false };
    },
    pointermove: (/** @type {PointerEvent} */ event) => {
      const { drag } = app;
      if (!drag) return;
      drag.dx = event.clientX - drag.x;
      drag.dy = event.clientY - drag.y;
      if (Math.hypot(drag.dx, drag.dy) > CLICK_SLOP) drag.isDrag = true;
      if (drag.isDrag) app.layer.schedule();
    },
    pointerup: (/** @type {PointerEvent} */ event) => {
      const { drag } = app;
      if (!drag?.isDrag) return;
      const third = (/** @type {number} */ at, /** @type {number} */ size) => (at < size / 3 ? "left" : at > (2 * size) / 3 ? "right" : "middle");
      app.dockAt({ x: third(event.clientX, innerWidth), y: event.clientY < innerHeight / 2 ? "top" : "bottom" });
    },
    pointercancel: () => {
      app.drag = null;
      app.layer.schedule();
    },
    click: () => {
      const wasDrag = app.drag?.isDrag;
      app.drag = null;
      if (!wasDrag) clicked();
      app.layer.schedule();
    },
  };
}

/** Shift and an arrow move the bar to the next place. @param {App} app @param {KeyboardEvent} event */
function moveByKey(app, event) {
  if (!event.shiftKey) return;
  const xs = /** @type {const} */ (["left", "middle", "right"]);
  const { x, y } = app.ui.dock;
  const at = xs.indexOf(x);
  /** @type {Record<string, Dock>} */
  const to = {
    ArrowLeft: { x: xs[Math.max(0, at - 1)] ?? x, y },
    ArrowRight: { x: xs[Math.min(2, at + 1)] ?? x, y },
    ArrowUp: { x, y: "top" },
    ArrowDown: { x, y: "bottom" },
  };
  const place = to[event.key];
  if (!place) return;
  event.preventDefault();
  app.dockAt(place);
}

/**
 * Where the bar stands, kept off what the page itself has fixed at that edge.
 * @param {App} app @returns {() => void}
 */
export function measureBar(app) {
  const dock = app.nodes.get("dock");
  if (!dock?.isConnected) return () => {};
  const { width, height } = dock.getBoundingClientRect();
  const { x, y } = app.ui.dock;
  const viewport = { width: document.documentElement.clientWidth || innerWidth, height: innerHeight };
  const safe = app.safe();
  const left = x === "left" ? BAR_EDGE + safe.left : x === "right" ? viewport.width - width - BAR_EDGE - safe.right : (viewport.width - width) / 2;
  const own = pageBar(app, left + width / 2, y, viewport.height);
  const top = y === "top" ? BAR_EDGE + Math.max(own, safe.top) : viewport.height - height - BAR_EDGE - Math.max(own, safe.bottom);
  const shift = app.drag?.isDrag ? app.drag : { dx: 0, dy: 0 };
  app.barBox = { x: left, y: top, width, height };
  return () => {
    // Not left and top: what is moved by a transform is no shift of the page's layout.
    setStyle(dock, "translate", `${Math.round(Math.max(4, left)) + shift.dx}px ${Math.round(top) + shift.dy}px`);
  };
}

/** Pixels of a fixed bar of the page at that edge; 0 when there is none. @param {App} app @param {number} x @param {"top" | "bottom"} y @param {number} height */
function pageBar(app, x, y, height) {
  const now = performance.now();
  const { pageBarSeen: seen } = app;
  if (now - seen.at < 300 && seen.y === y) return seen.size;
  let size = 0;
  for (const element of document.elementsFromPoint(Math.max(1, x), y === "top" ? 2 : height - 3)) {
    if (element === app.host) continue;
    for (let at = /** @type {Element | null} */ (element); at && at !== document.body; at = at.parentElement) {
      if (!/fixed|sticky/.test(getComputedStyle(at).position)) continue;
      const box = at.getBoundingClientRect();
      // A dialog is hit wherever its backdrop is.
      const isAtEdge = y === "top" ? box.top < 3 : box.bottom > height - 4;
      if (isAtEdge && box.height <= 120 && box.width > 120) size = y === "top" ? box.bottom : height - box.top;
      break;
    }
    break;
  }
  app.pageBarSeen = { at: now, y, size };
  return size;
}
