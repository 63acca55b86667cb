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

/** Reads; what it returns writes, after the chips have their places. @param {App} app @returns {() => void} */
export function measureCard(app) {
  const menu = measureMenu(app);
  const card = app.nodes.get("card");
  if (!card?.isConnected) return menu;
  const safe = app.safe();
  const bar = app.barBox;
  const space = { left: EDGE + safe.left, top: EDGE + safe.top, right: innerWidth - EDGE - safe.right, bottom: (visualViewport?.height ?? innerHeight) - EDGE - safe.bottom };
  const inbox = app.nodes.get("inbox");
  if (inbox?.isConnected && innerWidth >= SHEET_BELOW) space.right = Math.min(space.right, inbox.getBoundingClientRect().left - GAP);
  const target = areaOf(app);
  const height = card.scrollHeight;
  const isWide = innerWidth >= SHEET_BELOW;
  const isBarBelow = bar.y > innerHeight / 2;
  return () => {
    menu();
    const chip = chipOf(app);
    const both = target && chip ? union(target, chip) : target;
    // Clear of element and chip; where there is no room for that, of the element, and below or above the chip.
    const place = target && both && isWide ? (beside(both, null, space, bar, isBarBelow, height) ?? beside(target, chip, space, bar, isBarBelow, height)) : null;
    const { style } = card;
    card.classList.toggle("is-sheet", !place);
    if (place) {
      style.translate = `${Math.round(place.left)}px ${Math.round(place.top)}px`;
      style.width = `${WIDTH}px`;
      style.maxHeight = `${Math.round(place.tallest)}px`;
      return;
    }
    sheet(card, height, both, chip, space, bar, isBarBelow);
  };
}

/** @param {Area} target @param {Area | null} chip @param {Area} space @param {{ x: number, y: number, width: number, height: number }} bar @param {boolean} isBarBelow @param {number} height */
function beside(target, chip, space, bar, isBarBelow, height) {
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
    if (isBarBelow) bottom = Math.min(bottom, bar.y - EDGE);
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

/** At the bottom, or at the top where only there the element, or else its chip, stays in sight. @param {HTMLElement} card @param {number} height @param {Area | null} target @param {Area | null} chip @param {Area} space @param {{ x: number, y: number, width: number, height: number }} bar @param {boolean} isBarBelow */
function sheet(card, height, target, chip, space, bar, isBarBelow) {
  const top = isBarBelow ? space.top : Math.max(space.top, bar.y + bar.height + EDGE);
  const bottom = isBarBelow ? Math.min(space.bottom, bar.y - EDGE) : space.bottom;
  const least = Math.min(280, bottom - top);
  let below = target ? bottom - target.bottom - GAP : bottom - top;
  let above = target ? target.top - GAP - top : 0;
  let isAbove = above > below && above >= ENOUGH - 2 * EDGE - GAP;
  if (chip && !isAbove && below < least) {
    below = bottom - chip.bottom - EDGE;
    above = chip.top - EDGE - top;
    isAbove = above > below;
  }
  const tallest = Math.min(TALLEST, bottom - top, Math.max(isAbove ? above : below, least));
  const width = Math.min(560, space.right - space.left);
  const { style } = card;
  // In another width it has another height.
  const isOther = style.width !== `${width}px`;
  style.width = `${width}px`;
  const left = space.left + (space.right - space.left - width) / 2;
  style.maxHeight = `${Math.round(tallest)}px`;
  const size = Math.min(isOther ? card.scrollHeight : height, tallest);
  style.translate = `${Math.round(left)}px ${Math.round(isAbove ? top : bottom - size)}px`;
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

/** @param {App} app @returns {() => void} */
function measureMenu(app) {
  const menu = app.nodes.get("menu");
  if (!menu?.isConnected) return () => {};
  const { width, height } = menu.getBoundingClientRect();
  const bar = app.barBox;
  const left = Math.max(EDGE, Math.min(bar.x, innerWidth - width - EDGE));
  const top = bar.y > innerHeight / 2 ? Math.max(EDGE, bar.y - height - EDGE) : bar.y + bar.height + EDGE;
  return () => {
    menu.style.translate = `${Math.round(left)}px ${Math.round(top)}px`;
  };
}
