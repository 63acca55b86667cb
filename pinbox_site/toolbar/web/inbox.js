// The inbox: what waits for you, what is on this page, what is elsewhere; newest first everywhere.

import { h } from "./dom.js";
import { icon, iconButton, mark } from "./icons.js";
import { viewOf } from "./capture.js";
import { boxOf, labelOfTarget } from "./selector.js";
import { agentOf, isYourTurn, stateWord } from "./states.js";
import { ago, say } from "./texts.js";

/** @typedef {import("./toolbar.js").App} App */
/** @typedef {import("./types.js").Pin} Pin */
/** @typedef {import("./dom.js").VNode} VNode */

/** What only this list says. */
export const inboxWords = {
  inbox_open: "Open",
  inbox_closed: "Closed",
  search: "Search pins",
  waiting_for_you: "Waiting for you",
  this_page: "This page",
  other_pages: "Other pages",
  nothing_open: "Nothing is open",
  nothing_open_hint: "Press {key}, point at something and say what should change.",
  nothing_closed: "Nothing is closed yet",
  nothing_found: "No pin has these words",
  replies: "{n} replies",
  reply_one: "1 reply",
};

/** Rows that are drawn at once; a search finds the others. */
const MOST_ROWS = 200;

/** @param {App} app @returns {VNode[]} */
export function inboxView(app) {
  if (!app.ui.inbox || app.picker.isOn) return [];
  const { store, ui } = app;
  const pins = store.list();
  const isOpen = (/** @type {Pin} */ pin) => store.state(pin) !== "closed";
  const open = pins.filter(isOpen);
  const closed = pins.filter((pin) => !isOpen(pin));
  const wanted = ui.query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const found = (ui.tab === "open" ? open : closed).filter((pin) => has(app, pin, wanted)).slice(0, MOST_ROWS);
  return [
    h(
      "section.inbox",
      { key: "inbox", role: "region", "aria-label": say("inbox"), tabindex: -1, ref: (/** @type {HTMLElement} */ node) => app.nodes.set("inbox", node) },
      h("div.head", { key: "head" }, h("h2", null, say("inbox")), iconButton("copy", say("copy_open"), () => app.copy()), iconButton("close", say("close"), () => app.toggleInbox(false))),
      h(
        "div.tabs",
        { key: "tabs", role: "tablist", on: { keydown: (/** @type {KeyboardEvent} */ event) => tabKey(app, event) } },
        tab(app, "open", say("inbox_open"), open.length),
        tab(app, "closed", say("inbox_closed"), closed.length),
      ),
      h(
        "div.find",
        { key: "find" },
        icon("search"),
        h("input", { type: "search", "aria-label": say("search"), placeholder: say("search"), live: { value: ui.query }, on: { input: (/** @type {Event} */ event) => app.setUi({ query: /** @type {HTMLInputElement} */ (event.composedPath()[0]).value }) } }),
      ),
      h(
        "div.rows",
        { key: "rows", role: "tabpanel", id: "inbox-rows", "aria-labelledby": `tab-${ui.tab}`, tabindex: found.length ? null : 0, on: { keydown: rowKey } },
        ...(ui.tab === "open" ? groups(app, found) : found.map((pin) => row(app, pin, true))),
        found.length ? null : empty(app, wanted.length > 0),
      ),
    ),
  ];
}

/** @param {App} app @param {Pin} pin @param {string[]} words */
function has(app, pin, words) {
  if (!words.length) return true;
  const thread = app.store.threads.get(pin.id) ?? [];
  const text = [`#${pin.n ?? ""}`, pin.id, pin.text, pin.author.name, pin.target?.url, pin.target?.selector, ...thread.map((message) => message.text)].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}

