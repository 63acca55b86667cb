// Pointing: a shield over the page while an element is chosen, by pointer, by touch, by keys. The page below
// feels nothing of it: no hover, no click, no selection.

import { h, setHidden, setStyle } from "./dom.js";
import { icon } from "./icons.js";
import { targetOf } from "./capture.js";
import { boxOf, crumbsOf, insideOf, parentOf } from "./selector.js";
import { randomId } from "./memory.js";
import { say } from "./texts.js";

/** @typedef {import("./toolbar.js").App} App */
/** @typedef {import("./types.js").Point} Point */
/** @typedef {import("./types.js").Draft} Draft */
/** @typedef {import("./dom.js").VNode} VNode */
/** @typedef {{ x: number, y: number, width: number, height: number }} Box */

/** Pixels an arrow key moves the reticle or a frame, and with Shift. */
const STEP = 2;
const BIG_STEP = 20;
/** Milliseconds in which further clicks on the same spot belong to the one that placed. */
const TAIL_MS = 500;

/** A rectangle of two strokes, a light one under a dark one: it shows on any page. Moved by transform alone. @param {string} key @param {App} app @param {string} [kind] @param {VNode | null} [label] */
export function frame(key, app, kind = "", label = null) {
  const edges = ["i.h.light", "i.v.light", "i.h.light", "i.v.light", "i.h", "i.v", "i.h", "i.v"];
  return h(`div.frame.${kind || "is-aim"}`, { key, "aria-hidden": "true", ref: (/** @type {HTMLElement} */ node) => app.nodes.set(key, node) }, ...edges.map((edge, i) => h(edge, { key: i })), label);
}

/** @param {HTMLElement | undefined} node @param {Box | null} box in the coordinates of the window */
export function setFrame(node, box) {
  if (!node) return;
  setHidden(node, !box);
  if (!box) return;
  const { x, y, width, height } = box;
  for (let i = 0; i < 8; i++) {
    // The light stroke is 4 pixels thick, the dark one 2 in its middle.
    const out = i < 4 ? 2 : 1;
    const edge = /** @type {HTMLElement} */ (node.children[i]);
    const left = x - out + (i % 4 === 3 ? width : 0);
    const top = y - out + (i % 4 === 2 ? height : 0);
    const scale = i % 2 ? `scaleY(${(height + 2 * out) / 100})` : `scaleX(${(width + 2 * out) / 100})`;
    setStyle(edge, "transform", `translate(${left}px, ${top}px) ${scale}`);
  }
  const number = /** @type {HTMLElement | undefined} */ (node.children[8]);
  if (number) number.style.transform = `translate(${x - 8}px, ${y - 10}px)`;
}

