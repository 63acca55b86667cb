// Where a card goes: beside its element, never over it, never over the bar, never at the window's edge.

import { boxOf } from "./selector.js";

/** @typedef {import("./toolbar.js").App} App */
/** @typedef {{ left: number, top: number, right: number, bottom: number }} Area */

/** Windows narrower than this have sheets instead of cards. */
const SHEET_BELOW = 720;
const WIDTH = 336;
const GAP = 12;
const EDGE = 8;
/** Pixels on a side that are enough for a card. */
const ENOUGH = 360;
const TALLEST = 560;

/** @param {App} app @returns {() => void} */
export function measureCard(app) {
  placeMenu(app);
  const card = app.nodes.get("card");
  if (!card?.isConnected) return () => {};
  const safe = app.safe();
  const bar = app.barBox;
  const space = { left: EDGE + safe.left, top: EDGE + safe.top, right: innerWidth - EDGE - safe.right, bottom: (visualViewport?.height ?? innerHeight) - EDGE - safe.bottom };
  const inbox = app.nodes.get("inbox");
  if (inbox?.isConnected && innerWidth >= SHEET_BELOW) space.right = Math.min(space.right, inbox.getBoundingClientRect().left - GAP);
  const target = areaOf(app);
  const chip = chipOf(app);
  const both = target && chip ? union(target, chip) : target;
  const height = card.scrollHeight;
  // Clear of element and chip; where there is no room for that, of the element, and below or above the chip.
  const place = target && both && innerWidth >= SHEET_BELOW ? (beside(both, null, space, bar, height) ?? beside(target, chip, space, bar, height)) : null;
  return () => {
    const { style } = card;
    card.classList.toggle("is-sheet", !place);
    if (place) {
      style.translate = `${Math.round(place.left)}px ${Math.round(place.top)}px`;
      style.width = `${WIDTH}px`;
      style.maxHeight = `${Math.round(place.tallest)}px`;
      return;
    }
    sheet(card, both, space, bar);
  };
}

/** @param {Area} target @param {Area | null} chip @param {Area} space @param {{ x: number, y: number, width: number, height: number }} bar @param {number} height */
function beside(target, chip, space, bar, height) {
  const free = { right: space.right - target.right, left: target.left - space.left, below: space.bottom - target.bottom, above: target.top - space.top };
  const enough = ENOUGH - EDGE;
  const side = /** @type {const} */ (["right", "left", "below", "above"]).find((name) => free[name] >= enough);
  if (!side) return null;
  let left = side === "right" ? target.right + GAP : side === "left" ? target.left - GAP - WIDTH : Math.min(target.left, space.right - WIDTH);
  left = Math.max(space.left, Math.min(left, space.right - WIDTH));
  let { top, bottom } = space;
  if (side === "below") top = target.bottom + GAP;
  if (side === "above") bottom = target.top - GAP;
  // The bar is at the top or at the bottom; only a card that would stand over it gives way.
  if (left < bar.x + bar.width + EDGE && left + WIDTH > bar.x - EDGE) {
    if (bar.y > innerHeight / 2) bottom = Math.min(bottom, bar.y - EDGE);
    else top = Math.max(top, bar.y + bar.height + EDGE);
  }
  if (chip && left < chip.right + EDGE && left + WIDTH > chip.left - EDGE && bottom > chip.top && top < chip.bottom) {
    if (bottom - chip.bottom >= chip.top - top) top = chip.bottom + EDGE;
    else bottom = chip.top - EDGE;
  }
  const tallest = Math.min(TALLEST, bottom - top);
  const size = Math.min(height, tallest);
  const wish = side === "above" ? bottom - size : side === "below" ? top : target.top - 4;
  return { left, top: Math.max(top, Math.min(wish, bottom - size)), tallest };
}

/** @param {Area} a @param {Area} b @returns {Area} */
function union(a, b) {
  return { left: Math.min(a.left, b.left), top: Math.min(a.top, b.top), right: Math.max(a.right, b.right), bottom: Math.max(a.bottom, b.bottom) };
}

/** At the bottom, or at the top where only there the element stays in sight. @param {HTMLElement} card @param {Area | null} target @param {Area} space @param {{ x: number, y: number, width: number, height: number }} bar */
function sheet(card, target, space, bar) {
  const isBarBelow = bar.y > innerHeight / 2;
  const top = isBarBelow ? space.top : Math.max(space.top, bar.y + bar.height + EDGE);
  const bottom = isBarBelow ? Math.min(space.bottom, bar.y - EDGE) : space.bottom;
  const below = target ? bottom - target.bottom - GAP : bottom - top;
  const above = target ? target.top - GAP - top : 0;
  const isAbove = above > below && above >= ENOUGH - 2 * EDGE - GAP;
  const room = Math.max(isAbove ? above : below, Math.min(280, bottom - top));
  const tallest = Math.min(TALLEST, room, bottom - top);
  const width = Math.min(560, space.right - space.left);
  const { style } = card;
  style.width = `${width}px`;
  const left = space.left + (space.right - space.left - width) / 2;
  style.maxHeight = `${Math.round(tallest)}px`;
  const height = Math.min(card.scrollHeight, tallest);
  style.translate = `${Math.round(left)}px ${Math.round(isAbove ? top : bottom - height)}px`;
}

/** The element of the open card, as far as it is in sight. @param {App} app @returns {Area | null} */
function areaOf(app) {
  const id = app.ui.card;
  if (!id) return null;
  const target = app.store.drafts.get(id)?.target ?? app.store.pin(id)?.target;
  const element = app.markers.element(id, target);
  const box = element && boxOf(element);
  if (!box || (!box.width && !box.height)) return null;
  const area = { left: Math.max(0, box.x), top: Math.max(0, box.y), right: Math.min(innerWidth, box.x + box.width), bottom: Math.min(innerHeight, box.y + box.height) };
  return area.right < area.left || area.bottom < area.top ? null : area;
}

/** @param {App} app @returns {Area | null} */
function chipOf(app) {
  const chip = app.markers.chips.get(app.ui.card ?? "");
  return chip ? { left: chip.left, top: chip.top, right: chip.left + chip.width, bottom: chip.top + 24 } : null;
}

/** @param {App} app */
function placeMenu(app) {
  const menu = app.nodes.get("menu");
  if (!menu?.isConnected) return;
  const { width, height } = menu.getBoundingClientRect();
  const bar = app.barBox;
  const left = Math.max(EDGE, Math.min(bar.x, innerWidth - width - EDGE));
  const top = bar.y > innerHeight / 2 ? Math.max(EDGE, bar.y - height - EDGE) : bar.y + bar.height + EDGE;
  menu.style.translate = `${Math.round(left)}px ${Math.round(top)}px`;
}
