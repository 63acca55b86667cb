(() => {
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "circle", "rect", "line"]);
function h(tag, props, ...kids) {
const [name = "div", ...classes] = tag.split(".");
const given = { ...props };
if (classes.length) given.class = [...classes, given.class].filter(Boolean).join(" ");
const key = String(given.key ?? "");
delete given.key;
const list = [];
for (const kid of kids.flat()) {
if (kid === null || kid === undefined || kid === false || kid === "") continue;
list.push(typeof kid === "object" ? kid : { tag: "#text", props: {}, kids: String(kid), key: "" });
}
return { tag: name, props: given, kids: list, key };
}
const drawn = new WeakMap();
const handlers = new WeakMap();
function draw(parent, kids) {
const known = new Map();
const counts = new Map();
const nameOf = (vnode) => {
if (vnode.key) return `${vnode.tag} ${vnode.key}`;
const nth = counts.get(vnode.tag) ?? 0;
counts.set(vnode.tag, nth + 1);
return `${vnode.tag} #${nth}`;
};
for (const node of parent.childNodes) {
const from = drawn.get(node);
if (from) known.set(nameOf(from), node);
}
counts.clear();
const wanted = kids.map((vnode) => {
const name = nameOf(vnode);
const node = known.get(name) ?? make(vnode.tag);
known.delete(name);
return { vnode, node };
});
for (const node of known.values()) node.parentNode?.removeChild(node);
let next = parent.firstChild;
for (const { vnode, node } of wanted) {
if (node === next) next = next.nextSibling;
else parent.insertBefore(node, next);
paint(node, vnode);
}
}
function make(tag) {
if (tag === "#text") return document.createTextNode("");
return SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
}
function paint(node, vnode) {
const before = drawn.get(node);
if (before === vnode) return;
drawn.set(node, vnode);
if (typeof vnode.kids === "string") {
if (node.nodeValue !== vnode.kids) node.nodeValue = vnode.kids;
return;
}
const element =  (node);
const { on, ref, live, ...attributes } = vnode.props;
for (const name of Object.keys(before?.props ?? {})) {
if (!(name in attributes)) element.removeAttribute(name);
}
for (const [name, value] of Object.entries(attributes)) {
if (value === false || value === null || value === undefined) element.removeAttribute(name);
else {
const text = value === true ? "" : String(value);
if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}
}
if (on) handlers.set(node, on);
else handlers.delete(node);
draw(element, vnode.kids);
for (const [name, value] of Object.entries(live ?? {})) {
const target =  (element);
if (target[name] !== value) target[name] = value;
}
if (!before && ref) ref(element);
}
function listen(node, given) {
handlers.set(node, given);
}
const ROUTED = [
"click", "dblclick", "auxclick", "contextmenu", "mousedown", "mouseup", "mousemove", "mouseover", "mouseout",
"pointerdown", "pointermove", "pointerup", "pointercancel", "pointerover", "pointerout",
"touchstart", "touchmove", "touchend", "touchcancel", "wheel",
"keydown", "keyup", "keypress", "beforeinput", "input",
"compositionstart", "compositionupdate", "compositionend", "copy", "cut", "paste",
"focusin", "focusout", "dragstart", "drop", "dragover", "selectstart",
];
const PASSIVE = new Set(["touchstart", "touchmove", "touchend", "wheel"]);
function route(host, root) {
const take = (event) => {
const path = event.composedPath();
if (!path.includes(host)) {
if (event.type === "focusout" &&  (event).relatedTarget === host) event.stopImmediatePropagation();
return;
}
event.stopImmediatePropagation();
dispatch(event, path, root);
};
const inside = (event) => dispatch(event, event.composedPath(), root);
const options = { capture: true };
for (const type of ROUTED) {
window.addEventListener(type, take, PASSIVE.has(type) ? { ...options, passive: true } : options);
}
root.addEventListener("change", inside, options);
return () => {
for (const type of ROUTED) window.removeEventListener(type, take, options);
root.removeEventListener("change", inside, options);
};
}
function dispatch(event, path, root) {
for (const node of path) {
if (node === root) return;
handlers.get( (node))?.[event.type]?.(event);
}
}
const written = new WeakMap();
function setStyle(node, name, value) {
if (!node) return;
let known = written.get(node);
if (!known) written.set(node, (known = {}));
if (known[name] === value) return;
known[name] = value;
node.style.setProperty(name, value);
}
function setHidden(node, isHidden) {
if (node && node.hidden !== isHidden) node.hidden = isHidden;
}
function deepFocus() {
let at = document.activeElement;
while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
return at;
}
function isField(target) {
if (!(target instanceof Element)) return false;
return target.matches("input, textarea, select") ||  (target).isContentEditable;
}
const PATHS = {
pin: "M8 1.75v3M8 11.25v3M1.75 8h3M11.25 8h3M8 8h.01M12.25 8a4.25 4.25 0 1 1-8.5 0 4.25 4.25 0 0 1 8.5 0Z",
inbox: "M2 9.25 4 3h8l2 6.25V13H2V9.25Zm0 0h3.5c.2 1.4 1.1 2.1 2.5 2.1s2.3-.7 2.5-2.1H14",
more: "M3.25 8h.01M8 8h.01M12.75 8h.01",
small: "M4 11.5h8",
close: "m4 4 8 8m0-8-8 8",
copy: "M6 5.5h7.25v7.75H6zM10 5.5V2.75H2.75v7.75H6",
check: "m3 8.5 3.25 3.25L13 5",
camera: "M2 5h2.75l1-1.75h4.5l1 1.75H14v8H2V5Zm8.25 3.75a2.25 2.25 0 1 1-4.5 0 2.25 2.25 0 0 1 4.5 0Z",
move: "M8 2v12M2 8h12M6.25 3.75 8 2l1.75 1.75M6.25 12.25 8 14l1.75-1.75M3.75 6.25 2 8l1.75 1.75M12.25 6.25 14 8l-1.75 1.75",
send: "M8 13V3M3.75 7.25 8 3l4.25 4.25",
search: "m10.5 10.5 3.25 3.25M12 7A5 5 0 1 1 2 7a5 5 0 0 1 10 0Z",
out: "M6 3H3v10h10v-3M9 3h4v4M13 3 7 9",
sun: "M8 1.5v1.25M8 13.25v1.25M1.5 8h1.25M13.25 8h1.25M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9M10.75 8a2.75 2.75 0 1 1-5.5 0 2.75 2.75 0 0 1 5.5 0Z",
moon: "M13.25 9.5A5.75 5.75 0 0 1 6.5 2.75a5.5 5.5 0 1 0 6.75 6.75Z",
eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8Zm8.25 0a1.75 1.75 0 1 1-3.5 0 1.75 1.75 0 0 1 3.5 0Z",
keys: "M1.75 4h12.5v8H1.75zM4.5 6.5h.01M7 6.5h.01M9.5 6.5h.01M11.75 6.5h.01M5 9.5h6",
again: "M3 8a5 5 0 1 0 1.6-3.65M3 2.5v3h3",
};
function icon(name) {
return h(
"svg.icon",
{ viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", focusable: "false" },
h("path", { d: PATHS[name], fill: "none", stroke: "currentColor", "stroke-width": name === "more" ? 2.4 : 1.5, "stroke-linecap": "round", "stroke-linejoin": "round" }),
);
}
function drop() {
return h(
"svg.drop",
{ viewBox: "0 0 16 16", width: 18, height: 18, "aria-hidden": "true", focusable: "false" },
h("path", { d: "M8 .8a5.7 5.7 0 0 0-5.7 5.7C2.3 10.3 8 15.6 8 15.6s5.7-5.3 5.7-9.1A5.7 5.7 0 0 0 8 .8Zm0 7.9a2.2 2.2 0 1 1 0-4.4 2.2 2.2 0 0 1 0 4.4Z", fill: "currentColor", "fill-rule": "evenodd" }),
);
}
const MARKS = {
draft: [h("path", { d: "M2 10l.6-2.6L8.3 1.7l2 2L4.6 9.4z", fill: "none", stroke: "currentColor", "stroke-width": 1.5, "stroke-linejoin": "round" })],
unsent: [h("circle", { cx: 6, cy: 6, r: 4.5, fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-dasharray": "2.2 1.9" })],
failed: [h("path", { d: "M6 .9 11.6 11H.4z", fill: "currentColor" }), h("path", { class: "cut", d: "M6 4.4v3.1M6 9.15v.01", fill: "none", "stroke-width": 1.5, "stroke-linecap": "round" })],
open: [h("circle", { cx: 6, cy: 6, r: 4.5, fill: "none", stroke: "currentColor", "stroke-width": 1.8 })],
with: [h("circle", { cx: 6, cy: 6, r: 4.5, fill: "none", stroke: "currentColor", "stroke-width": 1.8 }), h("path", { d: "M6 1.5a4.5 4.5 0 0 1 0 9z", fill: "currentColor" })],
answered: [h("path", { d: "M1 1.5h10v7H6.5L3.7 11.3V8.5H1z", fill: "currentColor", "stroke-linejoin": "round" })],
verify: [h("path", { d: "M6 .5 11.5 6 6 11.5.5 6z", fill: "currentColor" }), h("circle", { class: "hole", cx: 6, cy: 6, r: 1.7 })],
closed: [h("circle", { cx: 6, cy: 6, r: 5.3, fill: "currentColor" }), h("path", { class: "cut", d: "m3.5 6.1 1.8 1.8 3.3-3.6", fill: "none", "stroke-width": 1.5, "stroke-linecap": "round", "stroke-linejoin": "round" })],
};
function mark(state) {
return h("svg.mark", { key: state, class: `is-${state}`, viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true", focusable: "false" }, ...MARKS[state]);
}
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
let language =  ("en");
function speak(wanted) {
const tag = wanted.slice(0, 2).toLowerCase();
language = tag === "de" ? "de" : "en";
}
function say(key, values) {
const text = languages[language][key];
return values ? text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? "")) : text;
}
function spoken() {
return language;
}
function ago(at, now = Date.now()) {
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
function agentName(origin) {
if (!origin) return say("agent");
const [who = "", where = ""] = origin.split(/:(.*)/s);
const name = who.charAt(0).toUpperCase() + who.slice(1);
return where ? `${name} · ${where}` : name;
}
function stateOf({ pin, tail, delivery, entries }) {
if (entries.some((entry) => entry.held)) return "failed";
if (entries.some((entry) => entry.kind === "pin")) return "unsent";
if (pin.status === "resolved") return pin.verification ? "closed" : "verify";
const isReopened = pin.verification?.outcome === "reopened" && (!tail || tail.at < pin.verification.at);
if (tail && tail.role !== "human" && !isReopened) return "answered";
if (delivery?.status === "failed") return "failed";
if (delivery?.handedOverAt || delivery?.acknowledgedAt) return "with";
return "open";
}
function isYourTurn(state) {
return state === "answered" || state === "verify" || state === "failed";
}
function agentOf({ pin, tail }) {
const name = pin.agentSession?.agent ?? (tail?.role === "agent" ? tail.origin : undefined);
return name ? agentName(name) : "";
}
function stateWord(state, facts) {
return say(`state_${state}`, { agent: (facts && agentOf(facts)) || say("the_agent") });
}
function wayOf(facts) {
const { pin, delivery, entries } = facts;
const agent = agentOf(facts) || say("the_agent");
const sent = entries.find((entry) => entry.kind === "pin");
if (sent) return sent.error ? "" : say("way_unsent");
if (!delivery || pin.status === "resolved") return "";
if (delivery.acknowledgedAt) return say("way_read", { agent, time: ago(delivery.acknowledgedAt) });
if (delivery.handedOverAt) return say("way_handed", { agent, time: ago(delivery.handedOverAt) });
if (delivery.status === "failed") return say("way_failed", { why: delivery.lastError ?? "" });
return delivery.status === "pending" ? say("way_queued") : "";
}
const INTO = " >>> ";
const STABLE = ["data-pb-anchor", "data-pb-el", "data-testid", "data-test-id", "data-test", "data-cy", "data-qa"];
const TELLING = ["name", "aria-label", "href", "for", "role", "type", "alt", "placeholder", "title"];
const MADE_UP = /^(?:radix|headlessui|react-aria|mui|ember|ext-gen|yui|cdk|ng-|svelte-|css-|sc-|jss|emotion)|^:.*:$|^_?r_?\d|[0-9a-f]{8}|\d{4}/i;
const LONGEST_VALUE = 120;
const MOST_CLASSES = 6;
function quoted(value) {
return `"${value.replace(/["\\>\u0000-\u001f\u007f]/g, (letter) => `\\${letter.charCodeAt(0).toString(16)} `)}"`;
}
function tagOf(element) {
return CSS.escape(element.localName);
}
function finds(root, selector, element) {
try {
const found = root.querySelectorAll(selector);
return found.length === 1 && found[0] === element;
} catch {
return false;
}
}
function* own(element) {
const tag = tagOf(element);
for (const name of STABLE) {
const value = element.getAttribute(name);
if (value && value.length <= LONGEST_VALUE) yield `[${name}=${quoted(value)}]`;
}
const id = element.id;
if (id && !MADE_UP.test(id)) yield `#${CSS.escape(id)}`;
if (/^(?:body|html|main|.+-.+)$/.test(element.localName)) yield tag;
for (const name of TELLING) {
const value = element.getAttribute(name);
if (value && value.length <= LONGEST_VALUE && !(name === "href" && MADE_UP.test(value))) yield `${tag}[${name}=${quoted(value)}]`;
}
const classes = [...element.classList].filter((name) => !MADE_UP.test(name)).slice(0, MOST_CLASSES);
for (const name of classes) yield `${tag}.${CSS.escape(name)}`;
if (classes.length > 1) yield tag + classes.map((name) => `.${CSS.escape(name)}`).join("");
}
function step(element) {
const tag = tagOf(element);
const same = [...(element.parentNode?.children ?? [])].filter((sibling) => sibling.localName === element.localName && sibling.namespaceURI === element.namespaceURI);
return same.length > 1 ? `${tag}:nth-of-type(${same.indexOf(element) + 1})` : tag;
}
function within(element, root) {
for (const selector of own(element)) if (finds(root, selector, element)) return selector;
let path = "";
for (let at =  (element); at; at = at.parentElement) {
path = path ? `${step(at)} > ${path}` : step(at);
const above = at.parentElement;
if (above) {
for (const name of own(above)) {
if (!finds(root, name, above)) continue;
for (const selector of own(element)) if (finds(root, `${name} ${selector}`, element)) return `${name} ${selector}`;
if (finds(root, `${name} > ${path}`, element)) return `${name} > ${path}`;
break;
}
} else if (finds(root, path, element)) return path;
}
return finds(root, path, element) ? path : "";
}
function selectorOf(element) {
const parts = [];
for (let at =  (element); at; ) {
const root = at.getRootNode();
if (!(root instanceof Document || root instanceof ShadowRoot)) return undefined;
const part = within(at, root);
if (!part) return undefined;
parts.unshift(part);
at = root instanceof ShadowRoot ? root.host : null;
}
return parts.join(INTO);
}
function find(selector) {
if (!selector) return null;
let root = document;
let found = null;
try {
for (const part of selector.split(INTO)) {
if (found) {
if (!found.shadowRoot) return null;
root = found.shadowRoot;
}
found = root.querySelector(part);
if (!found) return null;
}
} catch {
return null;
}
return found;
}
function parentOf(element) {
if (element.parentElement) return element.parentElement;
const root = element.getRootNode();
return root instanceof ShadowRoot ? root.host : null;
}
function isPrivate(node) {
for (let at = node instanceof Element ? node : (node?.parentElement ?? null); at; at = parentOf(at)) {
if (at.hasAttribute("data-pinbox-private") || (at.localName === "input" && at.getAttribute("type") === "password")) return true;
}
return false;
}
function labelOf(element) {
const given = element.getAttribute("data-pb-el") || element.getAttribute("data-pb-anchor") || element.getAttribute("data-testid");
if (given) return given;
const tag = element.localName;
if (element.id && !MADE_UP.test(element.id)) return `${tag}#${element.id}`;
const words = isPrivate(element) ? "" : shortText(element);
if (words) return `${tag} “${words}”`;
const name = [...element.classList].find((name) => /^[a-z][\w-]*$/i.test(name) && !MADE_UP.test(name));
return name ? `${tag}.${name}` : tag;
}
function shortText(element) {
const named = element.getAttribute("aria-label") || element.getAttribute("alt") || element.getAttribute("placeholder") || "";
const text = named || (element.matches("button, a, label, h1, h2, h3, h4, th, summary, option, [role=button], [role=tab]") ? (element.textContent ?? "") : "");
const line = text.replace(/\s+/g, " ").trim();
return line.length <= 32 ? line : `${line.slice(0, 30)}…`;
}
function crumbsOf(element) {
const crumbs = [labelOf(element)];
for (let at = parentOf(element); at && crumbs.length < 3; at = parentOf(at)) {
if (at.localName === "body" || at.localName === "html") break;
const isNamed = at.hasAttribute("data-pb-el") || at.hasAttribute("data-testid") || (at.id && !MADE_UP.test(at.id)) || at.matches("main, nav, header, footer, section, article, form, dialog, aside") || at.shadowRoot;
if (isNamed) crumbs.unshift(labelOf(at));
}
return crumbs;
}
function labelOfTarget(target) {
if (!target) return "";
if (target.anchor) return target.anchor;
const text = target.context?.textRuns?.[0];
if (target.tag && text && text.length <= 32) return `${target.tag} “${text}”`;
return target.selector?.split(INTO).pop() ?? target.tag ?? "";
}
const STYLES = ["display", "position", "font-size", "color", "background-color", "margin", "padding", "overflow"];
const MOST_RUNS = 40;
const LONGEST_RUN = 200;
const LONGEST_NEARBY = 160;
const LONGEST_SELECTED = 500;
const CLASSES_KEPT = 40;
const SKIPPED = "script, style, noscript, template, textarea, input, select, [data-pinbox-private], pinbox-toolbar";
function rectOf(element) {
const box = element.getBoundingClientRect();
return { x: round(box.x + scrollX), y: round(box.y + scrollY), width: round(box.width), height: round(box.height) };
}
function round(value) {
return Math.round(value * 10) / 10;
}
function targetOf(element, point) {
const box = element.getBoundingClientRect();
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
function part(offset, size) {
return Math.round(Math.min(1, Math.max(0, offset / size)) * 10_000) / 10_000;
}
function around(element, name) {
for (let at =  (element); at; at = parentOf(at)) {
const value = at.getAttribute(name);
if (value) return value;
}
return "";
}
function decoded(text) {
try {
return decodeURIComponent(text);
} catch {
return text;
}
}
function sourceOf(element) {
const mark = around(element, "data-pb-source");
const found = /^(.+?)(?::(\d+))?$/.exec(decoded(mark));
if (!found?.[1]) return undefined;
return found[2] ? { file: found[1], line: Number(found[2]), via: "framework" } : { file: found[1], via: "framework" };
}
function isFixed(element) {
for (let at =  (element); at; at = parentOf(at)) {
if (getComputedStyle(at).position === "fixed") return true;
}
return false;
}
function contextOf(element) {
const computed = getComputedStyle(element);
const context = {
classes: [...element.classList].slice(0, CLASSES_KEPT),
styles: Object.fromEntries(STYLES.map((name) => [name, computed.getPropertyValue(name)])),
};
if (isPrivate(element)) return context;
const aria = [...element.attributes].filter((attribute) => attribute.name.startsWith("aria-"));
if (aria.length) context.aria = Object.fromEntries(aria.map(({ name, value }) => [name, value.slice(0, LONGEST_RUN)]));
const runs = textRuns(element, MOST_RUNS + 1);
if (runs.length && runs.length <= MOST_RUNS) context.textRuns = runs;
const parent = parentOf(element);
const nearby = textRuns(parent && !isPrivate(parent) ? parent : element, MOST_RUNS).join(" ").slice(0, LONGEST_NEARBY);
if (nearby) context.nearbyText = nearby;
const selected = selectedIn(element);
if (selected) context.selectedText = selected;
return context;
}
function textRuns(element, most) {
const runs = [];
const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, (node) => {
if (node instanceof Element) return node.matches(SKIPPED) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
return node.nodeValue?.trim() ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP;
});
if (element.matches(SKIPPED)) return runs;
while (runs.length < most && walker.nextNode()) {
runs.push((walker.currentNode.nodeValue ?? "").replace(/\s+/g, " ").trim().slice(0, LONGEST_RUN));
}
return runs;
}
function selectedIn(element) {
const selection = getSelection();
if (!selection || selection.isCollapsed || selection.rangeCount === 0) return "";
const range = selection.getRangeAt(0);
if (!range.intersectsNode(element) || isPrivate(range.commonAncestorContainer)) return "";
const holder = range.commonAncestorContainer;
if (holder instanceof Element && holder.querySelector("[data-pinbox-private]")) return "";
return selection.toString().trim().slice(0, LONGEST_SELECTED);
}
function envOf() {
return {
viewport: { w: innerWidth, h: innerHeight, dpr: devicePixelRatio },
browser: navigator.userAgent,
os: navigator.platform,
colorScheme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
};
}
function viewOf(url) {
if (!url) return "";
try {
const place = new URL(url, location.href);
return place.pathname + place.search + (/^#!?\//.test(place.hash) ? place.hash : "");
} catch {
return "";
}
}
const AROUND = 24;
const LONGEST_SIDE = 1600;
const QUALITY = 0.8;
const FRAME_MS = 600;
function canShoot() {
return Boolean(navigator.mediaDevices?.getDisplayMedia);
}
async function shoot(element, hidden) {
const options =  ({ video: { displaySurface: "browser" }, audio: false, preferCurrentTab: true, selfBrowserSurface: "include" });
const stream = await navigator.mediaDevices.getDisplayMedia(options);
try {
const video = document.createElement("video");
video.muted = true;
video.srcObject = stream;
await video.play();
hidden.style.setProperty("visibility", "hidden", "important");
await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
await nextFrame(video);
return cut(video, element);
} finally {
hidden.style.removeProperty("visibility");
for (const track of stream.getTracks()) track.stop();
}
}
function nextFrame(video) {
return new Promise((resolve) => {
setTimeout(resolve, FRAME_MS);
video.requestVideoFrameCallback?.(() => resolve());
});
}
function cut(video, element) {
const scale = video.videoWidth / innerWidth;
const box = element.getBoundingClientRect();
const left = Math.max(0, box.left - AROUND);
const top = Math.max(0, box.top - AROUND);
const width = Math.min(innerWidth, box.right + AROUND) - left;
const height = Math.min(innerHeight, box.bottom + AROUND) - top;
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
const at = secret.getBoundingClientRect();
paper.fillRect((at.left - left) * size - 1, (at.top - top) * size - 1, at.width * size + 2, at.height * size + 2);
}
return canvas.toDataURL("image/webp", QUALITY);
}
function secrets(root) {
const found = [];
for (const element of root.querySelectorAll("*")) {
if (element.matches("[data-pinbox-private], input[type=password]") || (element.shadowRoot && isPrivate(element))) found.push(element);
if (element.shadowRoot) found.push(...secrets(element.shadowRoot));
}
return found;
}
const IS_MAC = /Mac|iP(?:hone|ad|od)/.test(navigator.platform);
const SEND_KEYS = IS_MAC ? "⌘ ↵" : "Ctrl ↵";
const SHIFT_KEY = IS_MAC ? "⇧" : "Shift";
function why(failure) {
if (failure.status === 401) return say("why_refused");
if (failure.code === "E_HUB_UNREACHABLE") return failure.message || say("why_unreachable");
return failure.message;
}
function cardView(app) {
const id = app.ui.card;
if (!id || app.picker.isOn) return [];
const draft = app.store.drafts.get(id);
const pin = app.store.pin(id);
if (!draft && !pin) return [];
return [draft ? draftCard(app, draft) : pinCard(app,  (pin))];
}
function shell(app, id, name, kids) {
return h(
"section.card",
{
key: "card",
role: "dialog",
"aria-label": name,
tabindex: -1,
"data-pin": id,
ref: ( node) => app.nodes.set("card", node),
},
...kids,
);
}
function crumbs(app, id, target) {
const element = app.markers.element(id, target);
const names = element ? crumbsOf(element) : [labelOfTarget(target)];
if (!names[0]) return null;
const parts = [];
names.forEach((name, i) => parts.push(i ? h("i", { key: `i${i}` }, "›") : null, h("span", { key: `s${i}` }, name)));
return h("p.crumbs.facts", { key: "crumbs", title: target?.selector }, ...parts);
}
function alsoLines(app, target) {
void app;
const others = target?.targets ?? [];
return others.map((other, i) => h("p.crumbs.facts", { key: `also-${i}`, title: other.selector }, h("span", null, `${i + 2}  ${labelOfTarget(other)}`)));
}
function closeButton(app) {
return h("button.act.icon-only", { key: "close", "aria-label": say("close"), title: say("close"), on: { click: () => app.closeCard() } }, icon("close"));
}
function draftCard(app, draft) {
const trouble = app.witness.recent();
const parts = [
trouble.requests.length && (trouble.requests.length === 1 ? say("trouble_request") : say("trouble_requests", { n: trouble.requests.length })),
trouble.errors.length && (trouble.errors.length === 1 ? say("trouble_error") : say("trouble_errors", { n: trouble.errors.length })),
].filter(Boolean);
const { store } = app;
const shooting = app.ui.shooting === draft.id;
return shell(app, draft.id, say("draft_label"), [
h("div.head", { key: "head" }, h("h2", null, mark("draft"), say("draft_label")), draft.text.trim() ? h("button.act", { key: "discard", on: { click: () => app.discardDraft(draft.id) } }, say("discard")) : null, closeButton(app)),
crumbs(app, draft.id, draft.target),
...alsoLines(app, draft.target),
draft.move
? h("p.fine", { key: "moved" }, say("moved", { x: Math.round(draft.move.to.x - draft.move.from.x), y: Math.round(draft.move.to.y - draft.move.from.y) }))
: null,
draft.shotError ? h("p.fine", { key: "shot-error", role: "alert" }, say("shot_failed", { why: draft.shotError })) : null,
shooting ? h("p.fine", { key: "shooting" }, say("shot_taking")) : null,
parts.length
? h(
"label.tick",
{ key: "trouble" },
h("input", {
type: "checkbox",
live: { checked: Boolean(draft.attach) },
on: { change: ( event) => app.editDraft(draft, { attach:  (event.composedPath()[0]).checked }) },
}),
h("span", null, say("attach_trouble", { what: parts.join(` ${say("and")} `) })),
)
: null,
draft.shot ? h("div", { key: "shot", class: "fine" }, picture(app, draft.shot, say("shot_of"))) : null,
composer(app, {
id: draft.id,
isDraft: true,
label: say("draft_label"),
placeholder: say("draft_placeholder"),
text: draft.text,
typed: (text) => app.editDraft(draft, { text }),
send: (text) => app.sendDraft(draft, text),
tools: [
canShoot() && store.config.screenshots !== false
? tool("camera", draft.shot ? say("shot_remove") : say("shot_add"), Boolean(draft.shot), () => (draft.shot ? app.editDraft(draft, { shot: undefined }) : void app.takeShot(draft)))
: null,
draft.target.rect && !draft.target.targets
? tool("move", draft.move ? say("move_remove") : say("move_add"), Boolean(draft.move), () => (draft.move ? app.editDraft(draft, { move: undefined }) : app.picker.startMove(draft)))
: null,
],
}),
]);
}
function tool(name, label, isOn, act) {
return h("button.act.icon-only", { key: name, "aria-label": label, title: label, "aria-pressed": isOn ? "true" : "false", on: { click: act } }, icon(name));
}
function composer(app, given) {
const send = () => {
const field =  (app.nodes.get("field"));
const text = field?.value ?? "";
if (!text.trim()) {
field?.focus();
return;
}
given.send(text);
};
const name = app.store.memory.get("name", "");
return h(
`div.composer${given.isDraft ? ".is-draft-box" : ""}`,
{ key: `composer-${given.id}-${app.ui.sent}` },
h("textarea", {
rows: given.isDraft ? 2 : 1,
"aria-label": given.label,
placeholder: given.placeholder,
"data-pinbox-field": true,
spellcheck: "true",
ref: ( node) => {
node.value = given.text;
app.nodes.set("field", node);
},
on: {
input: ( event) => given.typed( (event.composedPath()[0]).value),
keydown: ( event) => {
if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey) || event.isComposing) return;
event.preventDefault();
send();
},
},
}),
h(
"div.tools",
null,
...(given.tools ?? []),
h("button.act", { key: "as", "aria-label": `${say("name")}: ${name || say("you")}`, on: { click: () => app.openSettings(true) } }, h("span.quiet", null, say("as", { name: name || say("you") }))),
h("span.space", { key: "space" }),
h(
"button.act.solid",
{ key: "send", "aria-disabled": given.text.trim() ? null : "true", title: say("send_hint", { keys: SEND_KEYS }), "aria-keyshortcuts": IS_MAC ? "Meta+Enter" : "Control+Enter", on: { click: send } },
say("send"),
icon("send"),
),
),
);
}
function pinCard(app, pin) {
const { store } = app;
const facts = store.facts(pin);
const state = store.state(pin);
const title = pin.n ? say("pin_n", { n: pin.n }) : say("pin_new");
const word = stateWord(state, facts);
const isHere = Boolean(app.markers.element(pin.id, pin.target));
const isElsewhere = Boolean(pin.target?.url) && viewOf(pin.target?.url) !== viewOf(location.href);
const deciding = facts.entries.find((entry) => entry.kind !== "pin" && entry.kind !== "reply" && !entry.held);
return shell(app, pin.id, say("card_name", { title, state: word, text: pin.text.slice(0, 80) }), [
h(
"div.head",
{ key: "head" },
h("h2", null, h("span", null, title), h("span.state", { class: `is-${state}` }, mark(state), word)),
h("button.act.icon-only", { key: "copy", "aria-label": say("copy"), title: say("copy"), on: { click: () => void app.copy([pin]) } }, icon("copy")),
pin.status === "open" && pin.n ? h("button.act.icon-only", { key: "resolve", "aria-label": say("resolve"), title: say("resolve"), "aria-disabled": deciding ? "true" : null, on: { click: () => app.decide(pin, "resolve") } }, icon("check")) : null,
closeButton(app),
),
crumbs(app, pin.id, pin.target),
...alsoLines(app, pin.target),
h(
"div.body",
{ key: "body", role: "log", "aria-label": say("thread"), tabindex: 0, ref: ( node) => app.nodes.set("thread", node) },
firstMessage(app, pin, facts),
...threadViews(app, pin, facts),
...links(app, pin),
pin.target && isElsewhere
? h("p.way", { key: "elsewhere" }, say("elsewhere"), h("a", { href: safeLink(pin.target.url) }, say("go")))
: pin.target?.selector && !isHere
? h("p.way", { key: "gone" }, say("gone"))
: null,
...outcomeViews(app, pin, facts),
wayOf(facts) ? h("p.way", { key: "way", "data-way": true }, wayOf(facts)) : null,
),
...verdict(app, pin, facts, Boolean(deciding)),
composer(app, {
id: pin.id,
isDraft: false,
label: say("reply_label"),
placeholder: say("reply_placeholder"),
text: store.words(pin.id),
typed: (text) => {
const had = Boolean(store.words(pin.id).trim());
store.words(pin.id, text);
if (had !== Boolean(text.trim())) app.draw();
},
send: (text) => app.sendReply(pin, text),
}),
]);
}
function firstMessage(app, pin, facts) {
const entry = facts.entries.find((known) => known.kind === "pin");
const isMine = pin.author.userId === app.store.consumer;
const move = pin.kind === "move" && pin.move;
return h(
"div.message",
{ key: "first", class: entry ? "is-out" : "" },
by(isMine ? say("you") : pin.author.name || say("someone"), pin.createdAt),
h("p.words", null, pin.text),
move ? h("p.facts", null, say("moved", { x: Math.round(move.to.x - move.from.x), y: Math.round(move.to.y - move.from.y) })) : null,
entry?.shot ? picture(app, entry.shot, say("shot_of")) : null,
...pictures(app, pin.attachments),
entry ? trouble(app, entry) : null,
);
}
function threadViews(app, pin, facts) {
const { store } = app;
const thread = store.threads.get(pin.id);
const views = (thread ?? []).map((message) => {
const isAgent = message.role !== "human";
const name = isAgent ? agentName(message.origin ?? pin.agentSession?.agent) : store.mine.has(message.id) ? say("you") : message.origin || say("someone");
return h("div.message", { key: message.id, class: isAgent ? "by-agent" : "" }, by(name, message.at), h("p.words", null, message.text), ...pictures(app, message.attachments));
});
if (!thread && pin.n) {
const failed = store.unread.has(pin.id);
views.push(
h(
"p.way",
{ key: "loading", role: "status" },
failed ? say("thread_failed") : say("loading"),
failed ? h("button.act", { on: { click: () => void store.readThread(pin.id) } }, say("retry")) : null,
),
);
}
for (const entry of facts.entries.filter((known) => known.kind === "reply")) {
views.push(h("div.message.is-out", { key: entry.id }, by(say("you"), ""), h("p.words", null, JSON.parse(entry.body).text), trouble(app, entry)));
}
return views;
}
function by(name, at) {
return h("p.by", { key: "by" }, h("bdi", null, name), at ? h("time", { datetime: at, title: new Date(at).toLocaleString() }, ago(at)) : null);
}
function trouble(app, entry) {
const { store } = app;
if (!entry.error || store.outbox.sending === entry.id) {
return h("p.quiet.facts", { key: "out" }, store.outbox.sending === entry.id ? say("way_sending") : say("way_unsent"));
}
const text = entry.held ? say("way_rejected", { why: why(entry.error) }) : say("way_later", { why: why(entry.error) });
return h(
"div.trouble",
{ key: "trouble", role: "alert" },
h("strong", { class: "is-failed" }, mark("failed"), say("state_unsent")),
h("p", null, text),
entry.held && entry.error.hint ? h("p.quiet", null, entry.error.hint) : null,
h(
"div.row",
null,
h("button.act.line", { key: "retry", on: { click: () => store.outbox.retry(entry) } }, say("retry")),
entry.kind === "reply" && entry.held ? h("button.act.line", { key: "edit", on: { click: () => app.takeBack(entry) } }, say("edit")) : null,
entry.held ? h("button.act", { key: "discard", on: { click: () => app.discardEntry(entry) } }, say("discard")) : null,
),
);
}
function outcomeViews(app, pin, facts) {
const { resolution, verification } = pin;
const views = [];
if (resolution) {
const who = resolution.by === "agent" ? say("resolved_by_agent", { agent: agentOf(facts) || say("agent") }) : say("resolved_by_human");
views.push(
h(
"div.outcome",
{ key: "resolution", class: pin.status === "resolved" && !verification ? "is-verify" : "is-closed" },
mark(pin.status === "resolved" && !verification ? "verify" : "closed"),
h("span", null, `${who} · ${ago(resolution.at)}`, resolution.commit ? h("span.facts", null, ` ${say("commit", { sha: resolution.commit.slice(0, 8) })}`) : null),
),
);
if (resolution.note) views.push(h("div.message.by-agent", { key: "note" }, h("p.words", null, resolution.note)));
}
if (verification) {
const isAccepted = verification.outcome === "accepted";
views.push(
h(
"div.outcome",
{ key: "verification", class: isAccepted ? "is-closed" : "is-open" },
mark(isAccepted ? "closed" : "open"),
h("span", null, say(isAccepted ? "accepted" : "reopened", { time: ago(verification.at) })),
),
);
}
for (const entry of facts.entries.filter((known) => known.kind !== "reply" && known.kind !== "pin")) {
views.push(h("div.message", { key: entry.id }, h("p.by", null, say(entry.kind === "resolve" ? "resolve" : entry.kind === "accept" ? "looks_good" : "reopen")), trouble(app, entry)));
}
void app;
return views;
}
function verdict(app, pin, facts, isDeciding) {
void facts;
if (pin.status !== "resolved") return [];
const off = isDeciding ? "true" : null;
if (pin.verification) {
return [h("div.verdict", { key: "verdict" }, h("button.act.line", { key: "reopen", "aria-disabled": off, on: { click: () => app.decide(pin, "reopen") } }, icon("again"), say("unresolve")))];
}
return [
h(
"div.verdict",
{ key: "verdict" },
h("button.act.solid", { key: "accept", "aria-disabled": off, on: { click: () => app.decide(pin, "accept") } }, icon("check"), say("looks_good")),
h("button.act.line", { key: "reopen", "aria-disabled": off, on: { click: () => app.decide(pin, "reopen") } }, icon("again"), say("reopen")),
),
];
}
function links(app, pin) {
void app;
const found = (pin.links ?? []).filter((link) => safeLink(link.url));
if (!found.length) return [];
return [
h("p.links", { key: "links" }, ...found.map((link) => h("a", { key: link.url, href: safeLink(link.url), target: "_blank", rel: "noreferrer noopener" }, say("open_link", { name: `${link.connector} ${link.ref}` })))),
];
}
function pictures(app, attachments) {
return (attachments ?? []).flatMap((attachment) => {
const url = app.store.wire.media(attachment.url);
if (!url) return [];
const isImage = attachment.kind === "screenshot" || attachment.contentType?.startsWith("image/");
return [isImage ? picture(app, url, say("shot_of"), attachment.id) : h("a", { key: attachment.id, href: url, target: "_blank", rel: "noreferrer noopener" }, say("attachment"))];
});
}
function picture(app, url, alt, key = "picture") {
return h("img.thumb", { key, src: app.shownImage(url), alt, loading: "lazy", crossorigin: url.startsWith("http") ? "anonymous" : null, referrerpolicy: "no-referrer" });
}
function safeLink(url) {
if (!url) return null;
try {
const place = new URL(url, location.href);
return (place.protocol === "http:" || place.protocol === "https:") && !url.trim().startsWith("//") ? place.href : null;
} catch {
return null;
}
}
const CLICK_SLOP = 6;
const BAR_EDGE = 12;
function yourTurn(app) {
return app.store.list().filter((pin) => isYourTurn(app.store.state(pin))).length;
}
function barView(app) {
const { ui } = app;
if (app.picker.isOn && app.picker.mode !== "fine") return [];
const count = yourTurn(app);
return [
h(
"div.dock",
{ key: "dock", class: ui.small ? "is-puck" : "", "data-x": ui.dock.x, "data-y": ui.dock.y, ref: ( node) => app.nodes.set("dock", node) },
ui.small ? puck(app, count) : bar(app, count),
notice(app),
),
...menu(app),
];
}
function lamp(app) {
const kind = app.store.link === "live" ? "live" : app.store.link === "connecting" ? "connecting" : "off";
return h("span.lamp", { key: "lamp", class: `is-${kind}` });
}
function bar(app, count) {
const { ui, store } = app;
const isPlacing = app.picker.mode === "fine";
return h(
"div.bar",
{ key: "bar", role: "toolbar", "aria-label": say("pinbox"), on: { keydown: rove } },
h(
"button.act.grip",
{ key: "grip", tabindex: 0, "data-link": store.link, "aria-label": `${say("pinbox")}: ${say(`link_${store.link}`)}`, title: say(`link_${store.link}`), "aria-haspopup": "menu", "aria-expanded": ui.menu ? "true" : "false", on: { ...drag(app, () => app.setUi({ menu: !ui.menu })), keydown: ( event) => moveByKey(app, event) } },
drop(),
lamp(app),
),
h("button.act.solid.place", { key: "place", tabindex: -1, "aria-pressed": isPlacing ? "true" : "false", title: `${say(isPlacing ? "pin_stop" : "pin_hint")} (P)`, on: { click: ( event) => (isPlacing ? app.picker.stop() : app.startPlacing(event.detail === 0)) } }, icon(isPlacing ? "close" : "pin"), say(isPlacing ? "cancel" : "pin")),
h(
"button.act.list",
{ key: "list", tabindex: -1, "aria-label": say("inbox_count", { n: count }), title: `${say("inbox")} (I)`, "aria-expanded": ui.inbox ? "true" : "false", on: { click: () => app.toggleInbox() } },
icon("inbox"),
h("span.count", { key: "count", class: count ? "some" : "" }, count > 99 ? "99+" : count),
),
h("button.act.icon-only", { key: "more", tabindex: -1, "aria-label": say("more"), title: say("more"), "aria-haspopup": "menu", "aria-expanded": ui.menu ? "true" : "false", on: { click: () => app.setUi({ menu: !ui.menu }) } }, icon("more")),
h("button.act.icon-only", { key: "small", tabindex: -1, "aria-label": say("minimise"), title: `${say("minimise")} (M)`, on: { click: () => app.minimize() } }, icon("small")),
);
}
function puck(app, count) {
return h(
"button.puck",
{
key: "puck",
"aria-label": `${say("restore")}. ${say("inbox_count", { n: count })}. ${say(`link_${app.store.link}`)}`,
title: say("restore"),
ref: ( node) => app.nodes.set("puck", node),
on: drag(app, () => app.restore()),
},
drop(),
lamp(app),
count ? h("span.count.some", { key: "count" }, count > 99 ? "99+" : count) : null,
);
}
function notice(app) {
const { store, ui } = app;
const out = store.entries.length;
const isBad = store.link !== "live" && store.link !== "connecting";
if ((!isBad && !(out && store.link === "connecting")) || ui.card || ui.inbox || ui.menu || app.picker.isOn) return null;
return h(
"div.notice",
{ key: "notice", role: "status" },
h(
"div",
null,
h("span", { class: "is-failed" }, mark("failed")),
h("span", null, [isBad ? say( (`short_${store.link}`)) : "", out ? say("waiting_out", { n: out }) : ""].filter(Boolean).join(" · ")),
isBad && store.link !== "unset" && store.link !== "outdated" ? h("button.act", { on: { click: () => store.retryLink() } }, say("retry")) : null,
),
);
}
function rove(event) {
const step = { ArrowRight: 1, ArrowLeft: -1, Home: -99, End: 99 }[event.key];
const from = event.composedPath()[0];
if (!step || event.altKey || event.shiftKey || event.ctrlKey || event.metaKey || !(from instanceof HTMLElement)) return;
event.preventDefault();
const buttons = [... (from.closest("[role=toolbar], [role=menu]")).querySelectorAll("button")];
const at = buttons.indexOf( (from));
const to = Math.abs(step) > 1 ? (step > 0 ? buttons.length - 1 : 0) : (at + step + buttons.length) % buttons.length;
buttons.forEach((button, i) => button.setAttribute("tabindex", i === to ? "0" : "-1"));
buttons[to]?.focus();
}
function drag(app, clicked) {
return {
pointerdown: ( event) => {
if (event.button !== 0) return;
const node =  (event.composedPath().find((target) => target instanceof HTMLButtonElement));
node.setPointerCapture(event.pointerId);
app.drag = { x: event.clientX, y: event.clientY, dx: 0, dy: 0, isDrag: false };
},
pointermove: ( event) => {
const { drag } = app;
if (!drag) return;
drag.dx = event.clientX - drag.x;
drag.dy = event.clientY - drag.y;
if (Math.hypot(drag.dx, drag.dy) > CLICK_SLOP) drag.isDrag = true;
if (drag.isDrag) app.layer.schedule();
},
pointerup: ( event) => {
const { drag } = app;
if (!drag?.isDrag) return;
const third = ( at,  size) => (at < size / 3 ? "left" : at > (2 * size) / 3 ? "right" : "middle");
app.dockAt({ x: third(event.clientX, innerWidth), y: event.clientY < innerHeight / 2 ? "top" : "bottom" });
},
pointercancel: () => {
app.drag = null;
app.layer.schedule();
},
click: () => {
const wasDrag = app.drag?.isDrag;
app.drag = null;
if (!wasDrag) clicked();
app.layer.schedule();
},
};
}
function moveByKey(app, event) {
if (!event.shiftKey) return;
const xs =  (["left", "middle", "right"]);
const { x, y } = app.ui.dock;
const at = xs.indexOf(x);
const to = {
ArrowLeft: { x: xs[Math.max(0, at - 1)] ?? x, y },
ArrowRight: { x: xs[Math.min(2, at + 1)] ?? x, y },
ArrowUp: { x, y: "top" },
ArrowDown: { x, y: "bottom" },
};
const place = to[event.key];
if (!place) return;
event.preventDefault();
app.dockAt(place);
}
function measureBar(app) {
const dock = app.nodes.get("dock");
if (!dock?.isConnected) return () => {};
const { width, height } = dock.getBoundingClientRect();
const { x, y } = app.ui.dock;
const viewport = { width: document.documentElement.clientWidth || innerWidth, height: innerHeight };
const left = x === "left" ? BAR_EDGE : x === "right" ? viewport.width - width - BAR_EDGE : (viewport.width - width) / 2;
const own = pageBar(app, left + width / 2, y, viewport.height);
const top = y === "top" ? BAR_EDGE + own : viewport.height - height - BAR_EDGE - own;
const shift = app.drag?.isDrag ? app.drag : { dx: 0, dy: 0 };
app.barBox = { x: left, y: top, width, height };
return () => {
setStyle(dock, "translate", `${Math.round(Math.max(4, left)) + shift.dx}px ${Math.round(top) + shift.dy}px`);
};
}
function pageBar(app, x, y, height) {
const now = performance.now();
const { pageBarSeen: seen } = app;
if (now - seen.at < 300 && seen.y === y) return seen.size;
let size = 0;
for (const element of document.elementsFromPoint(Math.max(1, x), y === "top" ? 2 : height - 3)) {
if (element === app.host) continue;
for (let at =  (element); at && at !== document.body; at = at.parentElement) {
if (!/fixed|sticky/.test(getComputedStyle(at).position)) continue;
const box = at.getBoundingClientRect();
if (box.height <= 120 && box.width > 120) size = y === "top" ? box.bottom : height - box.top;
break;
}
break;
}
app.pageBarSeen = { at: now, y, size };
return size;
}
function menu(app) {
const { ui, store } = app;
if (!ui.menu) return [];
const item = ( key,  name,  label,  letter,  act) =>
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
{ key: "menu", ref: ( node) => app.nodes.set("menu", node) },
h("div.status", { key: "status" }, h("strong", null, say(`link_${store.link}`)), hint || (store.link === "live" ? agents : ""), store.link === "refused" || store.link === "blocked" ? h("button.act.line", { on: { click: () => store.retryLink() } }, say("sign_in")) : null),
h(
"div",
{ key: "items", role: "menu", "aria-label": say("more"), on: { keydown: menuKey } },
item("copy", "copy", say("copy_open"), "C", () => void app.copy()),
item("hide", "eye", say(ui.hidden ? "show_pins" : "hide_pins"), "H", () => app.hide()),
item("theme", ui.theme === "dark" ? "sun" : "moon", say(ui.theme === "dark" ? "theme_light" : "theme_dark"), "D", () => app.toggleTheme()),
item("settings", "keys", say("settings"), "?", () => app.openSettings()),
),
),
];
}
function menuKey(event) {
const key = { ArrowDown: "ArrowRight", ArrowUp: "ArrowLeft" }[event.key];
if (!key) return;
event.preventDefault();
const items = [... ( (event.composedPath()[0]).closest("[role=menu]")).querySelectorAll("button")];
const at = items.indexOf( (event.composedPath()[0]));
items[(at + (key === "ArrowRight" ? 1 : -1) + items.length) % items.length]?.focus();
}
function settingsView(app) {
const { ui, store } = app;
if (!ui.settings) return [];
const keys =  ([
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
{ key: "modal", on: { click: ( event) => event.composedPath()[0] === app.nodes.get("back") && app.closeSettings() }, ref: ( node) => app.nodes.set("back", node) },
h(
"div.modal",
{ role: "dialog", "aria-modal": "true", "aria-label": say("settings"), tabindex: -1, ref: ( node) => app.nodes.set("modal", node), on: { keydown: trap } },
h("div.head", { key: "head" }, h("h2", null, say("settings")), h("button.act.icon-only", { "aria-label": say("close"), on: { click: () => app.closeSettings() } }, icon("close"))),
h(
"label.field",
{ key: "name" },
say("name"),
h("input", {
type: "text",
autocomplete: "name",
maxlength: 80,
ref: ( node) => {
node.value = store.memory.get("name", "");
app.nodes.set("name", node);
},
on: {
input: ( event) => store.memory.set("name",  (event.composedPath()[0]).value.trim()),
keydown: ( event) => event.key === "Enter" && !event.isComposing && app.closeSettings(),
},
}),
h("span.quiet", null, say("name_hint")),
),
h("h3", { key: "keys" }, say("keys")),
h(
"label.tick",
{ key: "tick" },
h("input", { type: "checkbox", live: { checked: ui.keys }, on: { change: ( event) => app.keep({ keys:  (event.composedPath()[0]).checked }) } }),
h("span", null, say("keys_on")),
),
h("dl.keys", { key: "list" }, ...keys.flatMap(([key, name]) => [h("dt", { key: `t${name}` }, say(name)), h("dd", { key: `d${name}` }, h("span.key", null, key))]), h("dt", { key: "tadd" }, say("placing_keys", { shift: SHIFT_KEY })), h("dd", { key: "dadd" })),
),
),
];
}
function trap(event) {
if (event.key !== "Tab") return;
const path = event.composedPath();
const window_ =  (path.find((node) => node instanceof HTMLElement && node.matches("[aria-modal]")));
const inside = [...(window_?.querySelectorAll("button, input, a[href]") ?? [])];
const edge = event.shiftKey ? inside[0] : inside[inside.length - 1];
const to = event.shiftKey ? inside[inside.length - 1] : inside[0];
if (path[0] !== edge && path[0] !== window_) return;
event.preventDefault();
(to)?.focus();
}
const MOST_ROWS = 200;
function inboxView(app) {
if (!app.ui.inbox || app.picker.isOn) return [];
const { store, ui } = app;
const pins = store.list();
const isOpen = ( pin) => store.state(pin) !== "closed";
const open = pins.filter(isOpen);
const closed = pins.filter((pin) => !isOpen(pin));
const wanted = ui.query.trim().toLowerCase().split(/\s+/).filter(Boolean);
const found = (ui.tab === "open" ? open : closed).filter((pin) => has(app, pin, wanted)).slice(0, MOST_ROWS);
return [
h(
"section.inbox",
{ key: "inbox", role: "region", "aria-label": say("inbox"), tabindex: -1, ref: ( node) => app.nodes.set("inbox", node) },
h("div.head", { key: "head" }, h("h2", null, say("inbox")), h("button.act.icon-only", { key: "copy", "aria-label": say("copy_open"), title: say("copy_open"), on: { click: () => void app.copy() } }, icon("copy")), h("button.act.icon-only", { key: "close", "aria-label": say("close"), title: say("close"), on: { click: () => app.toggleInbox(false) } }, icon("close"))),
h(
"div.tabs",
{ key: "tabs", role: "tablist", on: { keydown: ( event) => tabKey(app, event) } },
tab(app, "open", say("inbox_open"), open.length),
tab(app, "closed", say("inbox_closed"), closed.length),
),
h(
"div.find",
{ key: "find" },
icon("search"),
h("input", { type: "search", "aria-label": say("search"), placeholder: say("search"), live: { value: ui.query }, on: { input: ( event) => app.setUi({ query:  (event.composedPath()[0]).value }) } }),
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
function has(app, pin, words) {
if (!words.length) return true;
const thread = app.store.threads.get(pin.id) ?? [];
const text = [`#${pin.n ?? ""}`, pin.id, pin.text, pin.author.name, pin.target?.url, pin.target?.selector, ...thread.map((message) => message.text)].join("\n").toLowerCase();
return words.every((word) => text.includes(word));
}
function groups(app, pins) {
const here = viewOf(location.href);
const yours = pins.filter((pin) => isYourTurn(app.store.state(pin)));
const rest = pins.filter((pin) => !yours.includes(pin));
const isHere = ( pin) => !pin.target?.url || viewOf(pin.target.url) === here;
const sections =  ([
["waiting_for_you", yours],
["this_page", rest.filter(isHere)],
["other_pages", rest.filter((pin) => !isHere(pin))],
]);
return sections.flatMap(([name, list]) => (list.length ? [h("h3", { key: name }, say(name)), ...list.map((pin) => row(app, pin, name !== "this_page"))] : []));
}
function tab(app, name, label, count) {
const isOn = app.ui.tab === name;
return h(
"button.act",
{ key: name, id: `tab-${name}`, role: "tab", "aria-selected": isOn ? "true" : "false", "aria-controls": "inbox-rows", tabindex: isOn ? 0 : -1, on: { click: () => app.setUi({ tab: name }) } },
label,
h("b", null, count),
);
}
function tabKey(app, event) {
if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
event.preventDefault();
app.setUi({ tab: app.ui.tab === "open" ? "closed" : "open" });
app.root.getElementById(`tab-${app.ui.tab}`)?.focus();
}
function rowKey(event) {
const row = event.composedPath()[0];
if (!(row instanceof HTMLElement) || !row.matches(".row-item")) return;
if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
event.preventDefault();
const rows = [... (row.parentElement).querySelectorAll(".row-item")];
const next = rows[rows.indexOf(row) + (event.key === "ArrowDown" ? 1 : -1)];
if (next instanceof HTMLElement) next.focus();
}
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
{ key: pin.id, "data-pin": pin.id, "aria-current": app.ui.card === pin.id ? "true" : null, on: { click: () => app.visit(pin) } },
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
function empty(app, isSearch) {
if (isSearch) return h("p.empty", { key: "empty" }, say("nothing_found"));
if (app.ui.tab === "closed") return h("p.empty", { key: "empty" }, say("nothing_closed"));
return h("p.empty", { key: "empty" }, h("strong", null, say("nothing_open")), say("nothing_open_hint", { key: "P" }));
}
const TOP = "dialog:modal, [popover]:popover-open, :fullscreen";
class Layer {
constructor(host, layer, moved, changed) {
this.host = host;
this.layer = layer;
this.moved = moved;
this.changed = changed;
this.home = document.documentElement;
this.opened = [];
this.isMoving = false;
this.frame = 0;
this.href = location.href;
this.observer = new MutationObserver((records) => this.#mutated(records));
this.guard = new MutationObserver(() => this.#freeHost());
this.resize = new ResizeObserver(() => this.schedule());
}
start() {
this.observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
this.guard.observe(this.host, { attributes: true, attributeFilter: ["inert", "aria-hidden", "hidden"] });
this.resize.observe(document.documentElement);
addEventListener("scroll", this.schedule, { capture: true, passive: true });
addEventListener("resize", this.schedule, { passive: true });
addEventListener("popstate", this.schedule);
addEventListener("hashchange", this.schedule);
document.addEventListener("toggle", this.#toggled, true);
document.addEventListener("close", this.#toggled, true);
document.addEventListener("fullscreenchange", this.#settle);
this.timer = setInterval(() => document.visibilityState === "visible" && this.schedule(), 400);
this.#settle();
this.show();
}
stop() {
this.observer.disconnect();
this.guard.disconnect();
this.resize.disconnect();
removeEventListener("scroll", this.schedule, { capture: true });
removeEventListener("resize", this.schedule);
removeEventListener("popstate", this.schedule);
removeEventListener("hashchange", this.schedule);
document.removeEventListener("toggle", this.#toggled, true);
document.removeEventListener("close", this.#toggled, true);
document.removeEventListener("fullscreenchange", this.#settle);
clearInterval(this.timer);
cancelAnimationFrame(this.frame);
this.frame = 0;
}
show() {
if (!this.host.isConnected || !this.layer.showPopover) return;
try {
if (this.layer.matches(":popover-open")) this.layer.hidePopover();
this.layer.showPopover();
} catch {
}
}
schedule = () => {
this.frame ||= requestAnimationFrame(() => {
this.frame = 0;
if (location.href !== this.href) {
this.href = location.href;
this.changed();
}
this.moved();
});
};
#mutated(records) {
let isOther = false;
for (const { type, target, attributeName } of records) {
if (target === this.host) continue;
isOther = true;
if (type === "childList" || attributeName === "open") {
this.changed();
this.#settle();
break;
}
}
if (isOther) this.schedule();
}
#toggled = (event) => {
if (!(event.target instanceof Element) || event.composedPath().includes(this.host)) return;
this.#settle();
};
#settle = () => {
const open = [...document.querySelectorAll(TOP)].filter((element) => !this.host.contains(element) && canHold(element));
for (let at = document.activeElement; at?.shadowRoot; at = at.shadowRoot.activeElement) {
if (at === this.host) break;
open.push(...at.shadowRoot.querySelectorAll(TOP));
}
const before = this.opened;
this.opened = [...before.filter((element) => open.includes(element)), ...open.filter((element) => !before.includes(element))];
const place = this.opened[this.opened.length - 1] ?? this.home;
if (this.host.parentNode === place) {
if (before.length !== this.opened.length) this.show();
return;
}
this.#move(place);
};
#move(place) {
const focused = this.host.shadowRoot?.activeElement;
this.isMoving = true;
try {
const mover =  (place);
if (mover.moveBefore && this.host.isConnected) mover.moveBefore(this.host, null);
else place.append(this.host);
} catch {
place.append(this.host);
}
this.isMoving = false;
this.show();
if (focused instanceof HTMLElement && this.host.shadowRoot?.activeElement !== focused) focused.focus({ preventScroll: true });
this.schedule();
}
recover() {
this.opened = [];
if (!this.host.isConnected) this.#move(this.home.isConnected ? this.home : document.documentElement);
}
#freeHost() {
for (const name of ["inert", "aria-hidden", "hidden"]) if (this.host.hasAttribute(name)) this.host.removeAttribute(name);
}
}
function canHold(element) {
return element instanceof HTMLElement && !/^(?:img|video|canvas|iframe|input|textarea|object|embed)$/.test(element.localName);
}
const LAST_MESSAGES = 3;
function quote(text) {
return text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => `> ${line}`).join("\n");
}
function code(text) {
const line = text.replace(/\s+/g, " ");
const fence = "`".repeat(Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length)) + 1);
return fence.length > 1 ? `${fence} ${line} ${fence}` : fence + line + fence;
}
function markdownOf(pin, thread, label, state) {
const { target } = pin;
const source = target?.source;
const facts = [
["element", label && code(label)],
["selector", target?.selector && code(target.selector)],
...(target?.targets ?? []).map((other) => ["also", other.selector && code(other.selector)]),
["source", source?.file && code(source.line ? `${source.file}:${source.line}` : source.file)],
["url", target?.url && code(target.url)],
["selected", target?.context?.selectedText && code(target.context.selectedText)],
];
const lines = facts.filter(([, value]) => value).map(([name, value]) => `- ${name}: ${value}`);
const said = thread.slice(-LAST_MESSAGES).map((message) => `${message.role === "human" ? (message.origin ?? "human") : agentName(message.origin)}:\n\n${quote(message.text)}`);
const title = pin.n ? `## #${pin.n} (${pin.id}) ${state}` : `## ${state}`;
return [title, quote(pin.text), lines.join("\n"), ...said].filter(Boolean).join("\n\n");
}
function digest(text) {
let a = 0xdeadbeef;
let b = 0x41c6ce57;
for (let i = 0; i < text.length; i++) {
const code = text.charCodeAt(i);
a = Math.imul(a ^ code, 2654435761);
b = Math.imul(b ^ code, 1597334677);
}
return ((b >>> 0).toString(36) + (a >>> 0).toString(36)).padStart(14, "0");
}
function randomId(length) {
return [...crypto.getRandomValues(new Uint8Array(length))].map((byte) => (byte % 36).toString(36)).join("");
}
class Memory {
constructor(space) {
this.prefix = `pinbox:${space}:`;
this.here = new Map();
}
get(name, otherwise) {
const text = this.here.get(name) ?? this.#stored(name);
if (text === null || text === undefined) return otherwise;
try {
return JSON.parse(text);
} catch {
return otherwise;
}
}
set(name, value) {
const text = JSON.stringify(value);
try {
localStorage.setItem(this.prefix + name, text);
this.here.delete(name);
return true;
} catch {
this.here.set(name, text);
return false;
}
}
remove(name) {
this.here.delete(name);
try {
localStorage.removeItem(this.prefix + name);
} catch {
}
}
names(start) {
const found = new Set([...this.here.keys()].filter((name) => name.startsWith(start)));
try {
for (let i = 0; i < localStorage.length; i++) {
const key = localStorage.key(i);
if (key?.startsWith(this.prefix + start)) found.add(key.slice(this.prefix.length));
}
} catch {
}
return [...found].sort();
}
#stored(name) {
try {
return localStorage.getItem(this.prefix + name);
} catch {
return null;
}
}
}
const STEP = 2;
const BIG_STEP = 20;
const TAIL_MS = 500;
function frame(key, app, kind = "", label = null) {
const edges = ["i.h.light", "i.v.light", "i.h.light", "i.v.light", "i.h", "i.v", "i.h", "i.v"];
return h(`div.frame.${kind || "is-aim"}`, { key, "aria-hidden": "true", ref: ( node) => app.nodes.set(key, node) }, ...edges.map((edge, i) => h(edge, { key: i })), label);
}
function setFrame(node, box) {
if (!node) return;
setHidden(node, !box);
if (!box) return;
const { x, y, width, height } = box;
for (let i = 0; i < 8; i++) {
const out = i < 4 ? 2 : 1;
const edge =  (node.children[i]);
const left = x - out + (i % 4 === 3 ? width : 0);
const top = y - out + (i % 4 === 2 ? height : 0);
const scale = i % 2 ? `scaleY(${(height + 2 * out) / 100})` : `scaleX(${(width + 2 * out) / 100})`;
setStyle(edge, "transform", `translate(${left}px, ${top}px) ${scale}`);
}
const number =  (node.children[8]);
if (number) number.style.transform = `translate(${x - 8}px, ${y - 10}px)`;
}
class Picker {
constructor(app) {
this.app = app;
this.mode = "off";
this.point = null;
this.element = null;
this.added = [];
this.isWalking = false;
this.placed = { at: -1e9, point: null };
this.moving = null;
this.shift = { x: 0, y: 0 };
this.drag = null;
}
isTail(event) {
const { at, point } = this.placed;
return performance.now() - at < TAIL_MS && point !== null && Math.hypot(event.clientX - point.x, event.clientY - point.y) < 5;
}
get isOn() {
return this.mode !== "off";
}
start(byKey = false) {
const isCoarse = matchMedia("(pointer: coarse)").matches || innerWidth < 720;
this.mode = isCoarse ? "reticle" : "fine";
this.added = [];
this.element = null;
this.point = isCoarse ? { x: innerWidth / 2, y: innerHeight / 2 } : this.app.pointer;
this.isWalking = byKey && !isCoarse;
if (this.isWalking) {
const focused = document.activeElement;
this.element = focused && focused !== document.body && focused !== this.app.host ? focused : this.#at({ x: innerWidth / 2, y: innerHeight / 3 });
}
this.app.draw();
if (byKey) this.app.nodes.get(isCoarse ? "reticle" : "shield")?.focus({ preventScroll: true });
this.app.announce(say("placing_said"));
this.app.layer.schedule();
}
startMove(draft) {
this.mode = "move";
this.moving = draft;
this.shift = draft.move ? { x: draft.move.to.x - draft.move.from.x, y: draft.move.to.y - draft.move.from.y } : { x: 0, y: 0 };
this.app.draw();
this.app.nodes.get("shield")?.focus({ preventScroll: true });
this.app.announce(say("move_hint"));
this.app.layer.schedule();
}
stop() {
this.mode = "off";
this.added = [];
this.element = null;
this.moving = null;
this.drag = null;
this.app.draw();
}
#at(point) {
let root = document;
let found = null;
for (;;) {
const inside = root;
const next = inside.elementsFromPoint(point.x, point.y).find((element) => element !== this.app.host && element.getRootNode() === inside);
if (!next || next === found) return found;
found = next;
if (!next.shadowRoot) return found;
root = next.shadowRoot;
}
}
#move = (event) => {
this.point = { x: event.clientX, y: event.clientY };
if (this.mode === "move") {
if (this.drag) this.#shiftTo({ x: this.drag.from.x + event.clientX - this.drag.x, y: this.drag.from.y + event.clientY - this.drag.y });
return;
}
if (this.mode === "fine") this.isWalking = false;
this.app.layer.schedule();
};
#click = (event) => {
event.preventDefault();
if (this.mode === "move") return;
if (this.mode === "reticle") {
this.#reticleTo({ x: event.clientX, y: event.clientY });
return;
}
const point = { x: event.clientX, y: event.clientY };
const element = this.#at(point);
if (!element) return;
if (event.shiftKey) this.#add(element, point);
else this.#commit(element, point);
};
key(event) {
const { key } = event;
if (key === "Escape") {
const draft = this.moving;
this.stop();
if (draft) this.app.openDraft(draft.id);
return true;
}
const step = event.shiftKey ? BIG_STEP : STEP;
const way = { ArrowUp: { x: 0, y: -1 }, ArrowDown: { x: 0, y: 1 }, ArrowLeft: { x: -1, y: 0 }, ArrowRight: { x: 1, y: 0 } }[key];
if (this.mode === "move") {
if (way) this.#shiftTo({ x: this.shift.x + way.x * step, y: this.shift.y + way.y * step });
else if (key === "Enter") this.#endMove();
else return false;
return true;
}
if (key === "Enter" && event.composedPath()[0] instanceof HTMLButtonElement && event.composedPath().includes(this.app.host)) return false;
if (this.mode === "reticle") {
const at = this.point ?? { x: innerWidth / 2, y: innerHeight / 2 };
if (way) this.#reticleTo({ x: at.x + way.x * step, y: at.y + way.y * step });
else if (key === "Enter") this.#here(event.shiftKey);
else return false;
return true;
}
if (way) {
this.#walk(key);
return true;
}
if (key === "Enter") {
if (!this.element) return true;
const point = this.isWalking ? undefined : (this.point ?? undefined);
if (event.shiftKey) this.#add(this.element, point);
else this.#commit(this.element, point);
return true;
}
return false;
}
#walk(key) {
const from = this.element ?? this.#at({ x: innerWidth / 2, y: innerHeight / 3 }) ?? document.body;
this.isWalking = true;
const isShown = (element) => element && element !== this.app.host && element.getClientRects().length > 0;
const along = ( element,  side) => {
let next = element[side];
while (next && !isShown(next)) next = next[side];
return next;
};
let to = null;
if (key === "ArrowUp") to = parentOf(from);
else if (key === "ArrowDown") to = [...(from.shadowRoot ?? from).children].find(isShown);
else {
const side = key === "ArrowRight" ? "nextElementSibling" : "previousElementSibling";
for (let at =  (from); at && !to; at = parentOf(at)) to = along(at, side);
}
if (!to || to === document.documentElement) return;
this.element = to;
to.scrollIntoView({ block: "nearest", inline: "nearest" });
this.app.announce(crumbsOf(to).join(", "));
this.app.layer.schedule();
}
#add(element, point) {
if (!this.added.some((known) => known.element === element)) this.added.push({ element, point });
this.app.announce(say("added", { what: crumbsOf(element).pop() ?? "" }));
this.app.draw();
this.app.layer.schedule();
}
#commit(element, point) {
const others = this.added.filter((known) => known.element !== element);
const target = targetOf(element, point);
if (others.length) target.targets = others.map((other) => targetOf(other.element, other.point));
const elements = [element, ...others.map((other) => other.element)];
this.mode = "off";
this.added = [];
this.element = null;
this.placed = { at: performance.now(), point: this.point };
this.app.newDraft({ id: `draft-${randomId(10)}`, text: "", target, at: Date.now() }, elements);
}
#here(isMore) {
const point = this.point;
const element = point && this.#at(point);
if (!point || !element) return;
if (isMore) this.#add(element, point);
else this.#commit(element, point);
}
#reticleTo(point) {
this.point = { x: Math.min(innerWidth - 1, Math.max(1, point.x)), y: Math.min(innerHeight - 1, Math.max(1, point.y)) };
this.app.layer.schedule();
}
#shiftTo(shift) {
this.shift = { x: Math.round(shift.x), y: Math.round(shift.y) };
this.app.layer.schedule();
}
#endMove() {
const draft = this.moving;
if (!draft) return;
const from = draft.target.rect;
if (from && (this.shift.x || this.shift.y)) draft.move = { from, to: { ...from, x: from.x + this.shift.x, y: from.y + this.shift.y } };
else delete draft.move;
this.app.store.keepDraft(draft);
this.mode = "off";
this.moving = null;
this.app.openDraft(draft.id);
}
#wheel = (event) => {
for (let at = this.#at({ x: event.clientX, y: event.clientY }); at; at = parentOf(at)) {
const isDown = event.deltaY > 0;
if (at === document.scrollingElement || at === document.body) return;
if (at.scrollHeight <= at.clientHeight || !/auto|scroll/.test(getComputedStyle(at).overflowY)) continue;
if (isDown ? at.scrollTop + at.clientHeight < at.scrollHeight - 1 : at.scrollTop > 0) {
at.scrollBy({ top: event.deltaY, behavior: "instant" });
return;
}
}
};
view() {
if (!this.isOn) return [];
const { app } = this;
const still = ( event) => event.preventDefault();
const startDrag = ( event,  from) => {
event.preventDefault();
(event.composedPath()[0]).setPointerCapture(event.pointerId);
this.drag = { x: event.clientX, y: event.clientY, from };
};
const endDrag = () => {
const wasMove = this.drag && this.mode === "move";
this.drag = null;
if (wasMove) this.#endMove();
};
const shield = h("div.shield", {
key: "shield",
tabindex: -1,
role: "application",
"aria-label": say(this.mode === "move" ? "move_hint" : "placing_said"),
ref: ( node) => app.nodes.set("shield", node),
on: {
pointermove: this.#move,
click: this.#click,
wheel: this.#wheel,
mousedown: still,
contextmenu: still,
selectstart: still,
pointerdown: ( event) => (this.mode === "move" ? startDrag(event, { ...this.shift }) : undefined),
pointerup: endDrag,
},
});
const views = [shield];
this.added.forEach((_, i) => views.push(frame(`added-${i}`, app, "is-added", h("span.no", null, i + 1))));
views.push(frame("aim", app, this.mode === "move" ? "is-added" : ""));
if (this.mode !== "move") views.push(h("div.tag", { key: "tag", "aria-hidden": "true", ref: ( node) => app.nodes.set("tag", node) }));
if (this.mode === "reticle") {
views.push(
h("div.reticle", {
key: "reticle",
role: "slider",
tabindex: 0,
"aria-label": say("reticle"),
"aria-valuenow": 0,
"aria-valuetext": this.element ? crumbsOf(this.element).join(", ") : "",
ref: ( node) => app.nodes.set("reticle", node),
on: {
pointerdown: ( event) => startDrag(event, { ...(this.point ?? { x: 0, y: 0 }) }),
pointermove: ( event) =>
this.drag && this.#reticleTo({ x: this.drag.from.x + event.clientX - this.drag.x, y: this.drag.from.y + event.clientY - this.drag.y }),
pointerup: endDrag,
pointercancel: endDrag,
},
}),
h(
"div.aimbar",
{ key: "aimbar", role: "toolbar", "aria-label": say("placing") },
h("button.act", { on: { click: () => this.stop() } }, say("cancel")),
h("button.act.line", { on: { click: () => this.#here(true) } }, this.added.length ? `${say("add_here")} (${this.added.length})` : say("add_here")),
h("button.act.solid", { on: { click: () => this.#here(false) } }, icon("pin"), say("pin_here")),
),
);
}
return views;
}
measure() {
if (!this.isOn) return () => {};
const { app } = this;
const added = this.added.map(({ element }) => element.getBoundingClientRect());
if (this.mode === "move") {
const from = this.moving?.target.rect;
const box = from ? { x: from.x - scrollX + this.shift.x, y: from.y - scrollY + this.shift.y, width: from.width, height: from.height } : null;
return () => setFrame(app.nodes.get("aim"), box);
}
if (!this.isWalking && this.point) this.element = this.#at(this.point);
const element = this.element;
const box = element?.getBoundingClientRect() ?? null;
const tag = app.nodes.get("tag");
const crumbs = element ? crumbsOf(element) : [];
return () => {
setFrame(app.nodes.get("aim"), box);
added.forEach((rect, i) => setFrame(app.nodes.get(`added-${i}`), rect));
const { point } = this;
if (this.mode === "reticle" && point) app.nodes.get("reticle")?.style.setProperty("transform", `translate(${point.x}px, ${point.y}px)`);
if (!tag) return;
tag.hidden = !box;
if (!box) return;
const last = crumbs.pop() ?? "";
tag.replaceChildren(...(crumbs.length ? [quiet(`${crumbs.join(" › ")} › `)] : []), last);
const y = box.y > 36 ? box.y - 34 : Math.min(innerHeight - 36, box.y + box.height + 8);
const x = Math.max(8, Math.min(box.x, innerWidth - 8 - Math.min(420, 16 + (last.length + crumbs.join(" › ").length) * 7.4)));
tag.style.transform = `translate(${Math.round(x)}px, ${Math.round(Math.max(8, y))}px)`;
};
}
}
function quiet(text) {
const span = document.createElement("span");
span.textContent = text;
return span;
}
const OFF_X = 14;
const OFF_Y = 34;
const HEIGHT = 24;
const NEAR = 28;
const MOST_FANNED = 6;
const MORE_WIDTH = 26;
const MOST_MARKS = 200;
const SEARCH_MS = 150;
class Markers {
constructor(app) {
this.app = app;
this.elements = new Map();
this.others = new Map();
this.sought = new Set();
this.marks = new Map();
this.spots = [];
this.view_ = "";
this.searchedAt = 0;
this.isStale = true;
this.chips = new Map();
}
stale() {
this.isStale = true;
}
remember(id, elements) {
const [first, ...rest] = elements;
if (first) this.elements.set(id, first);
this.others.set(id, rest);
}
rename(from, to) {
const element = this.elements.get(from);
if (element) this.remember(to, [element, ...(this.others.get(from) ?? [])]);
}
element(id, target) {
const known = this.elements.get(id);
if (known?.isConnected) return known;
this.elements.delete(id);
if (!target || viewOf(target.url) !== viewOf(location.href)) return null;
const found = find(target.selector);
if (found) this.elements.set(id, found);
return found;
}
view() {
const { app } = this;
const here = viewOf(location.href);
if (here !== this.view_) {
this.view_ = here;
this.elements.clear();
for (const [id, elements] of app.draftElements) this.remember(id, elements);
this.isStale = true;
}
const spots = [];
const active = app.ui.card;
if (!app.ui.hidden || active) {
for (const draft of app.store.drafts.values()) {
if (draft.id === active || (!app.ui.hidden && draft.text)) spots.push(spotOf(draft.id, "", "draft", draft.target, active === draft.id, say("state_draft")));
}
for (const pin of app.store.list()) {
if (spots.length >= MOST_MARKS) break;
const state = app.store.state(pin);
if (pin.id !== active && (app.ui.hidden || state === "closed")) continue;
if (!pin.target?.selector || viewOf(pin.target.url) !== here) continue;
spots.push(spotOf(pin.id, pin.n ? String(pin.n) : "", state, pin.target, pin.id === active, stateWord(state, app.store.facts(pin))));
}
}
this.spots = spots;
const views = [];
const current = spots.find((spot) => spot.isActive);
if (current && !app.picker.isOn) {
views.push(frame("active", app));
current.target.targets?.forEach((_, i) => views.push(frame(`active-${i}`, app, "is-added", h("span.no", null, i + 2))));
const pin = app.store.pin(current.id) ?? app.store.drafts.get(current.id);
if (pin?.move) views.push(frame("moved", app, "is-added"));
}
const marks = new Map();
for (const spot of spots) {
const sign = `${spot.n} ${spot.state} ${spot.word} ${spot.isActive}`;
const known = this.marks.get(spot.id);
const mark = known?.sign === sign ? known : { sign, view: this.#mark(spot) };
marks.set(spot.id, mark);
views.push(mark.view);
}
this.marks = marks;
return views;
}
#mark(spot) {
const { app } = this;
const keep = ( name) => ( node) => app.nodes.set(`${name}:${spot.id}`, node);
const name = spot.n ? say("pin_n", { n: spot.n }) : say("pin_new");
return h(
"div.pin-mark",
{ key: spot.id, class: `is-${spot.state}`, ref: keep("spot") },
h("div.needle", { ref: keep("needle") }),
h("div.dot", { ref: keep("dot") }),
h(
"button.chip",
{
ref: keep("chip"),
"aria-label": `${name}, ${spot.word}`,
"aria-expanded": spot.isActive ? "true" : "false",
"data-pin": spot.id,
on: { click: () => app.toggleCard(spot.id) },
},
mark(spot.state),
h("span", { ref: keep("count") }, spot.n || "…"),
),
);
}
measure() {
const { app } = this;
const now = performance.now();
const mayFind = this.isStale && now - this.searchedAt > SEARCH_MS;
if (this.isStale && !mayFind) app.layer.schedule();
if (mayFind) {
this.isStale = false;
this.searchedAt = now;
this.sought.clear();
}
const places = this.spots.map((spot) => {
const known = this.elements.get(spot.id);
const element = known?.isConnected ? known : this.sought.has(spot.id) ? null : this.element(spot.id, spot.target);
if (!element) this.sought.add(spot.id);
const box = element?.getBoundingClientRect();
return { spot, box: box && (box.width || box.height) ? box : null };
});
const active = this.spots.find((spot) => spot.isActive);
const activeBox = places.find((place) => place.spot === active)?.box ?? null;
const others = active ? this.#otherBoxes(active) : [];
const moved = active && (app.store.pin(active.id) ?? app.store.drafts.get(active.id))?.move?.to;
const width = innerWidth;
const height = innerHeight;
return () => {
this.chips.clear();
const taken = [];
for (const { spot, box } of places) {
const node = app.nodes.get(`spot:${spot.id}`);
if (!node) continue;
const x = box ? box.x + box.width * (spot.target.spot?.x ?? 0.5) : 0;
const y = box ? box.y + box.height * (spot.target.spot?.y ?? 0.5) : 0;
const isIn = box && x > -8 && y > -8 && x < width + 8 && y < height + 8;
setHidden(node, !isIn);
if (!isIn) continue;
this.#put(spot, x, y, width, taken);
}
setFrame(app.nodes.get("active"), activeBox);
others.forEach((box, i) => setFrame(app.nodes.get(`active-${i}`), box));
if (moved) setFrame(app.nodes.get("moved"), { ...moved, x: moved.x - scrollX, y: moved.y - scrollY });
};
}
#put(spot, x, y, width, taken) {
const { app } = this;
const size = 30 + 7.5 * Math.max(1, spot.n.length);
let left = x + OFF_X + size > width - 4 ? x - OFF_X - size : x + OFF_X;
let top = y - OFF_Y < 4 ? y + OFF_Y - HEIGHT : y - OFF_Y;
const bar = app.barBox;
if (left < bar.x + bar.width + 4 && left + size > bar.x - 4 && top < bar.y + bar.height + 4 && top + HEIGHT > bar.y - 4) {
top = bar.y > innerHeight / 2 ? bar.y - HEIGHT - 8 : bar.y + bar.height + 8;
}
const chip = app.nodes.get(`chip:${spot.id}`);
const needle = app.nodes.get(`needle:${spot.id}`);
const step = left < x ? -1 : 1;
let lead;
for (let i = 0; i < MOST_FANNED + 2; i++) {
const near = taken.find((other) => Math.abs(other.top - top) < NEAR && left < other.left + other.width + 4 && other.left < left + size + 4);
if (!near) break;
lead ??= near;
left = step > 0 ? near.left + near.width + 6 : near.left - size - 6;
}
const fanned = lead ? taken.filter((other) => other.lead === lead?.lead).length : 0;
if (lead && (fanned >= MOST_FANNED || left < 4 || left + size + MORE_WIDTH > width - 4)) {
const last = taken.findLast((other) => other.lead === lead?.lead) ?? lead;
last.count += 1;
last.width += last.count === 2 ? MORE_WIDTH : 0;
app.nodes.get(`count:${last.id}`)?.setAttribute("data-more", `+${last.count - 1}`);
if (step < 0 && last.count === 2) {
last.left -= MORE_WIDTH;
setStyle(app.nodes.get(`chip:${last.id}`), "margin-left", `${-MORE_WIDTH}px`);
}
setHidden(chip, true);
setHidden(needle, true);
this.chips.set(spot.id, last);
setStyle(app.nodes.get(`spot:${spot.id}`), "transform", `translate(${x}px, ${y}px)`);
return;
}
const more = app.nodes.get(`count:${spot.id}`);
if (more?.hasAttribute("data-more")) more.removeAttribute("data-more");
setHidden(chip, false);
setStyle(chip, "margin-left", "0px");
setHidden(needle, false);
const place = { left, top, width: size, count: 1, lead: lead?.lead ?? spot.id, id: spot.id };
taken.push(place);
this.chips.set(spot.id, place);
const toX = left + size / 2 < x ? left + size - 4 - x : left + 4 - x;
const toY = top + HEIGHT / 2 < y ? top + HEIGHT - 2 - y : top + 2 - y;
setStyle(app.nodes.get(`spot:${spot.id}`), "transform", `translate(${x}px, ${y}px)`);
setStyle(chip, "transform", `translate(${tenths(left - x)}px, ${tenths(top - y)}px)`);
setStyle(needle, "transform", `rotate(${tenths(Math.atan2(toY, toX) * 100) / 100}rad) scaleX(${tenths(Math.hypot(toX, toY)) / 100})`);
}
#otherBoxes(spot) {
const known = this.others.get(spot.id);
const elements = known?.length ? known : (spot.target.targets ?? []).map((target) => find(target.selector));
return elements.map((element) => element?.getBoundingClientRect() ?? new DOMRect(-99, -99, 0, 0));
}
}
function tenths(value) {
return Math.round(value * 10) / 10;
}
function spotOf(id, n, state, target, isActive, word) {
return { id, n, state, target, isActive, word };
}
const send = window.fetch.bind(window);
const PATIENCE_MS = 30_000;
class HubError extends Error {
constructor(failure) {
super(failure.message);
this.failure = failure;
}
get status() {
return this.failure.status;
}
get isPassing() {
return this.status === 0 || this.status === 401 || this.status === 408 || this.status === 429 || this.status >= 500;
}
}
function failureOf(error) {
if (error instanceof HubError) return error.failure;
return { code: "E_INTERNAL", message: String(error), status: 0 };
}
class Wire {
constructor(config) {
this.config = config;
this.endpoint = plainEndpoint(config.endpoint);
this.token = config.token ?? "";
this.renewing = null;
this.isAsked = false;
}
get(path) {
return this.#ask(path, { method: "GET" });
}
post(path, body, key) {
return this.#ask(path, { method: "POST", body, headers: { "content-type": "application/json", "idempotency-key": key } });
}
upload(path, blob) {
return this.#ask(path, { method: "POST", body: blob, headers: { "content-type": blob.type } });
}
renew() {
this.renewing ??= this.#renew().finally(() => (this.renewing = null));
return this.renewing;
}
async #renew() {
const before = `${this.endpoint} ${this.token}`;
try {
if (this.config.getToken) this.token = await this.config.getToken();
else if (this.config.discover) {
const place = new URL(this.config.discover, location.href);
if (place.origin === location.origin) {
const found = await (await send(place, { cache: "no-store", signal: AbortSignal.timeout(5_000) })).json();
if (typeof found.endpoint === "string") this.endpoint = plainEndpoint(found.endpoint);
if (typeof found.token === "string") this.token = found.token;
}
}
} catch {
}
return `${this.endpoint} ${this.token}` !== before;
}
async ready() {
if (this.isAsked) return;
this.isAsked = true;
if (this.config.getToken) await this.renew();
}
async #ask(path, init) {
await this.ready();
try {
return await this.#once(path, init);
} catch (error) {
if (!(error instanceof HubError) || error.status !== 401 || !(await this.renew())) throw error;
return this.#once(path, init);
}
}
async #once(path, init) {
let status = 0;
let answer;
try {
const response = await send(this.endpoint + path, {
...init,
headers: { ...init.headers, authorization: `Bearer ${this.token}` },
credentials: "omit",
cache: "no-store",
redirect: "error",
signal: AbortSignal.timeout(PATIENCE_MS),
});
status = response.status;
answer = await response.json();
} catch {
throw new HubError({ code: "E_HUB_UNREACHABLE", message: status ? `HTTP ${status}` : "", status: status >= 400 ? status : 0 });
}
if (answer?.ok === true) return answer.data;
const error = answer?.error ?? {};
throw new HubError({ code: String(error.code ?? "E_INTERNAL"), message: String(error.message ?? `HTTP ${status}`), hint: error.hint, status: status || 500 });
}
media(url) {
if (!url || /^[\s\u0000-\u001f]*\/\//.test(url)) return "";
try {
const place = new URL(url, this.endpoint + "/");
return place.protocol === "http:" || place.protocol === "https:" ? place.href : "";
} catch {
return "";
}
}
}
function plainEndpoint(endpoint) {
try {
const place = new URL(endpoint, location.href);
if (place.protocol !== "http:" && place.protocol !== "https:") return "";
return (place.origin + place.pathname).replace(/\/+$/, "");
} catch {
return "";
}
}
const MIN_PROTOCOL = 1;
const PROTOCOL = 1;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
const STEADY_MS = 10_000;
const SPREAD_MS = 2_000;
function backoff(failures, chance = Math.random()) {
const base = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
return Math.min(LONGEST_WAIT_MS, base * (1 + chance / 4)) + (failures === 1 ? chance * SPREAD_MS : 0);
}
class Socket {
constructor(wire, consumer, ends) {
this.isLive = false;
this.isOver = false;
this.since = 0;
this.ends = ends;
this.early = [];
const place = `${wire.endpoint.replace(/^http/, "ws")}/ws`;
try {
this.socket = new WebSocket(place, `pinbox.token.${wire.token}`);
} catch {
queueMicrotask(() => this.#over(1006));
return;
}
this.socket.onopen = () => {
const logId = ends.logId();
this.socket?.send(JSON.stringify({ type: "hello", protocol: PROTOCOL, consumerId: consumer, lastSeq: ends.cursor(), ...(logId ? { logId } : {}) }));
};
this.socket.onmessage = (message) => this.#read(message.data);
this.socket.onclose = (event) => this.#over(event.code);
}
close() {
this.isOver = true;
this.socket?.close(1000);
}
#read(data) {
let frame;
try {
frame = JSON.parse(String(data));
} catch {
return;
}
if (this.isOver) return;
if (frame.type === "catch-up") {
if (frame.minProtocol > PROTOCOL || frame.protocol < MIN_PROTOCOL) {
this.socket?.close(4400);
this.#over(4400);
return;
}
this.isLive = true;
this.since = performance.now();
this.ends.caughtUp(frame.events.map(asEvent), { id: frame.logId ?? "", newest: frame.lastSeq, isOther: frame.reset === true });
if (this.isOver) return;
for (const event of this.early.splice(0)) this.ends.event(event);
} else if (frame.type === "event") {
if (this.isLive) this.ends.event(asEvent(frame));
else this.early.push(asEvent(frame));
}
}
#over(code) {
if (this.isOver) return;
this.isOver = true;
this.ends.closed(code, this.isLive, this.isLive && performance.now() - this.since > STEADY_MS);
}
}
function asEvent(frame) {
return { seq: frame.seq, type: frame.eventType, at: frame.at, payload: frame.payload };
}
const START = "out:";
const MOST_TRIES = 4;
const MOST_SENT = 100;
class Outbox {
constructor(memory, wire, ends) {
this.memory = memory;
this.wire = wire;
this.ends = ends;
this.isFlushing = false;
this.isAskedAgain = false;
this.sending = null;
this.lastAt = 0;
}
all() {
return this.memory
.names(START)
.map((name) => this.memory.get(name,  (null)))
.filter((entry) => entry !== null);
}
add(given) {
this.lastAt = Math.max(Date.now(), this.lastAt + 1);
const entry = { id: `${given.kind}-${randomId(16)}`, at: this.lastAt, tries: 0, ...given };
this.memory.set(this.#name(entry), entry);
this.ends.changed();
void this.flush();
return entry;
}
retry(entry) {
const { error, held, ...rest } = entry;
void error;
void held;
this.#keep({ ...rest, tries: 0 });
void this.flush();
}
discard(entry) {
this.memory.remove(this.#name(entry));
this.ends.changed();
}
settled(id) {
return this.memory.get("sent",  ([])).find(([local]) => local === id)?.[1] ?? id;
}
async flush() {
if (this.isFlushing) {
this.isAskedAgain = true;
return;
}
this.isFlushing = true;
try {
do {
this.isAskedAgain = false;
const work = () => this.#drain();
if (navigator.locks) await navigator.locks.request(`${this.memory.prefix}flush`, work);
else await work();
} while (this.isAskedAgain);
} finally {
this.isFlushing = false;
}
}
async #drain() {
for (;;) {
const entry = this.#next();
if (!entry) return;
this.sending = entry.id;
this.ends.changed();
try {
const answer = await this.#send(entry);
if (entry.kind === "pin") this.#settle(entry.id, answer.id);
this.memory.remove(this.#name(entry));
this.sending = null;
this.ends.sent(entry, answer);
this.ends.changed();
} catch (error) {
this.sending = null;
if (!(await this.#failed(entry, error))) return;
}
}
}
#next() {
const entries = this.all();
const unsent = new Set(entries.filter((entry) => entry.kind === "pin").map((entry) => entry.id));
const held = new Set(entries.filter((entry) => entry.held).map((entry) => entry.pin));
return entries.find((entry) => !entry.held && !held.has(entry.pin) && (entry.kind === "pin" || !unsent.has(entry.pin)));
}
async #send(entry) {
let body = entry.body;
if (entry.shot) body = await this.#withPicture(entry);
return this.wire.post(this.#path(entry), body, entry.id);
}
async #withPicture(entry) {
const blob = blobOf( (entry.shot));
const { attachment } = await this.wire.upload("/attachments?kind=screenshot", blob);
const body = JSON.stringify({ ...JSON.parse(entry.body), attachments: [{ id: attachment.id, kind: attachment.kind }] });
entry.body = body;
delete entry.shot;
this.#keep(entry);
return body;
}
async #failed(entry, error) {
if (entry.shot && error instanceof HubError && !error.isPassing) {
delete entry.shot;
this.#keep(entry);
return true;
}
if (!this.all().some((known) => known.id === entry.id)) return true;
const passing = error instanceof HubError && error.isPassing;
const tries = entry.tries + (passing &&  (error).status >= 500 ? 1 : 0);
const held = !passing || tries >= MOST_TRIES;
this.#keep({ ...entry, tries, error: failureOf(error), ...(held ? { held } : {}) });
if (held) return true;
this.ends.failed( (error));
return false;
}
#path(entry) {
const pin = this.settled(entry.pin);
switch (entry.kind) {
case "pin":
return "/pins";
case "reply":
return `/pins/${pin}/thread`;
case "resolve":
return `/pins/${pin}/resolve`;
default:
return `/pins/${pin}/verify`;
}
}
#settle(local, id) {
const sent = this.memory.get("sent",  ([]));
this.memory.set("sent", [...sent, [local, id]].slice(-MOST_SENT));
}
#keep(entry) {
this.memory.set(this.#name(entry), entry);
this.ends.changed();
}
#name(entry) {
return `${START}${String(entry.at).padStart(14, "0")}:${entry.id}`;
}
}
function blobOf(url) {
const [head = "", base64 = ""] = url.split(",");
const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
return new Blob([bytes], { type: /^data:([^;]+)/.exec(head)?.[1] ?? "application/octet-stream" });
}
const SHEET_BELOW = 720;
const WIDTH = 336;
const GAP = 12;
const EDGE = 8;
const ENOUGH = 360;
const TALLEST = 560;
function measureCard(app) {
placeMenu(app);
const card = app.nodes.get("card");
if (!card?.isConnected) return () => {};
const target = areaOf(app);
const bar = app.barBox;
const space = { left: EDGE, top: EDGE, right: innerWidth - EDGE, bottom: (visualViewport?.height ?? innerHeight) - EDGE };
const inbox = app.nodes.get("inbox");
if (inbox?.isConnected && innerWidth >= SHEET_BELOW) space.right = Math.min(space.right, inbox.getBoundingClientRect().left - GAP);
const isSmall = innerWidth < SHEET_BELOW;
const height = card.scrollHeight;
const place = target && !isSmall ? beside(target, space, bar, height) : null;
return () => {
const { style } = card;
card.classList.toggle("is-sheet", !place);
if (place) {
style.translate = `${Math.round(place.left)}px ${Math.round(place.top)}px`;
style.width = `${WIDTH}px`;
style.maxHeight = `${Math.round(place.tallest)}px`;
return;
}
sheet(card, target, space, bar);
};
}
function beside(target, space, bar, height) {
const free = { right: space.right - target.right, left: target.left - space.left, below: space.bottom - target.bottom, above: target.top - space.top };
const enough = ENOUGH - EDGE;
const side =  (["right", "left", "below", "above"]).find((name) => free[name] >= enough);
if (!side) return null;
let left = side === "right" ? target.right + GAP : side === "left" ? target.left - GAP - WIDTH : Math.min(target.left, space.right - WIDTH);
left = Math.max(space.left, Math.min(left, space.right - WIDTH));
let { top, bottom } = space;
if (side === "below") top = target.bottom + GAP;
if (side === "above") bottom = target.top - GAP;
if (left < bar.x + bar.width + EDGE && left + WIDTH > bar.x - EDGE) {
if (bar.y > innerHeight / 2) bottom = Math.min(bottom, bar.y - EDGE);
else top = Math.max(top, bar.y + bar.height + EDGE);
}
const tallest = Math.min(TALLEST, bottom - top);
const size = Math.min(height, tallest);
const wish = side === "above" ? bottom - size : side === "below" ? top : target.top - 4;
return { left, top: Math.max(top, Math.min(wish, bottom - size)), tallest };
}
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
function areaOf(app) {
const id = app.ui.card;
if (!id) return null;
const target = app.store.drafts.get(id)?.target ?? app.store.pin(id)?.target;
const box = app.markers.element(id, target)?.getBoundingClientRect();
if (!box || (!box.width && !box.height)) return null;
const area = { left: Math.max(0, box.left), top: Math.max(0, box.top), right: Math.min(innerWidth, box.right), bottom: Math.min(innerHeight, box.bottom) };
if (area.right < area.left || area.bottom < area.top) return null;
const chip = app.markers.chips.get(id);
if (!chip) return area;
return { left: Math.min(area.left, chip.left), top: Math.min(area.top, chip.top), right: Math.max(area.right, chip.left + chip.width), bottom: Math.max(area.bottom, chip.top + 24) };
}
function placeMenu(app) {
const menu = app.nodes.get("menu");
if (!menu?.isConnected) return;
const { width, height } = menu.getBoundingClientRect();
const bar = app.barBox;
const left = Math.max(EDGE, Math.min(bar.x, innerWidth - width - EDGE));
const top = bar.y > innerHeight / 2 ? Math.max(EDGE, bar.y - height - EDGE) : bar.y + bar.height + EDGE;
menu.style.translate = `${Math.round(left)}px ${Math.round(top)}px`;
}
const MOST_OPEN = 5_000;
const PAGE = 1_000;
const MOST_CLOSED = 200;
const MOST_KEPT = 300;
const POLL_MS = 2_500;
const DELIVERIES_MS = 3_000;
const SILENT_MS = 1_500;
const AT_ONCE = 3;
class Store {
constructor(config, changed) {
this.config = config;
this.listed = null;
this.changed = () => {
this.listed = null;
changed();
};
this.wire = new Wire(config);
this.memory = new Memory(config.project || (config.token ? digest(config.token) : digest(config.endpoint)));
this.outbox = new Outbox(this.memory, this.wire, {
changed: () => this.#entriesChanged(),
sent: (entry, answer) => this.#sent(entry, answer),
failed: (error) => this.#outboxFailed(error),
});
this.consumer = this.memory.get("consumer", "");
if (!this.consumer) {
this.consumer = randomId(10);
this.memory.set("consumer", this.consumer);
}
this.pins = new Map(this.memory.get("pins",  ([])).map((pin) => [pin.id, pin]));
this.threads = new Map();
this.tails = new Map(Object.entries(this.memory.get("tails",  ({}))));
this.deliveries = new Map();
this.drafts = new Map();
for (const name of this.memory.names("draft:")) this.#readDraft(name);
this.isWriting = () => false;
this.entries = this.outbox.all();
this.mine = new Set(this.memory.get("mine",  ([])));
this.agents = [];
this.link = this.wire.endpoint ? "connecting" : "unset";
this.reading = new Map();
this.unread = new Set();
this.cursor = -1;
this.logId = "";
this.failures = 0;
this.cspBlocked = false;
this.heard = () => {};
this.accepted = () => {};
this.socket = null;
this.isStopped = true;
this.isConnecting = false;
this.refusals = 0;
this.timers = {};
this.seesDeliveries = true;
}
start() {
if (!this.isStopped) return;
this.isStopped = false;
window.addEventListener("online", this.#again);
window.addEventListener("pageshow", this.#again);
window.addEventListener("storage", this.#elsewhere);
document.addEventListener("visibilitychange", this.#seen);
document.addEventListener("securitypolicyviolation", this.#violated);
if (this.link === "unset") return;
this.#later("silent", SILENT_MS, () => this.link === "connecting" && this.#setLink("offline"));
void this.#connect();
}
stop() {
this.isStopped = true;
for (const timer of Object.values(this.timers)) clearTimeout(timer);
this.timers = {};
this.socket?.close();
this.socket = null;
window.removeEventListener("online", this.#again);
window.removeEventListener("pageshow", this.#again);
window.removeEventListener("storage", this.#elsewhere);
document.removeEventListener("visibilitychange", this.#seen);
document.removeEventListener("securitypolicyviolation", this.#violated);
}
#again = () => {
if (this.isStopped || this.socket?.isLive || this.link === "outdated") return;
void this.#connect();
};
retryLink() {
this.failures = 0;
void this.wire.renew().then(this.#again);
}
#seen = () => {
if (document.visibilityState !== "visible") return;
if (!this.socket?.isLive && this.link !== "refused") this.#again();
this.#watchDeliveries();
};
#elsewhere = (event) => {
if (!event.key?.startsWith(this.memory.prefix)) return;
const name = event.key.slice(this.memory.prefix.length);
if (name.startsWith("out:")) this.#entriesChanged();
if (name.startsWith("draft:") && !this.isWriting(name.slice("draft:".length))) {
this.#readDraft(name);
this.changed();
}
};
#violated = (event) => {
if (event.effectiveDirective === "connect-src" && event.blockedURI.startsWith(new URL(this.wire.endpoint).origin)) {
this.cspBlocked = true;
this.#setLink("blocked");
}
};
#later(name, ms, work) {
clearTimeout(this.timers[name]);
if (this.isStopped) return;
this.timers[name] = window.setTimeout(work, ms);
}
#setLink(link) {
if (this.link === link || this.link === "outdated") return;
this.link = link;
this.changed();
}
async #connect() {
if (this.isStopped || this.isConnecting) return;
this.isConnecting = true;
clearTimeout(this.timers.again);
this.socket?.close();
this.socket = null;
try {
await this.wire.ready();
if (this.cursor < 0) await this.#pull();
else await this.#follow();
this.#answered();
this.#openSocket();
} catch (error) {
await this.#unreachable(error);
} finally {
this.isConnecting = false;
}
}
#answered() {
clearTimeout(this.timers.silent);
this.cspBlocked = false;
this.#setLink("live");
if (this.entries.length) void this.outbox.flush();
this.#watchDeliveries(this.deliveries.size === 0);
}
async #unreachable(error) {
this.failures += 1;
if (error instanceof HubError && error.status === 401) {
this.#setLink("refused");
return;
}
this.#setLink(this.cspBlocked || (await isLocalNetworkDenied(this.wire.endpoint)) ? "blocked" : "offline");
if (this.failures > 1) await this.wire.renew();
this.#later("again", backoff(this.failures), this.#again);
}
async #pull() {
const summary =  (await this.wire.get("/summary"));
const open = await this.#openPins();
const closed =  (await this.wire.get(`/pins?status=resolved&limit=${MOST_CLOSED}`));
this.pins = new Map([...open, ...closed].map((pin) => [pin.id, pin]));
this.threads.clear();
this.agents = summary.agents ?? [];
this.cursor = summary.lastEventSeq;
for (const id of this.tails.keys()) if (!this.pins.has(id)) this.tails.delete(id);
this.#mirror();
this.changed();
void this.#learnTails();
}
async #openPins() {
const found = [];
for (let before = ""; found.length < MOST_OPEN; ) {
const page =  (await this.wire.get(`/pins?status=open&limit=${PAGE}${before}`));
found.push(...page);
if (page.length < PAGE) break;
before = `&before=${page[page.length - 1]?.id}`;
}
return found;
}
async #follow() {
for (;;) {
const events =  (await this.wire.get(`/events?after=${this.cursor}&limit=${PAGE}`));
this.#apply(events);
if (events.length < PAGE) return;
}
}
#openSocket() {
const socket = new Socket(this.wire, `${this.consumer}-${randomId(4)}`, {
cursor: () => Math.max(0, this.cursor),
logId: () => this.logId,
caughtUp: (events, log) => {
this.logId = log.id;
if (log.isOther || log.newest < this.cursor) {
this.cursor = -1;
this.socket?.close();
void this.#connect();
return;
}
clearTimeout(this.timers.poll);
this.#apply(events);
this.#answered();
},
event: (event) => this.#apply([event]),
closed: (code, wasLive, wasSteady) => this.#closed(code, wasLive, wasSteady),
});
this.socket = socket;
}
#closed(code, wasLive, wasSteady) {
this.socket = null;
if (this.isStopped) return;
if (code === 4400) {
this.#setLink("outdated");
return;
}
if (code === 4401) {
void this.wire.renew().then((isNew) => (isNew ? this.#again() : this.#setLink("refused")));
return;
}
this.failures = wasSteady ? 1 : this.failures + 1;
if (wasLive) {
this.#later("silent", SILENT_MS, () => !this.socket?.isLive && this.#check());
} else this.#later("poll", POLL_MS, () => this.#poll());
this.#later("again", backoff(this.failures), this.#again);
}
#check() {
this.#follow().then(
() => this.#answered(),
() => this.#setLink("offline"),
);
}
#poll() {
if (this.isStopped || this.socket?.isLive) return;
const next = () => this.#later("poll", POLL_MS, () => this.#poll());
if (document.visibilityState !== "visible" || this.isConnecting) return next();
this.#follow().then(
() => {
this.#answered();
next();
},
() => this.#setLink("offline"),
);
}
#apply(events) {
let isNew = false;
for (const event of events) {
if (event.seq <= this.cursor) continue;
this.cursor = event.seq;
isNew = true;
if (event.type === "thread.message") this.#putMessage( (event.payload));
else this.#putPin( (event.payload));
this.heard(event);
}
if (!isNew) return;
this.#mirror();
this.#watchDeliveries(true);
this.changed();
}
#putPin(pin) {
const session = pin.agentSession ?? this.pins.get(pin.id)?.agentSession;
this.pins.set(pin.id, session ? { ...pin, agentSession: session } : pin);
}
#putMessage(message) {
const thread = this.threads.get(message.pinId);
this.reading.get(message.pinId)?.push(message);
const isKnown = thread?.some((known) => known.id === message.id);
if (isKnown) return;
thread?.push(message);
const before = this.tails.get(message.pinId);
if (before && before.at > message.at) return;
const count = thread ? thread.length : (before?.count ?? 0) + (before?.at === message.at ? 0 : 1);
this.tails.set(message.pinId, tailOf(message, count));
}
async #learnTails() {
const waiting = [...this.pins.values()].filter((pin) => pin.status === "open").slice(0, MOST_KEPT);
const work = async () => {
for (let pin = waiting.shift(); pin; pin = waiting.shift()) await this.readThread(pin.id);
};
await Promise.all(Array.from({ length: AT_ONCE }, work));
this.#mirror();
}
async readThread(id) {
if (this.threads.has(id) || this.reading.has(id) || !id.startsWith("pin_")) return;
const meanwhile = [];
this.reading.set(id, meanwhile);
try {
const thread =  (await this.wire.get(`/pins/${id}/thread`));
const extra = meanwhile.filter((message) => !thread.some((known) => known.id === message.id));
const whole = [...thread, ...extra];
this.threads.set(id, whole);
this.unread.delete(id);
const last = whole[whole.length - 1];
if (last) this.tails.set(id, tailOf(last, whole.length));
else this.tails.delete(id);
} catch {
this.unread.add(id);
} finally {
this.reading.delete(id);
this.changed();
}
}
#watchDeliveries(soon = false) {
const pending = [...this.pins.values()].some((pin) => pin.status === "open" && !this.deliveries.get(pin.id)?.acknowledgedAt);
if (!this.seesDeliveries || this.isStopped || (!pending && !soon)) return;
if (this.timers.deliveries && !soon) return;
this.#later("deliveries", soon ? 50 : DELIVERIES_MS, () => {
delete this.timers.deliveries;
void this.#readDeliveries();
});
}
async #readDeliveries() {
if (document.visibilityState !== "visible" || this.link !== "live") return;
try {
const rows =  (await this.wire.get(`/deliveries?limit=${PAGE}`));
const newest = new Map();
for (const row of rows) if (row.status !== "skipped" && !newest.has(row.pinId)) newest.set(row.pinId, row);
const isOther = newest.size !== this.deliveries.size || [...newest].some(([pin, row]) => this.deliveries.get(pin)?.updatedAt !== row.updatedAt);
this.deliveries = newest;
if (isOther) {
const summary =  (await this.wire.get("/summary"));
this.agents = summary.agents ?? [];
for (const row of newest.values()) {
const pin = this.pins.get(row.pinId);
if (!row.handedOverAt || !pin || pin.agentSession || pin.status !== "open") continue;
const known =  (await this.wire.get(`/pins/${row.pinId}`));
if (known.agentSession) this.pins.set(known.id, { ...(this.pins.get(known.id) ?? known), agentSession: known.agentSession });
}
this.changed();
}
} catch (error) {
if (error instanceof HubError && error.status > 0 && error.status < 500) this.seesDeliveries = false;
}
this.#watchDeliveries();
}
list() {
if (!this.listed) {
const queued = this.entries.filter((entry) => entry.kind === "pin").map((entry) => pinOf(entry));
const known = [...this.pins.values()].sort((a, b) => (b.n ?? 0) - (a.n ?? 0));
this.listed = [...queued.reverse(), ...known];
}
return this.listed;
}
pin(id) {
const known = this.pins.get(id);
if (known) return known;
const entry = this.entries.find((entry) => entry.id === id && entry.kind === "pin");
return entry && pinOf(entry);
}
facts(pin) {
return {
pin,
tail: this.tails.get(pin.id),
delivery: this.deliveries.get(pin.id),
entries: this.entries.filter((entry) => entry.pin === pin.id || this.outbox.settled(entry.pin) === pin.id),
};
}
state(pin) {
return stateOf(this.facts(pin));
}
author() {
const name = this.memory.get("name", "");
return name ? { userId: this.consumer, name } : { userId: this.consumer };
}
createPin(input, shot) {
const id = `pin-${randomId(16)}`;
return this.outbox.add({ id, kind: "pin", pin: id, body: JSON.stringify(input), ...(shot ? { shot } : {}) });
}
reply(pin, text) {
const name = this.memory.get("name", "");
return this.outbox.add({ kind: "reply", pin, body: JSON.stringify({ role: "human", text, ...(name ? { origin: name } : {}) }) });
}
decide(pin, kind) {
const body = kind === "resolve" ? { by: "human" } : { outcome: kind === "accept" ? "accepted" : "reopened" };
return this.outbox.add({ kind, pin, body: JSON.stringify(body) });
}
keepDraft(draft) {
this.drafts.set(draft.id, draft);
if (draft.text.trim()) this.memory.set(`draft:${draft.id}`, draft);
else this.memory.remove(`draft:${draft.id}`);
}
dropDraft(id) {
this.drafts.delete(id);
this.memory.remove(`draft:${id}`);
this.changed();
}
#readDraft(name) {
const draft = this.memory.get(name,  (null));
if (draft) this.drafts.set(draft.id, draft);
else this.drafts.delete(name.slice("draft:".length));
}
words(pin, text) {
if (text === undefined) return this.memory.get(`words:${pin}`, "");
if (text) this.memory.set(`words:${pin}`, text);
else this.memory.remove(`words:${pin}`);
return text;
}
#entriesChanged() {
this.entries = this.outbox.all();
this.changed();
}
#sent(entry, answer) {
if (entry.kind === "reply") {
this.mine.add(answer.id);
this.memory.set("mine", [...this.mine].slice(-500));
this.#putMessage(answer);
} else {
this.#putPin(answer);
if (entry.kind === "pin" && !this.tails.has(answer.id)) this.threads.set(answer.id, []);
}
this.refusals = 0;
this.#setLink("live");
this.#watchDeliveries(true);
this.#mirror();
this.accepted(entry, answer);
}
#outboxFailed(error) {
if (error.status === 401) this.#setLink("refused");
else if (error.status === 0) this.#setLink("offline");
this.refusals += 1;
this.#later("flush", backoff(this.refusals), () => void this.outbox.flush());
}
#mirror() {
this.#later("mirror", 500, () => {
const open = [...this.pins.values()].filter((pin) => pin.status === "open" || !pin.verification);
this.memory.set("pins", open.slice(0, MOST_KEPT));
this.memory.set("tails", Object.fromEntries([...this.tails].filter(([id]) => this.pins.get(id)?.status === "open")));
});
}
}
function tailOf(message, count) {
const { role, at, origin } = message;
return origin ? { role, at, count, origin } : { role, at, count };
}
function pinOf(entry) {
return { ...JSON.parse(entry.body), id: entry.id, status: "open", createdAt: new Date(entry.at).toISOString() };
}
async function isLocalNetworkDenied(endpoint) {
if (location.protocol !== "https:" || !/^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]?/.test(endpoint)) return false;
if (/^(localhost|127\.0\.0\.1|\[::1\])$/.test(location.hostname)) return false;
for (const name of ["loopback-network", "local-network-access"]) {
try {
const found = await navigator.permissions.query({ name:  (name) });
if (found.state === "denied") return true;
if (found.state === "granted") return false;
} catch {
}
}
return true;
}
const css = `
:host { all: initial !important; position: fixed !important; inset: 0 auto auto 0 !important; width: 0 !important; height: 0 !important;
  display: block !important; z-index: 2147483000 !important; pointer-events: none !important; contain: none !important; }
#layer { --ease: cubic-bezier(.2,.7,.3,1);
  --ground: #ffffff; --raised: #f4f5f7; --edge: #868d99; --line: #e3e5ea; --ink: #16181d; --soft: #575d69; --scrim: rgba(22,24,29,.38);
  --accent: var(--pb-accent, #3451d1); --on-accent: #ffffff; --tint: #eef1fd;
  --c-draft: #575d69; --c-unsent: #575d69; --c-open: #575d69; --c-with: #0b6a7d; --c-answered: #7a35b8; --c-verify: #915200; --c-closed: #1b7040; --c-failed: #bd2732;
  --shadow: 0 1px 2px rgba(16,20,32,.10), 0 10px 32px rgba(16,20,32,.18);
  --sans: ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  position: fixed; inset: 0; width: auto; height: auto; max-width: none; max-height: none; margin: 0; padding: 0; border: 0; background: none; overflow: visible;
  display: block; pointer-events: none; color: var(--ink); font: 400 14px/1.5 var(--sans); text-align: start; letter-spacing: 0; -webkit-font-smoothing: antialiased; color-scheme: light; user-select: none; -webkit-user-select: none; }
#layer[data-theme=dark] {
  --ground: #1c1e23; --raised: #282b32; --edge: #7f8694; --line: #34383f; --ink: #f1f2f4; --soft: #aab0bb; --scrim: rgba(0,0,0,.5);
  --accent: var(--pb-accent, #93a5ff); --on-accent: #10142b; --tint: #272d49;
  --c-draft: #aab0bb; --c-unsent: #aab0bb; --c-open: #aab0bb; --c-with: #5fd0e3; --c-answered: #cda2ff; --c-verify: #f2bd62; --c-closed: #67d297; --c-failed: #ff9a9a;
  --shadow: 0 0 0 1px rgba(255,255,255,.09), 0 12px 36px rgba(0,0,0,.55); color-scheme: dark; }
#layer *, #layer *::before, #layer *::after { box-sizing: border-box; }
#layer [hidden] { display: none; }
button, input, textarea { font: inherit; color: inherit; letter-spacing: 0; margin: 0; }
button { appearance: none; border: 0; background: none; padding: 0; cursor: pointer; touch-action: manipulation; text-align: inherit; }
svg { display: block; flex: none; overflow: visible; }
p, ul, ol, h2, h3, dl, dd { margin: 0; padding: 0; font: inherit; list-style: none; }
a { color: var(--accent); text-underline-offset: 2px; }
:focus { outline: none; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.quiet { color: var(--soft); }
.facts { font: 400 12px/1.4 var(--mono); color: var(--soft); }
.said { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.mark { color: var(--c-open); }
.mark .cut { stroke: var(--ground); } .mark .hole { fill: var(--ground); }
.is-draft { --c: var(--c-draft); } .is-unsent { --c: var(--c-unsent); } .is-failed { --c: var(--c-failed); } .is-open { --c: var(--c-open); }
.is-with { --c: var(--c-with); } .is-answered { --c: var(--c-answered); } .is-verify { --c: var(--c-verify); } .is-closed { --c: var(--c-closed); }
.mark { color: var(--c); }
.state { display: inline-flex; align-items: center; gap: 6px; font: 500 12px/1.4 var(--sans); color: var(--c); white-space: nowrap; }

.act { display: inline-flex; align-items: center; justify-content: center; gap: 6px; min-height: 32px; min-width: 32px; padding: 0 12px; border-radius: 8px; font: 500 13px/1 var(--sans); white-space: nowrap; }
.act.solid { background: var(--accent); color: var(--on-accent); }
.act.line { box-shadow: inset 0 0 0 1px var(--edge); }
.act.icon-only { padding: 0; width: 32px; flex: none; color: var(--soft); }
.act:disabled, .act[aria-disabled=true] { cursor: default; background: var(--raised); color: var(--soft); box-shadow: none; }
@media (hover: hover) { .act:hover:not(:disabled) { background: var(--raised); color: var(--ink); } .act.solid:hover:not(:disabled) { background: color-mix(in srgb, var(--accent) 88%, var(--ink)); color: var(--on-accent); } }

.bar, .puck, .card, .inbox, .modal, .menu, .toast, .aimbar { pointer-events: auto; background: var(--ground); color: var(--ink); box-shadow: var(--shadow), 0 0 0 1px var(--edge-soft, rgba(20,24,36,.10)); }

.dock { position: fixed; left: 0; top: 0; display: flex; align-items: center; touch-action: none; }
.bar { display: flex; align-items: center; gap: 4px; height: 44px; padding: 0 4px; border-radius: 14px; }
.bar .act { height: 36px; }
.bar .grip { width: 36px; padding: 0; cursor: grab; position: relative; border-radius: 10px; color: var(--ink); }
.bar .grip[data-link=live] { color: var(--accent); }
.bar .grip:active { cursor: grabbing; }
.bar .place { width: 84px; padding: 0; }
.bar .place[aria-pressed=true] { background: var(--ink); color: var(--ground); }
.bar .list { width: 68px; padding: 0; color: var(--ink); }
.count { min-width: 20px; height: 20px; padding: 0 5px; border-radius: 10px; display: inline-flex; align-items: center; justify-content: center; font: 600 12px/1 var(--sans); font-variant-numeric: tabular-nums; color: var(--soft); }
.count.some { background: var(--ink); color: var(--ground); }
.lamp { position: absolute; inset-inline-end: 2px; bottom: 3px; width: 10px; height: 10px; border-radius: 5px; box-shadow: 0 0 0 2px var(--ground); background: var(--c-failed); }
.lamp.is-connecting { background: var(--ground); box-shadow: inset 0 0 0 2px var(--soft), 0 0 0 2px var(--ground); }
.lamp.is-live { display: none; }
.puck { width: 48px; height: 48px; border-radius: 24px; display: grid; place-items: center; position: relative; touch-action: none; color: var(--accent); }
.puck .count { position: absolute; top: -4px; inset-inline-end: -4px; box-shadow: 0 0 0 2px var(--ground); }
.puck .lamp { bottom: 6px; inset-inline-end: 6px; }
.notice { position: absolute; inset-inline: 0; display: flex; justify-content: center; pointer-events: none; }
.notice > div { pointer-events: auto; max-width: 100%; display: flex; align-items: center; gap: 8px; min-height: 32px; padding: 4px 6px 4px 12px; border-radius: 10px; background: var(--ground); color: var(--ink); box-shadow: var(--shadow), 0 0 0 1px var(--edge); font: 400 12px/1.4 var(--sans); }
.dock[data-y=bottom] .notice { bottom: calc(100% + 8px); } .dock[data-y=top] .notice { top: calc(100% + 8px); }
.dock.is-puck .notice { inset-inline: auto; width: 240px; } .dock.is-puck[data-x=left] .notice { left: 0; justify-content: flex-start; } .dock.is-puck[data-x=right] .notice { right: 0; justify-content: flex-end; } .dock.is-puck[data-x=middle] .notice { left: -96px; }

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

.card { position: fixed; left: 0; top: 0; width: 336px; border-radius: 14px; display: flex; flex-direction: column; overflow: hidden; }
.card.is-sheet { width: auto; max-width: 560px; border-radius: 16px; }
.card .head { display: flex; align-items: center; gap: 4px; padding: 8px 8px 0 14px; min-height: 40px; }
.card .head h2 { flex: 1; min-width: 0; display: flex; align-items: center; gap: 8px; font: 600 14px/1.3 var(--sans); }
.card .head .state { overflow: hidden; text-overflow: ellipsis; }
.crumbs { padding: 0 14px; display: flex; gap: 6px; align-items: baseline; overflow: hidden; white-space: nowrap; }
.crumbs span { overflow: hidden; text-overflow: ellipsis; flex: 0 1 auto; min-width: 24px; } .crumbs span:last-child { color: var(--ink); flex-shrink: .4; } .crumbs i { font-style: normal; flex: none; }
.body { padding: 10px 14px 0; overflow-y: auto; overscroll-behavior: contain; min-height: 0; flex: 1 1 auto; user-select: text; -webkit-user-select: text; outline-offset: -2px; }
.message { margin-bottom: 12px; }
.message .by { display: flex; gap: 8px; align-items: baseline; font: 600 12px/1.4 var(--sans); color: var(--ink); }
.message .by time { font-weight: 400; color: var(--soft); }
.words { white-space: pre-wrap; overflow-wrap: anywhere; font: 400 14px/1.5 var(--sans); unicode-bidi: plaintext; text-align: start; }
.message.by-agent { background: var(--raised); border-radius: 10px; padding: 8px 10px; margin-inline: -2px; }
.message.is-out .words { color: var(--soft); }
.outcome { display: flex; gap: 8px; align-items: center; margin-bottom: 12px; font: 400 12px/1.45 var(--sans); color: var(--soft); }
.outcome .mark { margin-top: 1px; }
.way { display: flex; gap: 8px; align-items: baseline; margin: 0 0 12px; font: 400 12px/1.45 var(--sans); color: var(--soft); }
.trouble { margin: 0 0 12px; padding: 8px 10px; border-radius: 10px; box-shadow: inset 0 0 0 1px var(--c-failed); font: 400 12px/1.45 var(--sans); color: var(--ink); overflow-wrap: anywhere; }
.trouble strong { color: var(--c-failed); font-weight: 600; display: flex; gap: 6px; align-items: center; }
.trouble .row { display: flex; gap: 8px; margin-top: 6px; }
.thumb { display: block; width: 100%; max-height: 140px; object-fit: cover; object-position: top left; border-radius: 8px; margin-top: 6px; box-shadow: inset 0 0 0 1px var(--line); border: 1px solid var(--line); background: var(--raised); }
.links { display: flex; flex-wrap: wrap; gap: 6px; margin-bottom: 12px; }
.links a { font: 500 12px/1 var(--sans); padding: 10px 0; }
.verdict { display: flex; gap: 8px; padding: 10px 14px 0; } .verdict .act { flex: 1; min-height: 36px; }
.composer { margin: 10px 10px 10px; border-radius: 10px; box-shadow: inset 0 0 0 1px var(--edge); background: var(--ground); flex: none; }
.composer:focus-within { box-shadow: inset 0 0 0 2px var(--accent); }
.composer textarea { display: block; width: 100%; min-height: 40px; max-height: 160px; padding: 9px 12px 4px; border: 0; background: none; resize: none; font: 400 14px/1.5 var(--sans); field-sizing: content; outline: none; user-select: text; -webkit-user-select: text; unicode-bidi: plaintext; }
.composer.is-draft-box textarea { min-height: 68px; }
textarea::placeholder, input::placeholder { color: var(--soft); opacity: 1; }
.composer .tools { display: flex; align-items: center; gap: 4px; padding: 4px; }
.composer .tools .space { flex: 1; min-width: 0; }
.composer .tools .act[aria-pressed=true] { color: var(--accent); background: var(--tint); }
.tick { display: flex; gap: 8px; align-items: center; min-height: 32px; margin: 6px 14px 0; font: 400 12px/1.4 var(--sans); color: var(--ink); cursor: pointer; }
.tick input { width: 16px; height: 16px; accent-color: var(--accent); flex: none; margin: 0; }
.fine { padding: 6px 14px 0; font: 400 12px/1.4 var(--sans); color: var(--soft); }

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
.toast { position: fixed; left: 50%; bottom: 72px; transform: translateX(-50%); padding: 9px 14px; border-radius: 10px; font: 500 13px/1.3 var(--sans); background: var(--ink); color: var(--ground); max-width: calc(100vw - 32px); }
.dock-top .toast { bottom: auto; top: 72px; }

.pin-mark { position: fixed; left: 0; top: 0; width: 0; height: 0; contain: layout style; will-change: transform; }
.dot { position: absolute; left: -4px; top: -4px; width: 8px; height: 8px; border-radius: 4px; background: var(--c, #fff); box-shadow: 0 0 0 1.5px #fff, 0 0 0 2.5px rgba(10,12,18,.85); }
.needle { position: absolute; left: 0; top: -1px; width: 100px; height: 2px; transform-origin: 0 50%; background: rgba(10,12,18,.85); box-shadow: 0 0 0 1px #fff; border-radius: 1px; }
.chip { position: absolute; left: 0; top: 0; pointer-events: auto; min-width: 24px; height: 24px; padding: 0 7px 0 6px; border-radius: 12px; display: inline-flex; align-items: center; gap: 4px; background: var(--ground); color: var(--ink); font: 600 12px/1 var(--sans); font-variant-numeric: tabular-nums; box-shadow: 0 0 0 1px rgba(10,12,18,.8), 0 0 0 2px #fff, 0 3px 8px rgba(16,20,32,.28); white-space: nowrap; }
.chip span[data-more]::after { content: attr(data-more); margin-inline-start: 4px; color: var(--soft); }
.chip::after { content: ""; position: absolute; inset: -4px; }
.chip:focus-visible { outline-offset: 3px; outline-color: #3451d1; box-shadow: 0 0 0 1px rgba(10,12,18,.8), 0 0 0 3px #fff; }
.chip[aria-expanded=true] { background: var(--ink); color: var(--ground); } .chip[aria-expanded=true] .mark { color: inherit; } .chip[aria-expanded=true] .cut { stroke: var(--ink); } .chip[aria-expanded=true] .hole { fill: var(--ink); }

.frame { position: fixed; left: 0; top: 0; width: 0; height: 0; pointer-events: none; }
.frame i { position: absolute; left: 0; top: 0; width: 100px; height: 100px; transform-origin: 0 0; }
.frame i.h { height: 2px; background: #3451d1; } .frame i.v { width: 2px; background: #3451d1; }
.frame i.light { background: #fff; } .frame i.h.light { height: 4px; } .frame i.v.light { width: 4px; }
.frame.is-added i.h:not(.light) { background: repeating-linear-gradient(90deg, #3451d1 0 6px, #fff 6px 10px); } .frame.is-added i.v:not(.light) { background: repeating-linear-gradient(#3451d1 0 6px, #fff 6px 10px); }
.frame .no { position: absolute; left: 0; top: 0; min-width: 20px; height: 20px; padding: 0 5px; border-radius: 10px; background: #3451d1; color: #fff; box-shadow: 0 0 0 1.5px #fff, 0 0 0 2.5px #0a0c12; font: 600 12px/20px var(--sans); text-align: center; }
.shield { position: fixed; inset: 0; pointer-events: auto; cursor: crosshair; background: none; touch-action: pan-x pan-y; }
.tag { position: fixed; left: 0; top: 0; max-width: min(420px, calc(100vw - 16px)); padding: 5px 9px; border-radius: 7px; background: #16181d; color: #fff; box-shadow: 0 0 0 1px rgba(255,255,255,.85), 0 4px 14px rgba(0,0,0,.3); font: 500 12px/1.4 var(--mono); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; pointer-events: none; }
.tag span { color: #c3c8d2; }
.reticle { position: fixed; left: -36px; top: -36px; width: 72px; height: 72px; border-radius: 36px; pointer-events: auto; touch-action: none; cursor: grab; box-shadow: inset 0 0 0 2px #3451d1, inset 0 0 0 3.5px #fff, 0 0 0 1.5px #0a0c12; background: radial-gradient(circle at center, #3451d1 0 3px, #fff 3px 5px, #0a0c12 5px 6px, transparent 6px); }
.aimbar { position: fixed; left: 50%; transform: translateX(-50%); bottom: calc(12px + env(safe-area-inset-bottom)); display: flex; gap: 4px; padding: 4px; border-radius: 14px; max-width: calc(100vw - 16px); }
.aimbar .act { min-height: 40px; }
.hint { position: fixed; left: 50%; transform: translateX(-50%); pointer-events: none; padding: 7px 12px; border-radius: 9px; background: #16181d; color: #fff; box-shadow: 0 0 0 1px rgba(255,255,255,.85); font: 400 12px/1.4 var(--sans); max-width: calc(100vw - 32px); text-align: center; }

@media (prefers-reduced-motion: no-preference) {
  .card, .inbox, .menu, .modal, .toast { animation: enter 150ms var(--ease); }
  .chip.is-new { animation: enter 180ms var(--ease); }
  .lamp.is-connecting { animation: wait 1.2s ease-in-out 4; }
}
@keyframes enter { from { opacity: 0; transform: translateY(4px); } }
@keyframes wait { 50% { opacity: .35; } }
.toast { animation-name: enter-toast; } @keyframes enter-toast { from { opacity: 0; transform: translate(-50%, 4px); } }

@media (pointer: coarse) {
  .act { min-height: 44px; min-width: 44px; } .act.icon-only { width: 44px; } .bar .act { height: 44px; } .bar { padding: 0; } .bar .grip { width: 44px; } .bar .list { width: 72px; } .bar .place { width: 88px; }
  .composer textarea, .find input, .field input { font-size: 16px; } .find input, .field input { height: 44px; } .find .icon { top: 14px; } .menu button { min-height: 44px; } .tick { min-height: 44px; } .aimbar .act { min-height: 44px; }
  .chip span[data-more]::after { content: attr(data-more); margin-inline-start: 4px; color: var(--soft); }
.chip::after { inset: -10px; } .verdict .act { min-height: 44px; } .links a { padding: 16px 0; }
}
@media (max-width: 719px) { .inbox { inset: auto 0 0 0; top: max(48px, 8vh); width: auto; max-width: none; border-radius: 18px 18px 0 0; padding-bottom: env(safe-area-inset-bottom); } .card.is-sheet { border-radius: 16px; } }
@media (forced-colors: active) {
  .bar, .puck, .card, .inbox, .modal, .menu, .toast, .chip, .aimbar, .tag, .hint, .notice > div { border: 1px solid CanvasText; }
  .act.solid { forced-color-adjust: none; background: Highlight; color: HighlightText; }
  .composer, .find input, .field input, .act.line { border: 1px solid CanvasText; }
  .frame i, .dot, .needle, .reticle { forced-color-adjust: none; }
  [aria-selected=true], [aria-pressed=true], [aria-current=true] { outline: 2px solid Highlight; outline-offset: -2px; }
}
`;
let looks = null;
function dress(root) {
if (!looks) {
looks = new CSSStyleSheet();
looks.replaceSync(css);
}
root.adoptedStyleSheets = [looks];
}
const KEPT_MS = 60_000;
const MOST = 20;
const LONGEST = 300;
class Witness {
constructor(endpoint) {
this.endpoint = endpoint;
this.requests = [];
this.errors = [];
this.observer = null;
this.original = console.error;
}
start() {
try {
this.observer = new PerformanceObserver((list) => {
for (const entry of list.getEntries()) this.#request( (entry));
});
this.observer.observe({ type: "resource", buffered: true });
} catch {
this.observer = null;
}
window.addEventListener("error", this.#failed);
window.addEventListener("unhandledrejection", this.#rejected);
const { original } = this;
const note = ( parts) => this.#note(this.errors, parts.map(words).join(" "));
console.error = function (...parts) {
note(parts);
original.apply(console, parts);
};
this.wrapped = console.error;
}
stop() {
this.observer?.disconnect();
window.removeEventListener("error", this.#failed);
window.removeEventListener("unhandledrejection", this.#rejected);
if (console.error === this.wrapped) console.error = this.original;
}
recent() {
const since = Date.now() - KEPT_MS;
const texts = ( notes) => notes.filter((note) => note.at >= since).map((note) => note.text);
return { requests: texts(this.requests), errors: texts(this.errors) };
}
#request(entry) {
const status = entry.responseStatus;
const isLost = status === 0 && entry.responseEnd > 0 && entry.responseStart === 0 && ["fetch", "xmlhttprequest"].includes(entry.initiatorType);
if (!(status >= 400 || (isLost && isSameSite(entry.name))) || entry.name.startsWith(this.endpoint)) return;
if (entry.name.endsWith("/favicon.ico")) return;
this.#note(this.requests, `${status || "failed"} ${withoutQuery(entry.name)}`, performance.timeOrigin + entry.responseEnd);
}
#failed = (event) => {
if (event.message) this.#note(this.errors, event.filename ? `${event.message} (${withoutQuery(event.filename)}:${event.lineno})` : event.message);
};
#rejected = (event) => this.#note(this.errors, `Unhandled rejection: ${words(event.reason)}`);
#note(notes, text, at = Date.now()) {
notes.push({ at, text: text.slice(0, LONGEST) });
if (notes.length > MOST) notes.shift();
}
}
function words(value) {
if (value instanceof Error) return `${value.name}: ${value.message}`;
if (typeof value === "object" && value !== null) return `[${value.constructor?.name ?? "object"}]`;
return String(value);
}
function withoutQuery(address) {
try {
const place = new URL(address, location.href);
return (place.origin === location.origin ? "" : place.origin) + place.pathname;
} catch {
return address.split(/[?#]/)[0] ?? "";
}
}
function isSameSite(address) {
try {
return new URL(address, location.href).origin === location.origin;
} catch {
return false;
}
}
const TOAST_MS = 2_500;
const CLICKS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick"];
class App {
constructor(host, root, config) {
this.host = host;
this.root = root;
speak(config.lang || navigator.language);
this.store = new Store(config, () => this.later());
this.store.heard = (event) => this.#heard(event);
this.store.accepted = (entry, answer) => this.#accepted(entry, answer);
this.store.isWriting = (id) => this.ui.card === id;
this.witness = new Witness(this.store.wire.endpoint);
const { memory } = this.store;
const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
const given = host.getAttribute("data-pb");
this.ui = {
card: null,
inbox: false,
tab: "open",
query: "",
menu: false,
settings: false,
hidden: false,
small: memory.get("minimized", config.minimized ?? false),
keys: memory.get("keys", true),
theme: memory.get("theme", given === "dark" || given === "light" ? given : isDark ? "dark" : "light"),
dock: memory.get("dock",  ({ x: "middle", y: "bottom" })),
shooting: null,
sent: 0,
};
this.nodes = new Map();
this.draftElements = new Map();
this.pointer = null;
this.drag = null;
this.barBox = { x: 0, y: 0, width: 0, height: 0 };
this.pageBarSeen = { at: -1000, y: "bottom", size: 0 };
this.cameFrom = null;
this.images = new Map();
this.frame = 0;
this.view = document.createElement("div");
this.view.id = "layer";
this.view.setAttribute("popover", "manual");
this.view.setAttribute("dir", "ltr");
this.view.setAttribute("lang", spoken());
this.stage = document.createElement("div");
const saying = ( role) => {
const node = document.createElement("div");
node.className = "said";
node.setAttribute("role", role);
node.setAttribute("aria-live", role === "alert" ? "assertive" : "polite");
return node;
};
this.polite = saying("status");
this.urgent = saying("alert");
this.view.append(this.stage, this.polite, this.urgent);
root.replaceChildren(this.view);
dress(root);
this.picker = new Picker(this);
this.markers = new Markers(this);
this.layer = new Layer(host, this.view, () => this.#place(), () => this.#pageChanged());
this.unroute = () => {};
}
start() {
addEventListener("pointermove", this.#pointer, { capture: true, passive: true });
addEventListener("keydown", this.#keyFirst, true);
addEventListener("keydown", this.#keyLast);
for (const type of CLICKS) addEventListener(type, this.#tail, true);
this.unroute = route(this.host, this.root);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.#scheme);
this.witness.start();
this.layer.start();
this.store.start();
this.draw();
}
stop() {
this.unroute();
removeEventListener("pointermove", this.#pointer, { capture: true });
removeEventListener("keydown", this.#keyFirst, true);
removeEventListener("keydown", this.#keyLast);
for (const type of CLICKS) removeEventListener(type, this.#tail, true);
matchMedia("(prefers-color-scheme: dark)").removeEventListener("change", this.#scheme);
this.witness.stop();
this.layer.stop();
this.store.stop();
cancelAnimationFrame(this.frame);
for (const url of this.images.values()) URL.revokeObjectURL(url);
}
later() {
this.frame ||= requestAnimationFrame(() => {
this.frame = 0;
this.draw();
});
}
draw() {
this.view.setAttribute("data-theme", this.ui.theme);
this.host.setAttribute("data-pb", this.ui.theme);
this.host.toggleAttribute("data-placing", this.picker.isOn);
const thread = this.nodes.get("thread");
const wasAtEnd = thread ? thread.scrollHeight - thread.scrollTop - thread.clientHeight < 40 : true;
draw(this.stage, [...this.markers.view(), ...this.picker.view(), ...barView(this), ...inboxView(this), ...cardView(this), ...settingsView(this), ...this.#toastView()]);
if (thread?.isConnected && wasAtEnd) thread.scrollTop = thread.scrollHeight;
this.#place();
this.#warnOf(this.store.entries);
}
#place() {
const writes = [this.markers.measure(), this.picker.measure(), measureBar(this)];
for (const write of writes) write();
measureCard(this)();
}
#pageChanged() {
this.markers.stale();
if (this.markers.view_ !== "" && this.layer.href === location.href) return;
this.later();
}
setUi(change) {
const opensMenu = change.menu && !this.ui.menu;
const closesMenu = change.menu === false && this.ui.menu;
Object.assign(this.ui, change);
this.draw();
if (opensMenu) this.nodes.get("menu")?.querySelector("button")?.focus();
if (closesMenu) this.nodes.get("dock")?.querySelector("button")?.focus({ preventScroll: true });
}
keep(change) {
for (const [name, value] of Object.entries(change)) this.store.memory.set(name, value);
this.setUi(change);
}
announce(text) {
this.polite.textContent = this.polite.textContent === text ? `${text}\u00a0` : text;
}
warn(text) {
this.urgent.textContent = this.urgent.textContent === text ? `${text}\u00a0` : text;
}
toast(text) {
this.toastText = text;
this.announce(text);
clearTimeout(this.toastTimer);
this.toastTimer = setTimeout(() => {
this.toastText = "";
this.later();
}, TOAST_MS);
this.later();
}
#toastView() {
return this.toastText ? [h("div.toast", { key: "toast", "aria-hidden": "true" }, this.toastText)] : [];
}
shownImage(url) {
if (!url.startsWith("data:")) return url;
let shown = this.images.get(url);
if (!shown) {
shown = URL.createObjectURL(blobOf(url));
this.images.set(url, shown);
}
return shown;
}
#pointer = (event) => {
this.pointer = { x: event.clientX, y: event.clientY };
};
#tail = (event) => {
if (!this.picker.isTail( (event)) || event.composedPath().includes(this.host)) return;
event.preventDefault();
event.stopImmediatePropagation();
};
#keyFirst = (event) => {
if (event.isComposing) return;
const isOurs = event.composedPath().includes(this.host);
if (this.picker.isOn && !event.ctrlKey && !event.metaKey && !event.altKey && (this.picker.key(event) || (event.key.toLowerCase() === "p" && this.#stopPlacing()))) {
event.preventDefault();
event.stopImmediatePropagation();
return;
}
if (event.key === "Escape" && (isOurs || this.ui.card || this.ui.menu || this.ui.settings)) {
if (!this.#escape()) return;
event.preventDefault();
event.stopImmediatePropagation();
return;
}
if (isOurs) this.#letter(event);
};
#keyLast = (event) => {
if (!event.defaultPrevented) this.#letter(event);
};
#letter(event) {
if (!this.ui.keys || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
if (isField(event.composedPath()[0]) || document.designMode === "on" || this.ui.settings) return;
const acts = {
p: () => this.startPlacing(true),
i: () => this.toggleInbox(),
d: () => this.toggleTheme(),
r: () => this.#resolveActive(),
c: () => void this.copy(),
h: () => this.hide(),
m: () => (this.ui.small ? this.restore() : this.minimize()),
"?": () => this.openSettings(),
};
const act = acts[event.key.toLowerCase()];
if (!act) return;
event.preventDefault();
act();
}
#stopPlacing() {
this.picker.stop();
return true;
}
#escape() {
if (this.ui.settings) this.closeSettings();
else if (this.ui.menu) this.setUi({ menu: false });
else if (this.ui.card) this.closeCard();
else if (this.ui.inbox) this.toggleInbox(false);
else return false;
return true;
}
#resolveActive() {
const pin = this.ui.card ? this.store.pin(this.ui.card) : undefined;
if (pin?.n && pin.status === "open") this.decide(pin, "resolve");
}
startPlacing(byKey = false) {
if (this.picker.isOn) return;
this.#rememberFocus();
Object.assign(this.ui, { hidden: false, menu: false, inbox: innerWidth < 720 ? false : this.ui.inbox });
this.#letGo();
this.picker.start(byKey && this.root.activeElement !== null);
}
newDraft(draft, elements) {
this.draftElements.set(draft.id, elements);
this.markers.remember(draft.id, elements);
this.store.keepDraft(draft);
this.openDraft(draft.id);
}
openDraft(id) {
this.#open(id);
this.nodes.get("field")?.focus({ preventScroll: true });
}
openPin(id) {
this.#rememberFocus();
this.#open(id);
void this.store.readThread(id);
this.nodes.get("card")?.focus({ preventScroll: true });
const thread = this.nodes.get("thread");
if (thread) thread.scrollTop = thread.scrollHeight;
}
#open(id) {
if (this.ui.card !== id) this.#letGo();
Object.assign(this.ui, { card: id, menu: false, ...(innerWidth < 720 ? { inbox: false } : {}) });
this.draw();
}
toggleCard(id) {
if (this.ui.card === id) this.closeCard();
else if (this.store.drafts.has(id)) this.openDraft(id);
else this.openPin(id);
}
closeCard() {
const id = this.ui.card;
const draft = id && this.store.drafts.get(id);
this.#letGo();
this.draw();
if (draft && draft.text.trim()) this.announce(say("draft_kept"));
this.#giveFocusBack(id);
}
#letGo() {
const id = this.ui.card;
const draft = id ? this.store.drafts.get(id) : undefined;
this.ui.card = null;
if (draft && !draft.text.trim()) {
this.store.drafts.delete(draft.id);
this.draftElements.delete(draft.id);
}
}
#rememberFocus() {
const at = deepFocus();
if (at && at !== document.body && !this.nodes.get("card")?.contains(at)) this.cameFrom = at;
}
#giveFocusBack(id) {
const from = this.cameFrom;
this.cameFrom = null;
if (from?.isConnected && from instanceof HTMLElement) from.focus({ preventScroll: true });
else if (id) this.nodes.get(`chip:${id}`)?.focus({ preventScroll: true });
}
editDraft(draft, change) {
const had = Boolean(draft.text.trim());
Object.assign(draft, change);
this.store.keepDraft(draft);
if (!("text" in change) || had !== Boolean(draft.text.trim())) this.draw();
}
discardDraft(id) {
const draft = this.store.drafts.get(id);
if (draft) draft.text = "";
this.closeCard();
this.store.dropDraft(id);
}
sendDraft(draft, text) {
const target = draft.target;
if (draft.attach) {
const { requests, errors } = this.witness.recent();
target.context = { ...target.context, ...(requests.length ? { failedRequests: requests } : {}), ...(errors.length ? { consoleErrors: errors } : {}) };
}
const input = { text, target, env: envOf(), author: this.store.author(), ...(draft.move ? { kind: "move", move: draft.move } : {}) };
const entry = this.store.createPin(input, draft.shot);
this.markers.remember(entry.id, this.draftElements.get(draft.id) ?? []);
this.draftElements.delete(draft.id);
this.ui.card = entry.id;
this.ui.sent += 1;
this.store.dropDraft(draft.id);
this.draw();
this.nodes.get("card")?.focus({ preventScroll: true });
}
sendReply(pin, text) {
this.store.words(pin.id, "");
this.ui.sent += 1;
this.store.reply(pin.id, text);
this.draw();
this.nodes.get("field")?.focus({ preventScroll: true });
const thread = this.nodes.get("thread");
if (thread) thread.scrollTop = thread.scrollHeight;
}
decide(pin, kind) {
if (this.store.facts(pin).entries.some((entry) => entry.kind === kind && !entry.held)) return;
this.store.decide(pin.id, kind);
this.draw();
if (kind === "reopen") this.nodes.get("field")?.focus({ preventScroll: true });
}
takeBack(entry) {
const { text } = JSON.parse(entry.body);
const written = this.store.words(entry.pin);
this.store.words(entry.pin, written ? `${text}\n${written}` : text);
this.store.outbox.discard(entry);
this.ui.sent += 1;
this.draw();
this.nodes.get("field")?.focus({ preventScroll: true });
}
discardEntry(entry) {
this.store.outbox.discard(entry);
if (entry.kind === "pin") this.closeCard();
}
async takeShot(draft) {
const element = this.markers.element(draft.id, draft.target);
this.ui.shooting = draft.id;
draft.shotError = undefined;
this.draw();
try {
if (!element) throw new Error(say("gone"));
draft.shot = await shoot(element, this.view);
} catch (error) {
draft.shotError = error instanceof Error ? error.message : String(error);
}
this.ui.shooting = null;
if (this.store.drafts.has(draft.id)) this.store.keepDraft(draft);
this.draw();
this.nodes.get("field")?.focus({ preventScroll: true });
}
toggleInbox(on = !this.ui.inbox) {
if (on) {
this.#rememberFocus();
if (innerWidth < 720) this.#letGo();
}
Object.assign(this.ui, { inbox: on, menu: false });
this.draw();
if (on) this.root.getElementById(`tab-${this.ui.tab}`)?.focus({ preventScroll: true });
else this.#giveFocusBack(null);
}
visit(pin) {
const element = this.markers.element(pin.id, pin.target);
if (element) {
const box = element.getBoundingClientRect();
if (box.top < 60 || box.bottom > innerHeight - 120) element.scrollIntoView({ block: "center", behavior: "instant" });
}
this.openPin(pin.id);
}
minimize() {
this.#small(true);
this.nodes.get("puck")?.focus({ preventScroll: true });
}
restore() {
this.#small(false);
this.nodes.get("dock")?.querySelector("button")?.focus({ preventScroll: true });
}
#small(small) {
this.store.memory.set("minimized", small);
this.setUi({ small, menu: false });
this.host.dispatchEvent(new CustomEvent(small ? "pinbox:minimize" : "pinbox:restore", { bubbles: true, composed: true }));
}
dockAt(dock) {
this.pageBarSeen.at = -1000;
this.keep({ dock });
}
hide() {
this.setUi({ hidden: !this.ui.hidden });
this.announce(say(this.ui.hidden ? "hide_pins" : "show_pins"));
}
toggleTheme() {
this.keep({ theme: this.ui.theme === "dark" ? "light" : "dark" });
}
#scheme = (event) => {
if (!this.store.memory.get("theme", "")) this.setUi({ theme: event.matches ? "dark" : "light" });
};
openSettings(atName = false) {
this.backTo = deepFocus();
Object.assign(this.ui, { settings: true, menu: false });
this.draw();
this.nodes.get(atName ? "name" : "modal")?.focus({ preventScroll: true });
}
closeSettings() {
this.setUi({ settings: false });
if (this.backTo instanceof HTMLElement && this.backTo.isConnected) this.backTo.focus({ preventScroll: true });
else this.nodes.get("dock")?.querySelector("button")?.focus({ preventScroll: true });
}
async copy(pins) {
const wanted = pins ?? this.store.list().filter((pin) => pin.status === "open");
await Promise.all(wanted.slice(0, 20).map((pin) => this.store.readThread(pin.id)));
const texts = wanted.map((pin) => markdownOf(pin, this.store.threads.get(pin.id) ?? [], labelOfTarget(pin.target), stateWord(this.store.state(pin), this.store.facts(pin))));
const text = `${texts.join("\n\n")}\n`;
const isCopied = await copyText(text, this.view);
this.toast(!isCopied ? say("copy_failed") : pins ? say("copied_one") : say("copied", { n: wanted.length }));
}
#heard(event) {
if (event.type === "thread.message") {
const message =  (event.payload);
const pin = this.store.pins.get(message.pinId);
if (pin && message.role !== "human") this.announce(say("said_answer", { agent: agentName(message.origin ?? pin.agentSession?.agent), n: pin.n ?? "" }));
return;
}
const pin =  (event.payload);
if (event.type === "pin.resolved" && pin.resolution?.by === "agent") this.announce(say("said_fixed", { n: pin.n ?? "", agent: agentOf(this.store.facts(pin)) || say("agent") }));
}
#accepted(entry, answer) {
if (entry.kind === "pin") {
this.markers.rename(entry.id, answer.id);
const words = this.store.words(entry.id);
if (words) {
this.store.words(answer.id, words);
this.store.words(entry.id, "");
}
if (this.ui.card === entry.id) {
const hadFocus = this.root.activeElement;
this.ui.card = answer.id;
this.draw();
if (hadFocus instanceof HTMLTextAreaElement) this.nodes.get("field")?.focus({ preventScroll: true });
}
}
this.announce(say(entry.kind === "accept" ? "said_closed" : entry.kind === "reopen" ? "said_reopened" : "said_sent", { n: answer.n ?? "" }));
if (entry.kind === "accept" && this.ui.card === answer.id) this.closeCard();
}
#warnOf(entries) {
const failed = entries.find((entry) => entry.error && !this.warned.has(entry.id));
this.warned = new Set(entries.filter((entry) => entry.error).map((entry) => entry.id));
if (failed?.error) this.warn(say("said_failed", { why: why(failed.error) }));
}
warned = new Set();
toastText = "";
toastTimer = undefined;
backTo = null;
}
async function copyText(text, place) {
try {
await navigator.clipboard.writeText(text);
return true;
} catch {
const field = document.createElement("textarea");
field.value = text;
field.className = "said";
const before = deepFocus();
place.append(field);
field.select();
const isCopied = document.execCommand("copy");
field.remove();
if (before instanceof HTMLElement) before.focus({ preventScroll: true });
return isCopied;
}
}
class PinboxToolbarElement extends HTMLElement {
static observedAttributes = ["hub", "token", "data-pb"];
constructor() {
super();
this.given = {};
this.app = null;
this.isAsked = false;
this.isLeaving = false;
}
configure(config) {
Object.assign(this.given, config);
this.#soon();
}
minimize() {
this.app?.minimize();
}
restore() {
this.app?.restore();
}
get store() {
return this.app?.store;
}
connectedCallback() {
this.#soon();
}
attributeChangedCallback(name, before, value) {
if (name !== "data-pb") this.#soon();
else if (this.app && before !== value && (value === "dark" || value === "light") && this.app.ui.theme !== value) this.app.setUi({ theme: value });
}
disconnectedCallback() {
if (this.app?.layer.isMoving) return;
queueMicrotask(() => {
if (this.isConnected || !this.app) return;
if (this.isOwn && !this.isLeaving) this.app.layer.recover();
else {
this.app.stop();
this.app = null;
}
});
}
remove() {
this.isLeaving = true;
super.remove();
}
#soon() {
if (this.isAsked || this.app) return;
this.isAsked = true;
queueMicrotask(() => {
this.isAsked = false;
if (!this.isConnected || this.app) return;
const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
this.app = new App(this, root, this.#config());
if (!this.isOwn) this.app.layer.home = this.parentElement ?? document.documentElement;
this.app.start();
});
}
#config() {
const read = ( name) => this.getAttribute(name) ?? undefined;
return {
endpoint: read("hub") ?? "",
token: read("token"),
project: read("project"),
discover: read("discover"),
lang: read("lang"),
screenshots: read("screenshots") !== "off",
minimized: this.hasAttribute("minimized"),
...this.given,
};
}
isOwn = false;
}
function defineToolbarElement() {
if (!customElements.get("pinbox-toolbar")) customElements.define("pinbox-toolbar", PinboxToolbarElement);
}
function init(config) {
defineToolbarElement();
const present = document.querySelector("pinbox-toolbar");
const element =  (present ?? document.createElement("pinbox-toolbar"));
element.configure(config);
if (!present) {
element.isOwn = true;
document.documentElement.append(element);
}
return element;
}
function fromTag() {
const tags = [...document.querySelectorAll("script")].filter((script) => /\/toolbar\/toolbar(?:\.iife)?\.js$/.test(script.src.split("?")[0] ?? ""));
const tag = tags.find((script) => script.dataset.token || script.dataset.endpoint);
if (!tag) return null;
const { endpoint, token, project, discover, lang, screenshots, minimized } = tag.dataset;
return { endpoint: endpoint || new URL(tag.src).origin, token, project, discover, lang, screenshots: screenshots !== "off", minimized: minimized !== undefined && minimized !== "false" };
}
defineToolbarElement();
const tagged = fromTag();
if (tagged) {
const start = () => init(tagged);
if (document.body) start();
else addEventListener("DOMContentLoaded", start, { once: true });
}
globalThis.Pinbox = { init, defineToolbarElement, PinboxToolbarElement };
})();
