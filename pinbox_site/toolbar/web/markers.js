// The marks on the page: an exact dot, a needle, and a chip with the number that stands off the target.

import { h, setHidden, setStyle } from "./dom.js";
import { mark } from "./icons.js";
import { boxOf, find } from "./selector.js";
import { viewOf } from "./capture.js";
import { frame, setFrame } from "./place.js";
import { stateWord } from "./states.js";
import { say } from "./texts.js";

/** @typedef {import("./toolbar.js").App} App */
/** @typedef {import("./types.js").Pin} Pin */
/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").Target} Target */
/** @typedef {import("./types.js").Rect} Rect */
/** @typedef {import("./dom.js").VNode} VNode */
/** @typedef {{ id: string, n: string, state: State, target: Target, isActive: boolean, word: string }} Spot */
/** @typedef {{ left: number, top: number, width: number }} Chip */

/** Pixels by which chips stand off their dots, and their height. */
const OFF_X = 14;
const OFF_Y = 34;
const HEIGHT = 24;
/** Chips whose middles are nearer than this fan out. */
const NEAR = 28;
/** Chips that fan out beside each other; the rest are one chip with their count. */
const MOST_FANNED = 3;
/** Pixels that a chip is wider for saying how many more there are. */
const MORE_WIDTH = 26;
const MOST_MARKS = 200;
/** Milliseconds between two searches for elements that are not there. */
const SEARCH_MS = 150;