/** @param {App} app @param {Pin[]} pins @returns {(VNode | null)[]} */
function groups(app, pins) {
  const here = viewOf(location.href);
  const yours = pins.filter((pin) => isYourTurn(app.store.state(pin)));
  const rest = pins.filter((pin) => !yours.includes(pin));
  const isHere = (/** @type {Pin} */ pin) => !pin.target?.url || viewOf(pin.target.url) === here;
  const sections = /** @type {const} */ ([
    ["waiting_for_you", yours],
    ["this_page", rest.filter(isHere)],
    ["other_pages", rest.filter((pin) => !isHere(pin))],
  ]);
  return sections.flatMap(([name, list]) => (list.length ? [h("h3", { key: name }, say(name)), ...list.map((pin) => row(app, pin, name !== "this_page"))] : []));
}

/** @param {App} app @param {"open" | "closed"} name @param {string} label @param {number} count */
function tab(app, name, label, count) {
  const isOn = app.ui.tab === name;
  return h(
    "button.act",
    { key: name, id: `tab-${name}`, role: "tab", "aria-selected": isOn, "aria-controls": "inbox-rows", tabindex: isOn ? 0 : -1, on: { click: () => app.setUi({ tab: name }) } },
    label,
    h("b", null, count),
  );
}

/** @param {App} app @param {KeyboardEvent} event */
function tabKey(app, event) {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  event.preventDefault();
  app.setUi({ tab: app.ui.tab === "open" ? "closed" : "open" });
  app.root.getElementById(`tab-${app.ui.tab}`)?.focus();
}

/** @param {KeyboardEvent} event */
function rowKey(event) {
  const row = event.composedPath()[0];
  if (!(row instanceof HTMLElement) || !row.matches(".row-item")) return;
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  const rows = [.../** @type {HTMLElement} */ (row.parentElement).querySelectorAll(".row-item")];
  const next = rows[rows.indexOf(row) + (event.key === "ArrowDown" ? 1 : -1)];
  if (next instanceof HTMLElement) next.focus();
}

/** @param {App} app @param {Pin} pin @param {boolean} saysWhere */
function row(app, pin, saysWhere) {
  const { store } = app;
  const facts = store.facts(pin);
  const state = store.state(pin);
  const count = facts.tail?.count ?? 0;
  const isMine = pin.author.userId === store.consumer;
  const who = isMine ? say("you") : pin.author.name || say("someone");
  const view = viewOf(pin.target?.url);
  const isElsewhere = view && view !== viewOf(location.href);
  return h(
    "button.row-item",
    { key: pin.id, "data-pin": pin.id, "aria-current": (app.ui.card === pin.id) || null, on: { click: () => visit(app, pin) } },
    h("span", { class: `is-${state}` }, mark(state)),
    h("span.text", null, pin.text),
    h(
      "span.meta",
      null,
      h("span.state", { class: `is-${state}` }, stateWord(state, facts)),
      h("span", null, pin.n ? `#${pin.n}` : ""),
      h("bdi", null, facts.tail && facts.tail.role !== "human" ? agentOf(facts) || say("agent") : who),
      h("time", { datetime: facts.tail?.at ?? pin.createdAt }, ago(facts.tail?.at ?? pin.createdAt)),
      count ? h("span", null, count === 1 ? say("reply_one") : say("replies", { n: count })) : null,
    ),
    saysWhere && isElsewhere ? h("span.where.facts", null, view) : labelOfTarget(pin.target) ? h("span.where.facts", null, labelOfTarget(pin.target)) : null,
  );
}

/** @param {App} app @param {boolean} isSearch */
function empty(app, isSearch) {
  if (isSearch) return h("p.empty", { key: "empty" }, say("nothing_found"));
  if (app.ui.tab === "closed") return h("p.empty", { key: "empty" }, say("nothing_closed"));
  return h("p.empty", { key: "empty" }, h("strong", null, say("nothing_open")), say("nothing_open_hint", { key: "P" }));
}

/** From a row to the pin. @param {App} app @param {Pin} pin */
function visit(app, pin) {
  const element = app.markers.element(pin.id, pin.target);
  if (element) {
    const { y, height } = boxOf(element);
    if (y < 60 || y + height > innerHeight - 120) element.scrollIntoView({ block: "center", behavior: "instant" });
  }
  app.openPin(pin.id);
}
