// What a pin says of its element and of the page: never the content of a field, nothing that is private.

import { boxOf, isPrivate, parentOf, selectorOf } from "./selector.js";

/** @typedef {import("./types.js").Rect} Rect */
/** @typedef {import("./types.js").Point} Point */
/** @typedef {import("./types.js").Target} Target */
/** @typedef {import("./types.js").Context} Context */

const STYLES = ["display", "position", "font-size", "color", "background-color", "margin", "padding", "overflow"];
const MOST_RUNS = 40;
const LONGEST_RUN = 200;
const LONGEST_NEARBY = 160;
const LONGEST_SELECTED = 500;
const CLASSES_KEPT = 40;
const SKIPPED = "script, style, noscript, template, textarea, input, select, [data-pinbox-private], pinbox-toolbar";

/** @param {Element} element @returns {Rect} in the coordinates of the document */
export function rectOf(element) {
  const box = boxOf(element);
  return { x: round(box.x + scrollX), y: round(box.y + scrollY), width: round(box.width), height: round(box.height) };
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}

/**
 * @param {Element} element
 * @param {Point} [point] where it was clicked, in the coordinates of the window
 * @returns {Target}
 */
export function targetOf(element, point) {
  const box = boxOf(element);
  const selector = selectorOf(element);
  const anchor = around(element, "data-pb-anchor");
  const source = sourceOf(element);
  return {
    url: location.href,
    ...(selector ? { selector } : {}),
    tag: element.localName,
    rect: rectOf(element),
    spot: point && box.width && box.height ? { x: part(point.x - box.x, box.width), y: part(point.y - box.y, box.height) } : { x: 0.5, y: 0.5 },
    fixed: isFixed(element),
    ...(anchor ? { anchor } : {}),
    ...(source ? { source } : {}),
    context: contextOf(element),
  };
}

/** @param {number} offset @param {number} size @returns {number} 0 to 1 */
function part(offset, size) {
  return Math.round(Math.min(1, Math.max(0, offset / size)) * 10_000) / 10_000;
}

/** @param {Element} element @param {string} name @returns {string} the attribute of it or of the nearest around it */
function around(element, name) {
  for (let at = /** @type {Element | null} */ (element); at; at = parentOf(at)) {
    const value = at.getAttribute(name);
    if (value) return value;
  }
  return "";
}

/** @param {string} text @returns {string} without percent-encoding, as odd letters of a file's name have it */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** "templates/checkout.html:42" as the hub knows it. @param {Element} element @returns {Target["source"]} */
function sourceOf(element) {
  const mark = around(element, "data-pb-source");
  const found = /^(.+?)(?::(\d+))?$/.exec(decoded(mark));
  if (!found?.[1]) return undefined;
  return found[2] ? { file: found[1], line: Number(found[2]), via: "framework" } : { file: found[1], via: "framework" };
}

/** @param {Element} element */
function isFixed(element) {
  for (let at = /** @type {Element | null} */ (element); at; at = parentOf(at)) {
    if (getComputedStyle(at).position === "fixed") return true;
  }
  return false;
}

/** @param {Element} element @returns {Context} */
function contextOf(element) {
  const computed = getComputedStyle(element);
  /** @type {Context} */
  const context = {
    classes: [...element.classList].slice(0, CLASSES_KEPT),
    styles: Object.fromEntries(STYLES.map((name) => [name, computed.getPropertyValue(name)])),
  };
  if (isPrivate(element)) return context;
  const aria = element.getAttributeNames().filter((name) => name.startsWith("aria-"));
  if (aria.length) context.aria = Object.fromEntries(aria.map((name) => [name, (element.getAttribute(name) ?? "").slice(0, LONGEST_RUN)]));
  const runs = textRuns(element, MOST_RUNS + 1);
  if (runs.length && runs.length <= MOST_RUNS) context.textRuns = runs;
  const parent = parentOf(element);
  const nearby = textRuns(parent && !isPrivate(parent) ? parent : element, MOST_RUNS).join(" ").slice(0, LONGEST_NEARBY);
  if (nearby) context.nearbyText = nearby;
  const selected = selectedIn(element);
  if (selected) context.selectedText = selected;
  return context;
}

/** The texts of an element in reading order, without those of fields and of what is private. @param {Element} element @param {number} most */
function textRuns(element, most) {
  /** @type {string[]} */
  const runs = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, (node) => {
    if (node.nodeType === 1) return /** @type {Element} */ (node).matches(SKIPPED) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
    return node.nodeValue?.trim() ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP;
  });
  if (element.matches(SKIPPED)) return runs;
  while (runs.length < most && walker.nextNode()) {
    runs.push((walker.currentNode.nodeValue ?? "").replace(/\s+/g, " ").trim().slice(0, LONGEST_RUN));
  }
  return runs;
}

/** @param {Element} element */
function selectedIn(element) {
  const selection = element.ownerDocument.getSelection();
  if (!selection || selection.isCollapsed || selection.rangeCount === 0) return "";
  const range = selection.getRangeAt(0);
  if (!range.intersectsNode(element) || isPrivate(range.commonAncestorContainer)) return "";
  const holder = range.commonAncestorContainer;
  if (holder.nodeType === 1 && /** @type {Element} */ (holder).querySelector("[data-pinbox-private]")) return "";
  return selection.toString().trim().slice(0, LONGEST_SELECTED);
}

/** @returns {Record<string, unknown>} the Env of a pin */
export function envOf() {
  return {
    viewport: { w: innerWidth, h: innerHeight, dpr: devicePixelRatio },
    browser: navigator.userAgent,
    os: navigator.platform,
    colorScheme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
  };
}

/** What makes an address another view: its path, its query, and the hash where that is a route. @param {string | undefined} url */
export function viewOf(url) {
  if (!url) return "";
  try {
    const place = new URL(url, location.href);
    return place.pathname + place.search + (/^#!?\//.test(place.hash) ? place.hash : "");
  } catch {
    return "";
  }
}
