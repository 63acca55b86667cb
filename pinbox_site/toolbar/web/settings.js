// The one window: the name, and the keys.

import { h } from "./dom.js";
import { iconButton } from "./icons.js";
import { SEND_KEYS, SHIFT_KEY } from "./card.js";
import { say } from "./texts.js";

/** @typedef {import("./toolbar.js").App} App */
/** @typedef {import("./dom.js").VNode} VNode */

/** What only this window says. */
export const words = {
  settings: "Name and keys",
  name_hint: "Shown beside what you write",
  placing_keys: "Click to pin, {shift}-click to add, arrows walk, Esc ends",
  keys_on: "Use single-letter keys",
  key_place: "Pin an element",
  key_inbox: "Inbox",
  key_theme: "Light or dark",
  key_resolve: "Resolve the open card",
  key_copy: "Copy open pins",
  key_hide: "Hide or show pins",
  key_small: "Make small, or back",
  key_help: "These keys",
  key_send: "Send",
  key_escape: "Close, or stop placing",
  keys: "Keys",
};

/** @param {App} app @returns {VNode[]} */
export function settingsView(app) {
  const { ui, store } = app;
  if (!ui.settings) return [];
  const keys = /** @type {const} */ ([
    ["P", "key_place"],
    ["I", "key_inbox"],
    ["R", "key_resolve"],
    ["C", "key_copy"],
    ["H", "key_hide"],
    ["D", "key_theme"],
    ["M", "key_small"],
    ["?", "key_help"],
    [SEND_KEYS, "key_send"],
    ["Esc", "key_escape"],
  ]);
  return [
    h(
      "div.modal-back",
      { key: "modal", on: { click: (/** @type {Event} */ event) => event.composedPath()[0] === app.nodes.get("back") && app.closeSettings() }, ref: (/** @type {HTMLElement} */ node) => app.nodes.set("back", node) },
      h(
        "div.modal",
        { role: "dialog", "aria-modal": "true", "aria-label": say("settings"), tabindex: -1, ref: (/** @type {HTMLElement} */ node) => app.nodes.set("modal", node), on: { keydown: trap } },
        h("div.head", { key: "head" }, h("h2", null, say("settings")), iconButton("close", say("close"), () => app.closeSettings())),
        h(
          "label.field",
          { key: "name" },
          say("name"),
          h("input", {
            type: "text",
            autocomplete: "name",
            maxlength: 80,
            ref: (/** @type {HTMLInputElement} */ node) => {
              node.value = store.memory.get("name", "");
              app.nodes.set("name", node);
            },
            on: {
              input: (/** @type {Event} */ event) => store.memory.set("name", /** @type {HTMLInputElement} */ (event.composedPath()[0]).value.trim()),
              keydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && !event.isComposing && app.closeSettings(),
            },
          }),
          h("span.quiet", null, say("name_hint")),
        ),
        h("h3", { key: "keys" }, say("keys")),
        h(
          "label.tick",
          { key: "tick" },
          h("input", { type: "checkbox", live: { checked: ui.keys }, on: { change: (/** @type {Event} */ event) => app.keep({ keys: /** @type {HTMLInputElement} */ (event.composedPath()[0]).checked }) } }),
          h("span", null, say("keys_on")),
        ),
        h("dl.keys", { key: "list" }, ...keys.flatMap(([key, name]) => [h("dt", { key: `t${name}` }, say(name)), h("dd", { key: `d${name}` }, h("span.key", null, key))]), h("dt", { key: "tadd" }, say("placing_keys", { shift: SHIFT_KEY })), h("dd", { key: "dadd" })),
      ),
    ),
  ];
}

/** Tab stays in the window. @param {KeyboardEvent} event */
function trap(event) {
  if (event.key !== "Tab") return;
  const path = event.composedPath();
  const window_ = /** @type {HTMLElement | undefined} */ (path.find((node) => node instanceof HTMLElement && node.matches("[aria-modal]")));
  const inside = [...(window_?.querySelectorAll("button, input, a[href]") ?? [])];
  const edge = event.shiftKey ? inside[0] : inside[inside.length - 1];
  const to = event.shiftKey ? inside[inside.length - 1] : inside[0];
  if (path[0] !== edge && path[0] !== window_) return;
  event.preventDefault();
  /** @type {HTMLElement | undefined} */ (to)?.focus();
}
