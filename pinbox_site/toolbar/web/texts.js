// Every word the toolbar says, in one place. A new language is one more object with the same keys.

const en = {
  pinbox: "Pinbox",
  pin: "Pin",
  pin_hint: "Pin an element",
  pin_stop: "Stop placing",
  inbox: "Inbox",
  inbox_count: "Inbox, {n} waiting for you",
  more: "More",
  minimise: "Make small",
  restore: "Show the bar",
  move_bar: "Pinbox: drag to another corner",
  copy_open: "Copy open pins",
  copied: "Copied {n} as Markdown",
  copied_one: "Copied as Markdown",
  copy_failed: "The browser did not allow copying",
  hide_pins: "Hide pins",
  show_pins: "Show pins",
  theme: "Theme",
  theme_light: "Light theme",
  theme_dark: "Dark theme",
  settings: "Name and keys",
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
  blocked_hint: "This public page may reach programs on your computer only if you allow it in the browser's site settings (local network). A team hub needs no such permission.",
  csp_hint: "The page's Content-Security-Policy does not name the hub in connect-src.",
  refused_hint: "The hub no longer accepts this page's token. Reload the page, or sign in again.",
  waiting_out: "{n} not sent yet",
  agents: "Agents: {list}",
  no_agent: "No agent is connected",
  sign_in: "Try again",

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
  way_later: "Not sent: {why}. Tried again by itself",
  why_unreachable: "the hub does not answer",
  why_refused: "signed out",

  placing: "Choose an element",
  placing_keys: "Click to pin, {shift}-click to add, arrows walk, Esc ends",
  placing_said: "Placing. Arrow keys walk the elements, Enter pins, Shift and Enter adds, Escape ends.",
  targets: "{n} elements",
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
  also: "Also",
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
  name_hint: "Shown beside what you write",

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
  fan_more: "{n} pins here",

  keys: "Keys",
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

  said_answer: "{agent} answered on pin {n}",
  said_fixed: "Pin {n}: {agent} says it is fixed, please verify",
  said_sent: "Sent",
  said_failed: "Not sent: {why}",
  said_closed: "Pin {n} closed",
  said_reopened: "Pin {n} opened again",
  now: "now",
};