export class Picker {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {"off" | "fine" | "reticle" | "move"} */
    this.mode = "off";
    /** @type {Point | null} */
    this.point = null;
    /** @type {Element | null} */
    this.element = null;
    /** @type {{ element: Element, point: Point | undefined }[]} */
    this.added = [];
    this.isWalking = false;
    /** @type {{ at: number, point: Point | null }} */
    this.placed = { at: -1e9, point: null };
    /** @type {Draft | null} the draft whose frame is being moved */
    this.moving = null;
    this.shift = { x: 0, y: 0 };
    /** @type {{ x: number, y: number, from: Point } | null} */
    this.drag = null;
  }

  /** Whether an event is the second half of the double click that placed. @param {MouseEvent} event */
  isTail(event) {
    const { at, point } = this.placed;
    return performance.now() - at < TAIL_MS && point !== null && Math.hypot(event.clientX - point.x, event.clientY - point.y) < 5;
  }

  get isOn() {
    return this.mode !== "off";
  }

  /** @param {boolean} [byKey] */
  start(byKey = false) {
    const isCoarse = matchMedia("(pointer: coarse)").matches || innerWidth < 720;
    this.mode = isCoarse ? "reticle" : "fine";
    this.added = [];
    this.element = null;
    this.point = isCoarse ? { x: innerWidth / 2, y: innerHeight / 2 } : this.app.pointer;
    // Where no pointer was seen yet, the keyboard aims from the start.
    this.isWalking = !isCoarse && (byKey || !this.point);
    if (this.isWalking) {
      const focused = document.activeElement;
      this.element = focused && focused !== document.body && focused !== this.app.host ? focused : this.#at({ x: innerWidth / 2, y: innerHeight / 3 });
    }
    this.app.draw();
    if (byKey) this.app.nodes.get(isCoarse ? "reticle" : "shield")?.focus({ preventScroll: true });
    this.app.announce(say("placing_said"));
    this.app.layer.schedule();
  }

  /** @param {Draft} draft */
  startMove(draft) {
    this.mode = "move";
    this.moving = draft;
    this.shift = draft.move ? { x: draft.move.to.x - draft.move.from.x, y: draft.move.to.y - draft.move.from.y } : { x: 0, y: 0 };
    this.app.draw();
    this.app.nodes.get("shield")?.focus({ preventScroll: true });
    this.app.announce(say("move_hint"));
    this.app.layer.schedule();
  }

  stop() {
    this.mode = "off";
    this.added = [];
    this.element = null;
    this.moving = null;
    this.drag = null;
    this.app.draw();
  }

  /** @param {Point} point @returns {Element | null} the deepest element of the page there */
  #at(point) {
    /** @type {Document | ShadowRoot} */
    let root = document;
    /** @type {Element | null} */
    let found = null;
    let { x, y } = point;
    for (;;) {
      /** @type {Document | ShadowRoot} */
      const inside = root;
      /** @type {Element | undefined} */
      const next = inside.elementsFromPoint(x, y).find((element) => element !== this.app.host && element.getRootNode() === inside);
      if (!next || next === found) return found;
      found = next;
      const deeper = insideOf(next);
      if (!deeper) return deaf(next, x, y);
      root = deeper;
      if (next.shadowRoot) continue;
      const frame = boxOf(next);
      x = point.x - frame.x - next.clientLeft;
      y = point.y - frame.y - next.clientTop;
    }
  }

  // --- what the shield and the keys do ------------------------------------------------------------

  /** @param {PointerEvent} event */
  #move = (event) => {
    this.point = { x: event.clientX, y: event.clientY };
    if (this.mode === "move") {
      if (this.drag) this.#shiftTo({ x: this.drag.from.x + event.clientX - this.drag.x, y: this.drag.from.y + event.clientY - this.drag.y });
      return;
    }
    if (this.mode === "fine") this.isWalking = false;
    this.app.layer.schedule();
  };

  /** @param {MouseEvent} event */
  #click = (event) => {
    event.preventDefault();
    if (this.mode === "move") return;
    if (this.mode === "reticle") {
      this.#reticleTo({ x: event.clientX, y: event.clientY });
      return;
    }
    const point = { x: event.clientX, y: event.clientY };
    const element = this.#at(point);
    if (!element) return;
    if (event.shiftKey) this.#add(element, point);
    else this.#commit(element, point);
  };

  /** @param {KeyboardEvent} event @returns {boolean} whether the key was for the picker */
  key(event) {
    const { key } = event;
    if (key === "Escape") {
      const draft = this.moving;
      this.stop();
      if (draft) this.app.openDraft(draft.id);
      return true;
    }
    const step = event.shiftKey ? BIG_STEP : STEP;
    const way = { ArrowUp: { x: 0, y: -1 }, ArrowDown: { x: 0, y: 1 }, ArrowLeft: { x: -1, y: 0 }, ArrowRight: { x: 1, y: 0 } }[key];
    if (this.mode === "move") {
      if (way) this.#shiftTo({ x: this.shift.x + way.x * step, y: this.shift.y + way.y * step });
      else if (key === "Enter") this.#endMove();
      else return false;
      return true;
    }
    // A focused button of ours keeps its Enter.
    if (key === "Enter" && event.composedPath()[0] instanceof HTMLButtonElement && event.composedPath().includes(this.app.host)) return false;
    if (this.mode === "reticle") {
      const at = this.point ?? { x: innerWidth / 2, y: innerHeight / 2 };
      if (way) this.#reticleTo({ x: at.x + way.x * step, y: at.y + way.y * step });
      else if (key === "Enter") this.#here(event.shiftKey);
      else return false;
      return true;
    }
    if (way) {
      this.#walk(key);
      return true;
    }
    if (key === "Enter") {
      if (!this.element) return true;
      const point = this.isWalking ? undefined : (this.point ?? undefined);
      if (event.shiftKey) this.#add(this.element, point);
      else this.#commit(this.element, point);
      return true;
    }
    return false;
  }

  /** @param {string} key an arrow */
  #walk(key) {
    const from = this.element ?? this.#at({ x: innerWidth / 2, y: innerHeight / 3 }) ?? document.body;
    this.isWalking = true;
    /** @param {Element | null | undefined} element */
    const isShown = (element) => element && element !== this.app.host && element.getClientRects().length > 0;
    const along = (/** @type {Element} */ element, /** @type {"nextElementSibling" | "previousElementSibling"} */ side) => {
      let next = element[side];
      while (next && !isShown(next)) next = next[side];
      return next;
    };
    /** @type {Element | null | undefined} */
    let to = null;
    if (key === "ArrowUp") to = parentOf(from);
    else if (key === "ArrowDown") {
      const first = (insideOf(from) ?? from).firstElementChild;
      to = first && !isShown(first) ? along(first, "nextElementSibling") : first;
    } else {
      const side = key === "ArrowRight" ? "nextElementSibling" : "previousElementSibling";
      // At the end of a group it goes on beside the group.
      for (let at = /** @type {Element | null} */ (from); at && !to; at = parentOf(at)) to = along(at, side);
    }
    if (!to || to === document.documentElement) return;
    this.element = to;
    to.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.app.announce(crumbsOf(to).join(", "));
    this.app.layer.schedule();
  }

  /** @param {Element} element @param {Point | undefined} point */
  #add(element, point) {
    if (!this.added.some((known) => known.element === element)) this.added.push({ element, point });
    this.app.announce(say("added", { what: crumbsOf(element).pop() ?? "" }));
    this.app.draw();
    this.app.layer.schedule();
  }

  /** @param {Element} element @param {Point | undefined} point */
  #commit(element, point) {
    const others = this.added.filter((known) => known.element !== element);
    const target = targetOf(element, point);
    if (others.length) target.targets = others.map((other) => targetOf(other.element, other.point));
    const elements = [element, ...others.map((other) => other.element)];
    this.mode = "off";
    this.added = [];
    this.element = null;
    this.placed = { at: performance.now(), point: this.point };
    this.app.newDraft({ id: `draft-${randomId(10)}`, text: "", target, at: Date.now() }, elements);
  }

  /** @param {boolean} isMore */
  #here(isMore) {
    const point = this.point;
    const element = point && this.#at(point);
    if (!point || !element) return;
    if (isMore) this.#add(element, point);
    else this.#commit(element, point);
  }

  /** @param {Point} point */
  #reticleTo(point) {
    this.point = { x: Math.min(innerWidth - 1, Math.max(1, point.x)), y: Math.min(innerHeight - 1, Math.max(1, point.y)) };
    this.app.layer.schedule();
  }

  /** @param {Point} shift */
  #shiftTo(shift) {
    this.shift = { x: Math.round(shift.x), y: Math.round(shift.y) };
    this.app.layer.schedule();
  }

  #endMove() {
    const draft = this.moving;
    if (!draft) return;
    const from = draft.target.rect;
    if (from && (this.shift.x || this.shift.y)) draft.move = { from, to: { ...from, x: from.x + this.shift.x, y: from.y + this.shift.y } };
    else delete draft.move;
    this.app.store.keepDraft(draft);
    this.mode = "off";
    this.moving = null;
    this.app.openDraft(draft.id);
  }

  /** A page that scrolls in a box of its own still scrolls. @param {WheelEvent} event */
  #wheel = (event) => {
    for (let at = this.#at({ x: event.clientX, y: event.clientY }); at; at = parentOf(at)) {
      const isDown = event.deltaY > 0;
      if (at === document.scrollingElement || at === document.body) return;
      if (at.scrollHeight <= at.clientHeight || !/auto|scroll/.test(getComputedStyle(at).overflowY)) continue;
      if (isDown ? at.scrollTop + at.clientHeight < at.scrollHeight - 1 : at.scrollTop > 0) {
        at.scrollBy({ top: event.deltaY, behavior: "instant" });
        return;
      }
    }
  };

  // --- drawing ------------------------------------------------------------------------------------

  /** @returns {VNode[]} */
  view() {
    if (!this.isOn) return [];
    const { app } = this;
    const still = (/** @type {Event} */ event) => event.preventDefault();
    const startDrag = (/** @type {PointerEvent} */ event, /** @type {Point} */ from) => {
      event.preventDefault();
      /** @type {Element} */ (event.composedPath()[0]).setPointerCapture(event.pointerId);
      this.drag = { x: event.clientX, y: event.clientY, from };
    };
    const endDrag = () => {
      const wasMove = this.drag && this.mode === "move";
      this.drag = null;
      if (wasMove) this.#endMove();
    };
    const shield = h("div.shield", {
      key: "shield",
      tabindex: -1,
      role: "application",
      "aria-label": say(this.mode === "move" ? "move_hint" : "placing_said"),
      ref: (/** @type {HTMLElement} */ node) => app.nodes.set("shield", node),
      on: {
        pointermove: this.#move,
        click: this.#click,
        wheel: this.#wheel,
        mousedown: still,
        contextmenu: still,
        selectstart: still,
        pointerdown: (/** @type {PointerEvent} */ event) => (this.mode === "move" ? startDrag(event, { ...this.shift }) : undefined),
        pointerup: endDrag,
      },
    });
    const views = [shield];
    this.added.forEach((_, i) => views.push(frame(`added-${i}`, app, "is-added", h("span.no", null, i + 1))));
    views.push(frame("aim", app, this.mode === "move" ? "is-added" : ""));
    if (this.mode !== "move") views.push(h("div.tag", { key: "tag", "aria-hidden": "true", ref: (/** @type {HTMLElement} */ node) => app.nodes.set("tag", node) }));
    if (this.mode === "reticle") {
      views.push(
        h("div.reticle", {
          key: "reticle",
          role: "slider",
          tabindex: 0,
          "aria-label": say("reticle"),
          "aria-valuenow": 0,
          "aria-valuetext": this.element ? crumbsOf(this.element).join(", ") : "",
          ref: (/** @type {HTMLElement} */ node) => app.nodes.set("reticle", node),
          on: {
            pointerdown: (/** @type {PointerEvent} */ event) => startDrag(event, { ...(this.point ?? { x: 0, y: 0 }) }),
            pointermove: (/** @type {PointerEvent} */ event) =>
              this.drag && this.#reticleTo({ x: this.drag.from.x + event.clientX - this.drag.x, y: this.drag.from.y + event.clientY - this.drag.y }),
            pointerup: endDrag,
            pointercancel: endDrag,
          },
        }),
        h(
          "div.aimbar",
          { key: "aimbar", role: "toolbar", "aria-label": say("placing") },
          h("button.act", { on: { click: () => this.stop() } }, say("cancel")),
          h("button.act.line", { on: { click: () => this.#here(true) } }, this.added.length ? `${say("add_here")} (${this.added.length})` : say("add_here")),
          h("button.act.solid", { on: { click: () => this.#here(false) } }, icon("pin"), say("pin_here")),
        ),
      );
    }
    return views;
  }

  /** Reads the page. Returns what to write. @returns {() => void} */
  measure() {
    if (!this.isOn) return () => {};
    const { app } = this;
    const added = this.added.map(({ element }) => boxOf(element));
    if (this.mode === "move") {
      const from = this.moving?.target.rect;
      const box = from ? { x: from.x - scrollX + this.shift.x, y: from.y - scrollY + this.shift.y, width: from.width, height: from.height } : null;
      return () => setFrame(app.nodes.get("aim"), box);
    }
    if (!this.isWalking && this.point) this.element = this.#at(this.point);
    const element = this.element;
    const box = element && boxOf(element);
    const tag = app.nodes.get("tag");
    const crumbs = element ? crumbsOf(element) : [];
    const width = innerWidth;
    const height = innerHeight;
    return () => {
      setFrame(app.nodes.get("aim"), box);
      added.forEach((rect, i) => setFrame(app.nodes.get(`added-${i}`), rect));
      const { point } = this;
      if (this.mode === "reticle" && point) app.nodes.get("reticle")?.style.setProperty("transform", `translate(${point.x}px, ${point.y}px)`);
      if (!tag) return;
      tag.hidden = !box;
      if (!box) return;
      const last = crumbs.pop() ?? "";
      tag.replaceChildren(...(crumbs.length ? [quiet(`${crumbs.join(" › ")} › `)] : []), last);
      // Above the element, else inside its top edge; never off the window.
      const y = box.y > 36 ? box.y - 34 : Math.min(height - 36, box.y + box.height + 8);
      const x = Math.max(8, Math.min(box.x, width - 8 - Math.min(420, 16 + (last.length + crumbs.join(" › ").length) * 7.4)));
      tag.style.transform = `translate(${Math.round(x)}px, ${Math.round(Math.max(8, y))}px)`;
    };
  }
}

/**
 * What takes no pointer, as a button that is switched off, is not what a point hits, and can be seen all the
 * same. The icon of a button that can be pressed is a part of it.
 * @param {Element} hit @param {number} x @param {number} y
 * @returns {Element} the deepest of those inside
 */
function deaf(hit, x, y) {
  if (hit.closest("a, button, [role=button]")) return hit;
  for (let at = hit.lastElementChild; at; at = at.previousElementSibling) {
    const { left, top, right, bottom } = at.getBoundingClientRect();
    if (x < left || x > right || y < top || y > bottom || getComputedStyle(at).pointerEvents !== "none") continue;
    if (at.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return deaf(at, x, y);
  }
  return hit;
}

/** @param {string} text */
function quiet(text) {
  const span = document.createElement("span");
  span.textContent = text;
  return span;
}

