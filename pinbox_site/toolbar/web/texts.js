// Every word the toolbar says, in English. Another language is a file with the same keys, as de.js, that is
// fetched by those who read it.

export const en = {
  pinbox: "Pinbox",
  pin: "Pin",
  pin_hint: "Pin an element",
  pin_stop: "Stop placing",
  inbox: "Inbox",
  inbox_count: "Inbox, {n} waiting for you",
  more: "More",
  minimise: "Make small",
  hide_pins: "Hide pins",
  show_pins: "Show pins",
  close: "Close",
  cancel: "Cancel",
  retry: "Retry",
  discard: "Discard",
  edit: "Edit",

  link_connecting: "Connecting",
  link_live: "Connected",
  link_offline: "Offline. What you write is kept and sent later",
  link_blocked: "The browser blocks this page's way to the hub",
  link_refused: "Signed out",
  link_outdated: "Reload the page: the hub has a newer version",
  link_unset: "Not connected: no hub was named",
  short_connecting: "Connecting",
  short_offline: "Offline",
  short_blocked: "Blocked",
  short_refused: "Signed out",
  short_outdated: "Reload",
  short_unset: "No hub",
  waiting_out: "{n} not sent yet",

  state_draft: "Draft",
  state_unsent: "Not sent",
  state_failed: "Not delivered",
  state_open: "Open",
  state_with: "With {agent}",
  state_answered: "Answered",
  state_verify: "To verify",
  state_closed: "Closed",
  the_agent: "the agent",

  way_queued: "Queued: waits for an agent's next turn",
  way_handed: "With {agent} since {time}",
  way_read: "Read by {agent}, {time}",
  way_failed: "Not delivered: {why}",
  way_unsent: "Kept in this browser, not at the hub yet",
  way_sending: "Sending",
  way_rejected: "The hub refused it: {why}",
  way_later: "{why}. Tried again by itself",
  why_unreachable: "the hub does not answer",
  why_refused: "signed out",

  placing: "Choose an element",
  placing_said: "Placing. Arrow keys walk the elements, Enter pins, Shift and Enter adds, Escape ends.",
  reticle: "Target mark. Drag it, or use the arrow keys",
  pin_here: "Pin here",
  add_here: "Add",
  added: "Added: {what}",

  draft_label: "New pin",
  draft_placeholder: "What should change here?",
  draft_kept: "Draft kept",
  reply_label: "Reply",
  reply_placeholder: "Reply",
  send: "Send",
  send_hint: "Send ({keys})",
  attach_trouble: "Attach {what} of the last minute",
  trouble_requests: "{n} failed requests",
  trouble_request: "1 failed request",
  trouble_errors: "{n} console errors",
  trouble_error: "1 console error",
  and: "and",
  shot_add: "Add a screenshot",
  shot_taking: "Choose this tab in the browser's dialog",
  shot_remove: "Remove the screenshot",
  shot_failed: "No screenshot: {why}",
  shot_of: "Screenshot",
  move_add: "Move it",
  move_hint: "Drag the frame, or use the arrow keys; Enter ends",
  move_remove: "Do not move",
  moved: "Moved by {x} px, {y} px",
  as: "as {name}",
  you: "You",
  someone: "Someone",
  agent: "Agent",
  name: "Your name",

  card_name: "{title}, {state}: {text}",
  pin_n: "Pin {n}",
  pin_new: "Pin",
  copy: "Copy as Markdown",
  resolve: "Resolve",
  resolved_by_agent: "{agent} says it is fixed",
  resolved_by_human: "Resolved",
  looks_good: "Looks good",
  reopen: "Reopen",
  unresolve: "Open again",
  accepted: "Accepted, {time}",
  reopened: "Opened again, {time}",
  commit: "commit {sha}",
  open_link: "Open {name}",
  loading: "Loading the thread",
  thread_failed: "The thread could not be loaded",
  gone: "Its element is not on this page just now",
  elsewhere: "On another page",
  go: "Open the page",
  thread: "Thread",
  attachment: "Attachment",

  said_answer: "{agent} answered on pin {n}: {text}",
  said_fixed: "Pin {n}: {agent} says it is fixed, please verify",
  said_sent: "Sent",
  said_failed: "Not sent: {why}",
  said_closed: "Pin {n} closed",
  said_reopened: "Pin {n} opened again",
  part_missing: "Could not be loaded: the hub does not answer, or is another than this page's",
  now: "now",
};

/** @typedef {keyof typeof en | keyof typeof import("./settings.js").words | keyof typeof import("./menu.js").menuWords | keyof typeof import("./inbox.js").inboxWords} TextKey */

let language = "en";
/** @type {Record<string, string>} */
let texts = en;

/** @param {string} tag @param {Record<string, string>} words */
export function speak(tag, words) {
  language = tag;
  texts = words;
}

/** Words of a part that came later; another language has them already. @param {Record<string, string>} words */
export function learn(words) {
  texts = { ...words, ...texts };
}

/**
 * The text under `key`, with its `{names}` filled in.
 * @param {TextKey} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function say(key, values) {
  const text = texts[key] ?? "";
  return values ? text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? "")) : text;
}

/** @returns {string} the language tag in use */
export function spoken() {
  return language;
}

/**
 * A short time: "now", "5 min ago", "14:02", "3 Aug", in the language in use.
 * @param {string | number} at
 * @param {number} [now]
 */
export function ago(at, now = Date.now()) {
  const time = new Date(at).getTime();
  if (!Number.isFinite(time)) return "";
  const minutes = Math.round((now - time) / 60_000);
  if (minutes < 1) return say("now");
  if (minutes < 60) return new Intl.RelativeTimeFormat(language, { style: "short" }).format(-minutes, "minute");
  const date = new Date(time);
  const isToday = date.toDateString() === new Date(now).toDateString();
  return isToday
    ? new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" }).format(date)
    : new Intl.DateTimeFormat(language, { day: "numeric", month: "short" }).format(date);
}

/**
 * What people call an agent: "claude" is Claude, "claude:mac" is Claude · mac.
 * @param {string | undefined} origin
 */
export function agentName(origin) {
  if (!origin) return say("agent");
  const [who = "", where = ""] = origin.split(/:(.*)/s);
  const name = who.charAt(0).toUpperCase() + who.slice(1);
  return where ? `${name} · ${where}` : name;
}