/** @type {typeof en} */
const de = {
  pinbox: "Pinbox",
  pin: "Pin",
  pin_hint: "Ein Element anpinnen",
  pin_stop: "Nicht mehr anpinnen",
  inbox: "Eingang",
  inbox_count: "Eingang, {n} warten auf dich",
  more: "Mehr",
  minimise: "Klein machen",
  restore: "Leiste zeigen",
  move_bar: "Pinbox: in eine andere Ecke ziehen",
  copy_open: "Offene Pins kopieren",
  copied: "{n} als Markdown kopiert",
  copied_one: "Als Markdown kopiert",
  copy_failed: "Der Browser hat das Kopieren nicht erlaubt",
  hide_pins: "Pins verbergen",
  show_pins: "Pins zeigen",
  theme: "Farben",
  theme_light: "Helle Farben",
  theme_dark: "Dunkle Farben",
  settings: "Name und Tasten",
  close: "Schließen",
  cancel: "Abbrechen",
  retry: "Nochmal",
  discard: "Verwerfen",
  edit: "Ändern",

  link_connecting: "Verbindet",
  link_live: "Verbunden",
  link_offline: "Offline. Was du schreibst, bleibt hier und geht später ab",
  link_blocked: "Der Browser sperrt den Weg dieser Seite zum Hub",
  link_refused: "Abgemeldet",
  link_outdated: "Bitte die Seite neu laden: der Hub ist neuer",
  link_unset: "Nicht verbunden: kein Hub genannt",
  short_connecting: "Verbindet",
  short_offline: "Offline",
  short_blocked: "Gesperrt",
  short_refused: "Abgemeldet",
  short_outdated: "Neu laden",
  short_unset: "Kein Hub",
  blocked_hint: "Diese öffentliche Seite erreicht Programme auf deinem Rechner nur, wenn du es in den Website-Einstellungen des Browsers erlaubst (lokales Netzwerk). Ein Team-Hub braucht das nicht.",
  csp_hint: "Die Content-Security-Policy der Seite nennt den Hub nicht unter connect-src.",
  refused_hint: "Der Hub nimmt das Token dieser Seite nicht mehr an. Lade die Seite neu oder melde dich wieder an.",
  waiting_out: "{n} noch nicht gesendet",
  agents: "Agenten: {list}",
  no_agent: "Kein Agent ist verbunden",
  sign_in: "Nochmal versuchen",

  state_draft: "Entwurf",
  state_unsent: "Nicht gesendet",
  state_failed: "Nicht zugestellt",
  state_open: "Offen",
  state_with: "Bei {agent}",
  state_answered: "Beantwortet",
  state_verify: "Zu prüfen",
  state_closed: "Erledigt",
  the_agent: "dem Agenten",

  way_queued: "In der Schlange: wartet auf den nächsten Zug eines Agenten",
  way_handed: "Bei {agent} seit {time}",
  way_read: "Gelesen von {agent}, {time}",
  way_failed: "Nicht zugestellt: {why}",
  way_unsent: "In diesem Browser aufgehoben, noch nicht beim Hub",
  way_sending: "Wird gesendet",
  way_rejected: "Der Hub hat es abgelehnt: {why}",
  way_later: "Nicht gesendet: {why}. Wird von selbst wiederholt",
  why_unreachable: "der Hub antwortet nicht",
  why_refused: "abgemeldet",

  placing: "Wähle ein Element",
  placing_keys: "Klick setzt, {shift}-Klick nimmt dazu, Pfeile gehen weiter, Esc endet",
  placing_said: "Anpinnen. Pfeiltasten gehen durch die Elemente, Eingabe setzt, Umschalt und Eingabe nimmt dazu, Escape endet.",
  targets: "{n} Elemente",
  reticle: "Zielmarke. Ziehen, oder mit den Pfeiltasten bewegen",
  pin_here: "Hier anpinnen",
  add_here: "Dazu",
  added: "Dazu genommen: {what}",

  draft_label: "Neuer Pin",
  draft_placeholder: "Was soll sich hier ändern?",
  draft_kept: "Entwurf aufgehoben",
  reply_label: "Antwort",
  reply_placeholder: "Antworten",
  send: "Senden",
  send_hint: "Senden ({keys})",
  also: "Auch",
  attach_trouble: "{what} der letzten Minute anhängen",
  trouble_requests: "{n} fehlgeschlagene Anfragen",
  trouble_request: "1 fehlgeschlagene Anfrage",
  trouble_errors: "{n} Konsolenfehler",
  trouble_error: "1 Konsolenfehler",
  and: "und",
  shot_add: "Bildschirmfoto dazu",
  shot_taking: "Wähle im Fenster des Browsers diesen Tab",
  shot_remove: "Bildschirmfoto entfernen",
  shot_failed: "Kein Bildschirmfoto: {why}",
  shot_of: "Bildschirmfoto",
  move_add: "Verschieben",
  move_hint: "Rahmen ziehen oder Pfeiltasten nutzen; Eingabe endet",
  move_remove: "Nicht verschieben",
  moved: "Verschoben um {x} px, {y} px",
  as: "als {name}",
  you: "Du",
  someone: "Jemand",
  agent: "Agent",
  name: "Dein Name",
  name_hint: "Steht neben dem, was du schreibst",

  card_name: "{title}, {state}: {text}",
  pin_n: "Pin {n}",
  pin_new: "Pin",
  copy: "Als Markdown kopieren",
  resolve: "Erledigt",
  resolved_by_agent: "{agent} sagt, es ist behoben",
  resolved_by_human: "Erledigt",
  looks_good: "Passt",
  reopen: "Wieder öffnen",
  unresolve: "Wieder öffnen",
  accepted: "Angenommen, {time}",
  reopened: "Wieder geöffnet, {time}",
  commit: "Commit {sha}",
  open_link: "{name} öffnen",
  loading: "Verlauf wird geladen",
  thread_failed: "Der Verlauf ließ sich nicht laden",
  gone: "Das Element ist gerade nicht auf dieser Seite",
  elsewhere: "Auf einer anderen Seite",
  go: "Seite öffnen",
  thread: "Verlauf",
  attachment: "Anhang",

  inbox_open: "Offen",
  inbox_closed: "Erledigt",
  search: "Pins durchsuchen",
  waiting_for_you: "Wartet auf dich",
  this_page: "Diese Seite",
  other_pages: "Andere Seiten",
  nothing_open: "Nichts ist offen",
  nothing_open_hint: "Drücke {key}, zeige auf etwas und sag, was sich ändern soll.",
  nothing_closed: "Noch nichts erledigt",
  nothing_found: "Kein Pin enthält diese Worte",
  replies: "{n} Antworten",
  reply_one: "1 Antwort",
  fan_more: "{n} Pins hier",

  keys: "Tasten",
  keys_on: "Einzelne Buchstaben als Tasten",
  key_place: "Ein Element anpinnen",
  key_inbox: "Eingang",
  key_theme: "Hell oder dunkel",
  key_resolve: "Offene Karte erledigen",
  key_copy: "Offene Pins kopieren",
  key_hide: "Pins verbergen oder zeigen",
  key_small: "Klein machen, oder zurück",
  key_help: "Diese Tasten",
  key_send: "Senden",
  key_escape: "Schließen, oder nicht mehr anpinnen",

  said_answer: "{agent} hat auf Pin {n} geantwortet",
  said_fixed: "Pin {n}: {agent} sagt, es ist behoben, bitte prüfen",
  said_sent: "Gesendet",
  said_failed: "Nicht gesendet: {why}",
  said_closed: "Pin {n} erledigt",
  said_reopened: "Pin {n} wieder geöffnet",
  now: "jetzt",
};

const languages = { en, de };
/** @typedef {keyof typeof en} TextKey */

let language = /** @type {keyof typeof languages} */ ("en");

/** @param {string} wanted a language tag; what is not there becomes English */
export function speak(wanted) {
  const tag = wanted.slice(0, 2).toLowerCase();
  language = tag === "de" ? "de" : "en";
}

/**
 * The text under `key`, with its `{names}` filled in.
 * @param {TextKey} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function say(key, values) {
  const text = languages[language][key];
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