export class Markers {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Map<string, Element>} */
    this.elements = new Map();
    /** @type {Map<string, Element[]>} further elements of a pin */
    this.others = new Map();
    /** @type {Set<string>} pins whose element was looked for since the page changed */
    this.sought = new Set();
    /** @type {Map<string, { sign: string, view: VNode }>} how each was drawn */
    this.marks = new Map();
    /** @type {Spot[]} */
    this.spots = [];
    this.view_ = "";
    this.searchedAt = 0;
    this.isStale = true;
    /** @type {Map<string, Chip>} where the chips stand, for the card */
    this.chips = new Map();
  }

  /** Elements may have come or gone. */
  stale() {
    this.isStale = true;
  }

  /** @param {string} id @param {Element[]} elements */
  remember(id, elements) {
    const [first, ...rest] = elements;
    if (first) this.elements.set(id, first);
    this.others.set(id, rest);
  }

  /** @param {string} from @param {string} to a pin got its real id */
  rename(from, to) {
    const element = this.elements.get(from);
    if (element) this.remember(to, [element, ...(this.others.get(from) ?? [])]);
  }

  /** The element of a pin on this page, or null. @param {string} id @param {Target | undefined} target */
  element(id, target) {
    const known = this.elements.get(id);
    if (known?.isConnected) return known;
    this.elements.delete(id);
    if (!target || viewOf(target.url) !== viewOf(location.href)) return null;
    const found = find(target.selector);
    if (found) this.elements.set(id, found);
    return found;
  }

  /** @returns {VNode[]} */
  view() {
    const { app } = this;
    const here = viewOf(location.href);
    if (here !== this.view_) {
      this.view_ = here;
      this.elements.clear();
      for (const [id, elements] of app.draftElements) this.remember(id, elements);
      this.isStale = true;
    }
    /** @type {Spot[]} */
    const spots = [];
    const active = app.ui.card;
    if (!app.ui.hidden || active) {
      for (const draft of app.store.drafts.values()) {
        if (draft.id === active || (!app.ui.hidden && draft.text)) spots.push(spotOf(draft.id, "", "draft", draft.target, active === draft.id, say("state_draft")));
      }
      for (const pin of app.store.list()) {
        if (spots.length >= MOST_MARKS) break;
        const state = app.store.state(pin);
        if (pin.id !== active && (app.ui.hidden || state === "closed")) continue;
        if (!pin.target?.selector || viewOf(pin.target.url) !== here) continue;
        spots.push(spotOf(pin.id, pin.n ? String(pin.n) : "", state, pin.target, pin.id === active, stateWord(state, app.store.facts(pin))));
      }
    }
    this.spots = spots;
    /** @type {VNode[]} */
    const views = [];
    const current = spots.find((spot) => spot.isActive);
    if (current && !app.picker.isOn) {
      views.push(frame("active", app));
      current.target.targets?.forEach((_, i) => views.push(frame(`active-${i}`, app, "is-added", h("span.no", null, i + 2))));
      const pin = app.store.pin(current.id) ?? app.store.drafts.get(current.id);
      if (pin?.move) views.push(frame("moved", app, "is-added"));
    }
    /** @type {Map<string, { sign: string, view: VNode }>} */
    const marks = new Map();
    for (const spot of spots) {
      const sign = `${spot.n} ${spot.state} ${spot.word} ${spot.isActive}`;
      const known = this.marks.get(spot.id);
      const mark = known?.sign === sign ? known : { sign, view: this.#mark(spot) };
      marks.set(spot.id, mark);
      views.push(mark.view);
    }
    this.marks = marks;
    return views;
  }

  /** @param {Spot} spot @returns {VNode} */
  #mark(spot) {
    const { app } = this;
    const keep = (/** @type {string} */ name) => (/** @type {HTMLElement} */ node) => app.nodes.set(`${name}:${spot.id}`, node);
    const name = spot.n ? say("pin_n", { n: spot.n }) : say("pin_new");
    return h(
      "div.pin-mark",
      { key: spot.id, class: `is-${spot.state}`, ref: keep("spot") },
      h("div.needle", { ref: keep("needle") }),
      h("div.dot", { ref: keep("dot") }),
      h(
        "button.chip",
        {
          ref: keep("chip"),
          "aria-label": `${name}, ${spot.word}`,
          "aria-expanded": spot.isActive,
          "data-pin": spot.id,
          on: { click: () => app.toggleCard(spot.id) },
        },
        mark(spot.state),
        h("span", { ref: keep("count") }, spot.n || "…"),
      ),
    );
  }

  /** Reads where everything is. @returns {() => void} writes it */
  measure() {
    const { app } = this;
    const now = performance.now();
    const mayFind = this.isStale && now - this.searchedAt > SEARCH_MS;
    if (this.isStale && !mayFind) app.layer.schedule();
    if (mayFind) {
      this.isStale = false;
      this.searchedAt = now;
      this.sought.clear();
    }
    const places = this.spots.map((spot) => {
      const known = this.elements.get(spot.id);
      const element = known?.isConnected ? known : this.sought.has(spot.id) ? null : this.element(spot.id, spot.target);
      if (!element) this.sought.add(spot.id);
      const box = element && boxOf(element);
      return { spot, box: box && (box.width || box.height) ? box : null };
    });
    const active = this.spots.find((spot) => spot.isActive);
    const activeBox = places.find((place) => place.spot === active)?.box ?? null;
    const others = active ? this.#otherBoxes(active) : [];
    const move = active && (app.store.pin(active.id) ?? app.store.drafts.get(active.id))?.move?.to;
    const moved = move ? { ...move, x: move.x - scrollX, y: move.y - scrollY } : null;
    const width = innerWidth;
    const height = innerHeight;
    return () => {
      this.chips.clear();
      /** @type {(Chip & { count: number, lead: string, id: string })[]} */
      const taken = [];
      for (const { spot, box } of places) {
        const node = app.nodes.get(`spot:${spot.id}`);
        if (!node) continue;
        const x = box ? box.x + box.width * (spot.target.spot?.x ?? 0.5) : 0;
        const y = box ? box.y + box.height * (spot.target.spot?.y ?? 0.5) : 0;
        const isIn = box && x > -8 && y > -8 && x < width + 8 && y < height + 8;
        setHidden(node, !isIn);
        if (!isIn) continue;
        this.#put(spot, x, y, width, height, taken);
      }
      setFrame(app.nodes.get("active"), activeBox);
      others.forEach((box, i) => setFrame(app.nodes.get(`active-${i}`), box));
      if (moved) setFrame(app.nodes.get("moved"), moved);
    };
  }

  /** @param {Spot} spot @param {number} x @param {number} y @param {number} width @param {number} height @param {(Chip & { count: number, lead: string, id: string })[]} taken */
  #put(spot, x, y, width, height, taken) {
    const { app } = this;
    const size = 30 + 7.5 * Math.max(1, spot.n.length);
    let left = x + OFF_X + size > width - 4 ? x - OFF_X - size : x + OFF_X;
    let top = y - OFF_Y < 4 ? y + OFF_Y - HEIGHT : y - OFF_Y;
    // A chip under the bar could not be reached.
    const bar = app.barBox;
    if (left < bar.x + bar.width + 4 && left + size > bar.x - 4 && top < bar.y + bar.height + 4 && top + HEIGHT > bar.y - 4) {
      top = bar.y > height / 2 ? bar.y - HEIGHT - 8 : bar.y + bar.height + 8;
    }
    const chip = app.nodes.get(`chip:${spot.id}`);
    const needle = app.nodes.get(`needle:${spot.id}`);
    const step = left < x ? -1 : 1;
    /** @type {(Chip & { count: number, lead: string, id: string }) | undefined} */
    let lead;
    for (let i = 0; i < MOST_FANNED + 2; i++) {
      const near = taken.find((other) => Math.abs(other.top - top) < NEAR && left < other.left + other.width + 4 && other.left < left + size + 4);
      if (!near) break;
      lead ??= near;
      left = step > 0 ? near.left + near.width + 6 : near.left - size - 6;
    }
    const fanned = lead ? taken.filter((other) => other.lead === lead?.lead).length : 0;
    if (lead && (fanned >= MOST_FANNED || left < 4 || left + size + MORE_WIDTH > width - 4)) {
      // No room beside: the outermost chip says how many more there are, and the inbox has them all.
      const last = taken.findLast((other) => other.lead === lead?.lead) ?? lead;
      last.count += 1;
      last.width += last.count === 2 ? MORE_WIDTH : 0;
      app.nodes.get(`count:${last.id}`)?.setAttribute("data-more", `+${last.count - 1}`);
      if (step < 0 && last.count === 2) {
        last.left -= MORE_WIDTH;
        setStyle(app.nodes.get(`chip:${last.id}`), "margin-left", `${-MORE_WIDTH}px`);
      }
      setHidden(chip, true);
      setHidden(needle, true);
      this.chips.set(spot.id, last);
      setStyle(app.nodes.get(`spot:${spot.id}`), "transform", `translate(${x}px, ${y}px)`);
      return;
    }
    const more = app.nodes.get(`count:${spot.id}`);
    if (more?.hasAttribute("data-more")) more.removeAttribute("data-more");
    setHidden(chip, false);
    setStyle(chip, "margin-left", "0px");
    setHidden(needle, false);
    const place = { left, top, width: size, count: 1, lead: lead?.lead ?? spot.id, id: spot.id };
    taken.push(place);
    this.chips.set(spot.id, place);
    const toX = left + size / 2 < x ? left + size - 4 - x : left + 4 - x;
    const toY = top + HEIGHT / 2 < y ? top + HEIGHT - 2 - y : top + 2 - y;
    setStyle(app.nodes.get(`spot:${spot.id}`), "transform", `translate(${x}px, ${y}px)`);
    setStyle(chip, "transform", `translate(${tenths(left - x)}px, ${tenths(top - y)}px)`);
    setStyle(needle, "transform", `rotate(${tenths(Math.atan2(toY, toX) * 100) / 100}rad) scaleX(${tenths(Math.hypot(toX, toY)) / 100})`);
  }

  /** @param {Spot} spot @returns {import("./place.js").Box[]} */
  #otherBoxes(spot) {
    const known = this.others.get(spot.id);
    const elements = known?.length ? known : (spot.target.targets ?? []).map((target) => find(target.selector));
    return elements.map((element) => (element ? boxOf(element) : { x: -99, y: -99, width: 0, height: 0 }));
  }
}

/** @param {number} value */
function tenths(value) {
  return Math.round(value * 10) / 10;
}

/** @param {string} id @param {string} n @param {State} state @param {Target} target @param {boolean} isActive @param {string} word @returns {Spot} */
function spotOf(id, n, state, target, isActive, word) {
  return { id, n, state, target, isActive, word };
}
