// What is not needed to place, write, read, answer and verify, and is fetched when the browser has time: the
// inbox, the menu, the window with the keys, pictures, copying, what to do
// with a write that was refused.

import { discard, takeBack } from "./back.js";
import { inboxView, inboxWords } from "./inbox.js";
import { copyPins } from "./markdown.js";
import { menuView, menuWords } from "./menu.js";
import { settingsView, words } from "./settings.js";
import { shoot, takeShot } from "./shot.js";
import { dress } from "./style.js";
import { learn } from "./texts.js";

/** @typedef {import("./toolbar.js").App} App */

const styles = `
.menu { position: fixed; left: 0; top: 0; min-width: 216px; padding: 6px; border-radius: 12px; }
.menu button { display: flex; align-items: center; gap: 10px; width: 100%; min-height: 36px; padding: 0 10px; border-radius: 8px; font: 400 14px/1.2 var(--sans); }
.menu button + button { margin-top: 4px; }
.menu button .key { margin-inline-start: auto; }
.menu .icon { color: var(--soft); }
.menu button:focus-visible { outline-offset: -2px; }
@media (hover: hover) { .menu button:hover { background: var(--raised); } }
.key { font: 500 12px/1 var(--mono); color: var(--soft); border: 1px solid var(--line); border-bottom-width: 2px; border-radius: 5px; padding: 3px 5px; }
.status { padding: 8px 10px 10px; border-bottom: 1px solid var(--line); margin-bottom: 6px; font: 400 12px/1.45 var(--sans); color: var(--soft); max-width: 260px; }
.status strong { display: block; color: var(--ink); font: 500 13px/1.4 var(--sans); }

.inbox { position: fixed; top: 12px; bottom: 12px; inset-inline-end: 12px; width: 376px; max-width: calc(100vw - 24px); border-radius: 16px; display: flex; flex-direction: column; overflow: hidden; }
.inbox .head { display: flex; align-items: center; gap: 4px; padding: 10px 10px 4px 16px; } .inbox .head h2 { flex: 1; font: 600 14px/1.3 var(--sans); }
.tabs { display: flex; gap: 4px; padding: 0 12px; } .tabs .act[aria-selected=true] { background: var(--raised); color: var(--ink); } .tabs .act { color: var(--soft); }
.tabs .act b { font: 600 12px/1 var(--sans); font-variant-numeric: tabular-nums; }
.find { position: relative; margin: 8px 12px 4px; } .find .icon { position: absolute; inset-inline-start: 10px; top: 10px; color: var(--soft); pointer-events: none; }
.find input { width: 100%; height: 36px; padding: 0 10px; padding-inline-start: 34px; border: 0; border-radius: 9px; background: var(--ground); box-shadow: inset 0 0 0 1px var(--edge); font: 400 14px/1.4 var(--sans); user-select: text; -webkit-user-select: text; }
.find input:focus { box-shadow: inset 0 0 0 2px var(--accent); outline: none; }
.rows { overflow-y: auto; overscroll-behavior: contain; padding: 4px 8px 12px; flex: 1; }
.rows h3 { padding: 14px 8px 4px; font: 600 12px/1.4 var(--sans); color: var(--soft); }
.row-item { display: grid; grid-template-columns: 16px 1fr; gap: 2px 8px; width: 100%; padding: 9px 8px; border-radius: 10px; align-items: start; }
.row-item + .row-item { margin-top: 4px; }
.row-item .mark { margin-top: 4px; }
.row-item:focus-visible { outline-offset: -2px; }
.row-item[aria-current=true] { background: var(--tint); }
.row-item .text { font: 400 14px/1.45 var(--sans); overflow: hidden; display: -webkit-box; -webkit-line-clamp: 2; -webkit-box-orient: vertical; overflow-wrap: anywhere; unicode-bidi: plaintext; }
.row-item .meta { grid-column: 2; display: flex; flex-wrap: wrap; gap: 0 8px; font: 400 12px/1.5 var(--sans); color: var(--soft); } .row-item .meta .state { line-height: 1.5; }
.row-item .where { grid-column: 2; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
@media (hover: hover) { .row-item:hover { background: var(--raised); } }
.empty { padding: 48px 24px; text-align: center; color: var(--soft); } .empty strong { display: block; color: var(--ink); font: 600 14px/1.5 var(--sans); margin-bottom: 4px; }

.modal-back { position: fixed; inset: 0; background: var(--scrim); pointer-events: auto; display: grid; grid-template: minmax(0, max-content) / minmax(0, 400px); place-content: center; padding: 16px; }
.modal { max-height: 100%; overflow-y: auto; border-radius: 16px; padding: 8px 8px 16px 20px; }
.modal .head { display: flex; align-items: center; } .modal .head h2 { flex: 1; font: 600 14px/1.3 var(--sans); }
.modal form, .modal dl, .modal .tick { margin-inline-end: 12px; }
.field { display: block; margin: 8px 12px 16px 0; font: 500 13px/1.4 var(--sans); } .field input { display: block; width: 100%; height: 36px; margin-top: 6px; padding: 0 12px; border: 0; border-radius: 9px; background: var(--ground); box-shadow: inset 0 0 0 1px var(--edge); font: 400 14px/1.4 var(--sans); user-select: text; -webkit-user-select: text; }
.field .quiet { font: 400 12px/1.4 var(--sans); display: block; margin-top: 4px; }
.modal h3 { font: 600 13px/1.4 var(--sans); margin-top: 4px; } .modal .tick { margin-inline-start: 0; font-size: 13px; }
.keys { display: grid; grid-template-columns: 1fr auto; gap: 6px 16px; margin-top: 6px; align-items: center; font: 400 13px/1.4 var(--sans); } .keys dd { text-align: end; }

@media (pointer: coarse) { .menu button { min-height: 44px; } .menu .key { display: none; } .find input, .field input { font-size: 16px; height: 44px; } .find .icon { top: 14px; } }
@media (max-width: 719px) { .inbox { inset: auto 0 0 0; top: max(48px, 8vh); width: auto; max-width: none; border-radius: 18px 18px 0 0; padding-bottom: env(safe-area-inset-bottom); } }
@media (forced-colors: active) { .find input, .field input { border: 1px solid CanvasText; } }
`;

/** Once, when this part has come. @param {App} app */
function furnish(app) {
  learn({ ...words, ...menuWords, ...inboxWords });
  dress(app.root, styles);
}

export const more = { copyPins, discard, furnish, inboxView, menuView, settingsView, shoot, takeBack, takeShot };
