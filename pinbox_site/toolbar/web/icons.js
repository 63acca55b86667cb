// Icons and the marks of the states, drawn as paths: no font, no image, no request.

import { h } from "./dom.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./dom.js").VNode} VNode */

// 16 × 16, a stroke of 1.5
const PATHS = {
  pin: "M8 1.75v3M8 11.25v3M1.75 8h3M11.25 8h3M8 8h.01M12.25 8a4.25 4.25 0 1 1-8.5 0 4.25 4.25 0 0 1 8.5 0Z",
  inbox: "M2 9.25 4 3h8l2 6.25V13H2V9.25Zm0 0h3.5c.2 1.4 1.1 2.1 2.5 2.1s2.3-.7 2.5-2.1H14",
  more: "M3.25 8h.01M8 8h.01M12.75 8h.01",
  small: "M4 11.5h8",
  close: "m4 4 8 8m0-8-8 8",
  copy: "M6 5.5h7.25v7.75H6zM10 5.5V2.75H2.75v7.75H6",
  check: "m3 8.5 3.25 3.25L13 5",
  camera: "M2 5h2.75l1-1.75h4.5l1 1.75H14v8H2V5Zm8.25 3.75a2.25 2.25 0 1 1-4.5 0 2.25 2.25 0 0 1 4.5 0Z",
  move: "M8 2v12M2 8h12M6.25 3.75 8 2l1.75 1.75M6.25 12.25 8 14l1.75-1.75M3.75 6.25 2 8l1.75 1.75M12.25 6.25 14 8l-1.75 1.75",
  send: "M8 13V3M3.75 7.25 8 3l4.25 4.25",
  search: "m10.5 10.5 3.25 3.25M12 7A5 5 0 1 1 2 7a5 5 0 0 1 10 0Z",
  out: "M6 3H3v10h10v-3M9 3h4v4M13 3 7 9",
  sun: "M8 1.5v1.25M8 13.25v1.25M1.5 8h1.25M13.25 8h1.25M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9M10.75 8a2.75 2.75 0 1 1-5.5 0 2.75 2.75 0 0 1 5.5 0Z",
  moon: "M13.25 9.5A5.75 5.75 0 0 1 6.5 2.75a5.5 5.5 0 1 0 6.75 6.75Z",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8Zm8.25 0a1.75 1.75 0 1 1-3.5 0 1.75 1.75 0 0 1 3.5 0Z",
  keys: "M1.75 4h12.5v8H1.75zM4.5 6.5h.01M7 6.5h.01M9.5 6.5h.01M11.75 6.5h.01M5 9.5h6",
  again: "M3 8a5 5 0 1 0 1.6-3.65M3 2.5v3h3",
};
/** @typedef {keyof typeof PATHS} IconName */

/** @param {IconName} name @returns {VNode} */
export function icon(name) {
  return h(
    "svg.icon",
    { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", focusable: "false" },
    h("path", { d: PATHS[name], fill: "none", stroke: "currentColor", "stroke-width": name === "more" ? 2.4 : 1.5, "stroke-linecap": "round", "stroke-linejoin": "round" }),
  );
}

/**
 * A button that is an icon alone.
 * @param {IconName} name @param {string} label @param {() => void} click @param {import("./dom.js").Props} [props]
 */
export function iconButton(name, label, click, props) {
  return h("button.act.icon-only", { key: name, "aria-label": label, title: label, on: { click }, ...props }, icon(name));
}

/** The drop of Pinbox; the ring around its eye says how the hub is reached. @returns {VNode} */
export function drop() {
  return h(
    "svg.drop",
    { viewBox: "0 0 16 16", width: 18, height: 18, "aria-hidden": "true", focusable: "false" },
    h("path", { d: "M8 .8a5.7 5.7 0 0 0-5.7 5.7C2.3 10.3 8 15.6 8 15.6s5.7-5.3 5.7-9.1A5.7 5.7 0 0 0 8 .8Zm0 7.9a2.2 2.2 0 1 1 0-4.4 2.2 2.2 0 0 1 0 4.4Z", fill: "currentColor", "fill-rule": "evenodd" }),
  );
}

// 12 × 12: each is told from the others by its shape alone, also in grey.
/** @type {Record<State, VNode[]>} */
const MARKS = {
  draft: [h("path", { d: "M2 10l.6-2.6L8.3 1.7l2 2L4.6 9.4z", fill: "none", stroke: "currentColor", "stroke-width": 1.5, "stroke-linejoin": "round" })],
  unsent: [h("circle", { cx: 6, cy: 6, r: 4.5, fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-dasharray": "2.2 1.9" })],
  failed: [h("path", { d: "M6 .9 11.6 11H.4z", fill: "currentColor" }), h("path", { class: "cut", d: "M6 4.4v3.1M6 9.15v.01", fill: "none", "stroke-width": 1.5, "stroke-linecap": "round" })],
  open: [h("circle", { cx: 6, cy: 6, r: 4.5, fill: "none", stroke: "currentColor", "stroke-width": 1.8 })],
  with: [h("circle", { cx: 6, cy: 6, r: 4.5, fill: "none", stroke: "currentColor", "stroke-width": 1.8 }), h("path", { d: "M6 1.5a4.5 4.5 0 0 1 0 9z", fill: "currentColor" })],
  answered: [h("path", { d: "M1 1.5h10v7H6.5L3.7 11.3V8.5H1z", fill: "currentColor", "stroke-linejoin": "round" })],
  verify: [h("path", { d: "M6 .5 11.5 6 6 11.5.5 6z", fill: "currentColor" }), h("circle", { class: "hole", cx: 6, cy: 6, r: 1.7 })],
  closed: [h("circle", { cx: 6, cy: 6, r: 5.3, fill: "currentColor" }), h("path", { class: "cut", d: "m3.5 6.1 1.8 1.8 3.3-3.6", fill: "none", "stroke-width": 1.5, "stroke-linecap": "round", "stroke-linejoin": "round" })],
};

/** @param {State} state @returns {VNode} */
export function mark(state) {
  return h("svg.mark", { key: state, class: `is-${state}`, viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true", focusable: "false" }, ...MARKS[state]);
}
