// The menu of the bar.

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { agentName, say } from "./texts.js";

/** @typedef {import("./toolbar.js").App} App */
/** @typedef {import("./dom.js").VNode} VNode */

/** What only this menu and its acts say. */
export const menuWords = {
  restore: "Show the bar",
  copy_open: "Copy open pins",
  copied: "Copied {n} as Markdown",
  copied_one: "Copied as Markdown",
  copy_failed: "The browser did not allow copying",
  blocked_hint: "This public page may reach programs on your computer only if you allow it in the browser's site settings (local network). A team hub needs no such permission.",
  csp_hint: "The page's Content-Security-Policy does not name the hub in connect-src.",
  refused_hint: "The hub no longer accepts this page's token. Reload the page, or sign in again.",
  agents: "Agents: {list}",
  no_agent: "No agent session is open",
  sign_in: "Try again",
  theme_light: "Light theme",
  theme_dark: "Dark theme",
};

/** @param {App} app @returns {VNode[]} */
export function menuView(app) {
  const { ui, store } = app;
  if (!ui.menu) return [];
  const item = (/** @type {string} */ key, /** @type {import("./icons.js").IconName} */ name, /** @type {string} */ label, /** @type {string} */ letter, /** @type {() => void} */ act) =>
    h(
      "button",
      {
        key,
        role: "menuitem",
        tabindex: -1,
        on: {
          click: () => {
            app.setUi({ menu: false });
            act();
          },
        },
      },
      icon(name),
      label,
      letter ? h("span.key", { "aria-hidden": "true" }, letter) : null,
    );
  const hint = store.link === "blocked" ? (store.cspBlocked ? say("csp_hint") : say("blocked_hint")) : store.link === "refused" ? say("refused_hint") : "";
  const agents = store.agents.length ? say("agents", { list: store.agents.map(agentName).join(", ") }) : say("no_agent");
  return [
    h(
      "div.menu",
      { key: "menu", ref: (/** @type {HTMLElement} */ node) => app.nodes.set("menu", node) },
      h("div.status", { key: "status" }, h("strong", null, say(`link_${store.link}`)), hint || (store.link === "live" ? agents : ""), store.link === "refused" || store.link === "blocked" ? h("button.act.line", { on: { click: () => store.retryLink() } }, say("sign_in")) : null),
      h(
        "div",
        { key: "items", role: "menu", "aria-label": say("more"), on: { keydown: menuKey } },
        ...(ui.small
          ? [
              item("place", "pin", say("pin"), "P", () => app.startPlacing()),
              item("inbox", "inbox", say("inbox"), "I", () => app.toggleInbox(true)),
              item("bar", "out", say("restore"), "M", () => app.restore()),
            ]
          : []),
        item("copy", "copy", say("copy_open"), "C", () => app.copy()),
        item("hide", "eye", say(ui.hidden ? "show_pins" : "hide_pins"), "H", () => app.hide()),
        item("theme", ui.theme === "dark" ? "sun" : "moon", say(ui.theme === "dark" ? "theme_light" : "theme_dark"), "D", () => app.toggleTheme()),
        item("settings", "keys", say("settings"), "?", () => app.openSettings()),
      ),
    ),
  ];
}

/** @param {KeyboardEvent} event */
function menuKey(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const items = [.../** @type {HTMLElement} */ (/** @type {Element} */ (event.composedPath()[0]).closest("[role=menu]")).querySelectorAll("button")];
  const at = items.indexOf(/** @type {HTMLButtonElement} */ (event.composedPath()[0]));
  items[(at + step + items.length) % items.length]?.focus();
}
