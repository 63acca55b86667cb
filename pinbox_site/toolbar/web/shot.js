// One picture of the element and a little around it, out of the browser's own capture of this tab. The
// stream ends with the picture; what is private is painted over before anything is kept.

import { boxOf, insideOf, isPrivate } from "./selector.js";
import { say } from "./texts.js";

/** @typedef {import("./toolbar.js").App} App */
/** @typedef {import("./types.js").Draft} Draft */

const AROUND = 24;
const LONGEST_SIDE = 1600;
const QUALITY = 0.8;
/** Milliseconds in which a change of the page is in the picture. */
const FRAME_MS = 600;
/** Milliseconds in which the first picture comes. */
const START_MS = 5000;
const NUDGE_MS = 100;

/** @param {App} app @param {Draft} draft */
export async function takeShot(app, draft) {
  const element = app.markers.element(draft.id, draft.target);
  app.ui.shooting = draft.id;
  draft.shotError = undefined;
  app.draw();
  try {
    if (!element) throw new Error(say("gone"));
    draft.shot = await shoot(element, app.view);
  } catch (error) {
    draft.shotError = error instanceof Error ? error.message : String(error);
  }
  app.ui.shooting = null;
  if (app.store.drafts.has(draft.id)) app.store.keepDraft(draft);
  app.draw();
  app.nodes.get("field")?.focus({ preventScroll: true });
}

/**
 * Raises what the browser raises, with its own words.
 * @param {Element} element @param {HTMLElement} hidden what is not part of the page
 * @returns {Promise<string>} a data URL
 */
export async function shoot(element, hidden) {
  const options = /** @type {DisplayMediaStreamOptions} */ ({ video: { displaySurface: "browser" }, audio: false, preferCurrentTab: true, selfBrowserSurface: "include" });
  const stream = await navigator.mediaDevices.getDisplayMedia(options);
  try {
    const video = document.createElement("video");
    video.muted = true;
    video.srcObject = stream;
    await begun(video, hidden);
    hidden.style.setProperty("visibility", "hidden", "important");
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    await nextFrame(video);
    return cut(video, element);
  } finally {
    hidden.style.removeProperty("visibility");
    for (const track of stream.getTracks()) track.stop();
  }
}

/** A page that stands still may send no picture at all, so it is made to move. @param {HTMLVideoElement} video @param {HTMLElement} mover */
async function begun(video, mover) {
  let isOdd = false;
  const nudge = setInterval(() => mover.style.setProperty("opacity", (isOdd = !isOdd) ? "0.99" : "1"), NUDGE_MS);
  try {
    await Promise.race([video.play(), new Promise((_, reject) => setTimeout(() => reject(new Error("the browser sends no picture")), START_MS))]);
  } finally {
    clearInterval(nudge);
    mover.style.removeProperty("opacity");
  }
}

/** The picture after the next change; a page that stands still sends none. @param {HTMLVideoElement} video @returns {Promise<void>} */
function nextFrame(video) {
  return new Promise((resolve) => {
    setTimeout(resolve, FRAME_MS);
    video.requestVideoFrameCallback?.(() => resolve());
  });
}

/** @param {HTMLVideoElement} video @param {Element} element @returns {string} */
function cut(video, element) {
  const scale = video.videoWidth / innerWidth;
  const box = boxOf(element);
  const left = Math.max(0, box.x - AROUND);
  const top = Math.max(0, box.y - AROUND);
  const width = Math.min(innerWidth, box.x + box.width + AROUND) - left;
  const height = Math.min(innerHeight, box.y + box.height + AROUND) - top;
  if (width < 1 || height < 1) throw new Error("the element is not in view");
  const size = Math.min(1, LONGEST_SIDE / (Math.max(width, height) * scale)) * scale;
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * size);
  canvas.height = Math.round(height * size);
  const paper = canvas.getContext("2d");
  if (!paper) throw new Error("no canvas");
  paper.drawImage(video, left * scale, top * scale, width * scale, height * scale, 0, 0, canvas.width, canvas.height);
  paper.fillStyle = "#808080";
  for (const secret of secrets(document)) {
    const at = boxOf(secret);
    paper.fillRect((at.x - left) * size - 1, (at.y - top) * size - 1, at.width * size + 2, at.height * size + 2);
  }
  return canvas.toDataURL("image/webp", QUALITY);
}

/** Everything private, through open shadow roots and frames. @param {Document | ShadowRoot} root @returns {Element[]} */
function secrets(root) {
  /** @type {Element[]} */
  const found = [];
  for (const element of root.querySelectorAll("*")) {
    if (element.matches("[data-pinbox-private], input[type=password]") || (element.shadowRoot && isPrivate(element))) found.push(element);
    const inside = insideOf(element);
    if (inside) found.push(...secrets(inside));
  }
  return found;
}
