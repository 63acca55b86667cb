// <pinbox-toolbar>: puts the parts together, and puts itself into the page that loaded this module.

import { barView, measureBar } from "./bar.js";
import { cardView, why } from "./card.js";
import { envOf, viewOf } from "./capture.js";
import { deepFocus, draw, h, isField, route, setStyle } from "./dom.js";
import { Layer } from "./layer.js";
import { Markers } from "./markers.js";
import { blobOf } from "./outbox.js";
import { fetchPart } from "./parts.js";
import { Picker } from "./place.js";
import { measureCard } from "./position.js";
import { agentOf, plainError, stateWord } from "./states.js";
import { Store } from "./store.js";
import { dress } from "./style.js";
import { agentName, en, say, speak, spoken } from "./texts.js";
import { Witness } from "./witness.js";

/** @typedef {import("./types.js").Config} Config */
/** @typedef {import("./types.js").Pin} Pin */
/** @typedef {import("./types.js").PinInput} PinInput */
/** @typedef {import("./types.js").Draft} Draft */
/** @typedef {import("./types.js").Entry} Entry */
/** @typedef {import("./types.js").Message} Message */
/** @typedef {import("./types.js").Point} Point */
/** @typedef {import("./types.js").HubEvent} HubEvent */
/** @typedef {import("./types.js").Delivery} Delivery */
/** @typedef {import("./bar.js").Dock} Dock */
/** @typedef {import("./parts.js").More} More */
/** @typedef {{ x: number, y: number, width: number, height: number }} Box */

/**
 * What is open and how it looks.
 * @typedef {object} Ui
 * @property {string | null} card id of the pin or draft whose card is open
 * @property {boolean} inbox
 * @property {"open" | "closed"} tab
 * @property {string} query
 * @property {boolean} menu
 * @property {boolean} settings
 * @property {boolean} hidden pins are hidden
 * @property {boolean} small
 * @property {boolean} keys single letters are keys
 * @property {"light" | "dark"} theme
 * @property {Dock} dock
 * @property {string | null} shooting the draft a picture is being taken for
 * @property {number} sent counts what was sent, so that a field is a new one after it
 */

/** Milliseconds a short message stays. */
const TOAST_MS = 2_500;
/** Milliseconds between two looks at what a phone keeps for itself. */
const SAFE_MS = 300;
/** Lines that stay where a screen reader finds them. */
const MOST_SAID = 6;
/** Letters of an answer that are read out. */
const MOST_READ = 200;
const CLICKS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick"];

/** Everything behind one element. */
export class App {
  /** @param {HTMLElement} host @param {ShadowRoot} root @param {Config} config */
  constructor(host, root, config) {
    this.host = host;
    this.root = root;
    this.store = new Store(config, () => this.later());
    this.store.heard = (event) => this.#heard(event);
    this.store.accepted = (entry, answer) => this.#accepted(entry, answer);
    this.store.moved = (pin, delivery) => this.#moved(pin, delivery);
    this.store.isWriting = (id) => this.ui.card === id;
    this.witness = new Witness(this.store.wire.endpoint);
    const { memory } = this.store;
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    /** @type {Ui} */
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
      theme: memory.get("theme", config.theme || (isDark ? "dark" : "light")),
      dock: memory.get("dock", /** @type {Dock} */ ({ x: "middle", y: "bottom" })),
      shooting: null,
      sent: 0,
    };
    /** @type {Map<string, HTMLElement>} nodes that are placed by hand */
    this.nodes = new Map();
    /** @type {Map<string, Element[]>} */
    this.draftElements = new Map();
    /** @type {Point | null} where the pointer was last */
    this.pointer = null;
    /** @type {{ x: number, y: number, dx: number, dy: number, isDrag: boolean } | null} */
    this.drag = null;
    /** @type {Box} */
    this.barBox = { x: 0, y: 0, width: 0, height: 0 };
    this.pageBarSeen = { at: -1000, y: "bottom", size: 0 };
    /** @type {Element | null} */
    this.cameFrom = null;
    /** @type {Range | null} what was selected on the page */
    this.selected = null;
    /** @type {Map<string, string>} data URL to blob URL */
    this.images = new Map();
    this.frame = 0;
    this.view = document.createElement("div");
    this.view.id = "layer";
    this.view.setAttribute("popover", "manual");
    this.view.setAttribute("dir", "ltr");
    this.view.setAttribute("lang", spoken());
    this.stage = document.createElement("div");
    this.stage.className = "stage";
    const saying = (/** @type {string} */ role) => {
      const node = document.createElement("div");
      node.className = "said";
      node.setAttribute("role", role);
      node.setAttribute("aria-live", role === "alert" ? "assertive" : "polite");
      node.setAttribute("aria-atomic", "false");
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
    /** @type {() => void} */
    this.unroute = () => {};
  }

  start() {
    // Before the router, which ends every event of the toolbar.
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
    // Before it is needed, and after all that the page itself has to do.
    (window.requestIdleCallback ?? setTimeout)(() => this.rest().catch(() => {}));
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
    this.images.clear();
  }

  // --- drawing ------------------------------------------------------------------------------------

  /** Draws in the next frame, however often it is asked. */
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
    draw(this.stage, [...this.markers.view(), ...this.picker.view(), ...barView(this), ...(this.more?.inboxView(this) ?? []), ...cardView(this), ...(this.more?.menuView(this) ?? []), ...(this.more?.settingsView(this) ?? []), ...this.#toastView()]);
    if (thread?.isConnected && wasAtEnd) thread.scrollTop = thread.scrollHeight;
    this.#place();
    this.#warnOf(this.store.entries);
  }

  /** Reads the page once, then writes. */
  #place() {
    // The page's zoom is its own.
    setStyle(this.view, "zoom", `${1 / (this.host.currentCSSZoom || 1)}`);
    const writes = [this.markers.measure(), this.picker.measure(), measureBar(this), measureCard(this)];
    for (const write of writes) write();
  }

  #pageChanged() {
    this.markers.stale();
    // Another view of a one-page app has other pins.
    if (this.markers.view_ !== viewOf(location.href)) this.later();
  }

  /** @param {Partial<Ui>} change */
  setUi(change) {
    const closesMenu = change.menu === false && this.ui.menu;
    Object.assign(this.ui, change);
    this.draw();
    if (closesMenu) this.nodes.get("dock")?.querySelector("button")?.focus({ preventScroll: true });
  }

  toggleMenu() {
    if (this.ui.menu) return this.setUi({ menu: false });
    this.ui.menu = true;
    this.#withRest(() => this.nodes.get("menu")?.querySelector("button")?.focus());
  }

  /** @param {Partial<Pick<Ui, "keys" | "theme" | "dock">>} change what stays for the next time */
  keep(change) {
    for (const [name, value] of Object.entries(change)) this.store.memory.set(name, value);
    this.setUi(change);
  }

  /** Said by a screen reader, once, when there is time for it. @param {string} text */
  announce(text) {
    utter(this.polite, text);
  }

  /** Said at once. @param {string} text */
  warn(text) {
    utter(this.urgent, text);
  }

  /** @param {string} text */
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

  /** An address an <img> may have under any CSP that names blob:. @param {string} url */
  shownImage(url) {
    if (!url.startsWith("data:")) return url;
    let shown = this.images.get(url);
    if (!shown) {
      shown = URL.createObjectURL(blobOf(url));
      this.images.set(url, shown);
    }
    return shown;
  }

  // --- keys ---------------------------------------------------------------------------------------

  /** @param {PointerEvent} event */
  #pointer = (event) => {
    this.pointer = { x: event.clientX, y: event.clientY };
  };

  /** A double click places once and does not reach the page. @param {Event} event */
  #tail = (event) => {
    if (!this.picker.isTail(/** @type {MouseEvent} */ (event)) || event.composedPath().includes(this.host)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };

  /** While placing, and with Escape, the toolbar comes before the page. @param {KeyboardEvent} event */
  #keyFirst = (event) => {
    if (event.isComposing) return;
    const isOurs = event.composedPath().includes(this.host);
    if (this.picker.isOn && !event.ctrlKey && !event.metaKey && !event.altKey && (this.picker.key(event) || (event.key?.toLowerCase() === "p" && this.#stopPlacing()))) {
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
    // The router ends what happens inside the toolbar, so its own letters are read here.
    if (isOurs) this.#letter(event);
  };

  /** Letters, after the page had its chance. @param {KeyboardEvent} event */
  #keyLast = (event) => {
    if (!event.defaultPrevented) this.#letter(event);
  };

  /** @param {KeyboardEvent} event */
  #letter(event) {
    if (!this.ui.keys || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    if (isField(event.composedPath()[0]) || document.designMode === "on" || this.ui.settings) return;
    /** @type {Record<string, (() => void) | undefined>} */
    const acts = {
      p: () => this.startPlacing(true),
      i: () => this.toggleInbox(),
      d: () => this.toggleTheme(),
      r: () => this.#resolveActive(),
      c: () => this.copy(),
      h: () => this.hide(),
      m: () => (this.ui.small ? this.restore() : this.minimize()),
      "?": () => this.openSettings(),
    };
    const act = acts[event.key?.toLowerCase()];
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

  // --- what a person does -------------------------------------------------------------------------

  /** @param {boolean} [byKey] */
  startPlacing(byKey = false) {
    if (this.picker.isOn) return;
    this.#rememberFocus();
    Object.assign(this.ui, { hidden: false, menu: false, inbox: innerWidth < 720 ? false : this.ui.inbox });
    this.#letGo();
    // By a letter the pointer is still what aims, unless the keyboard takes over with an arrow.
    this.picker.start(byKey && this.root.activeElement !== null);
  }

  /** @param {Draft} draft @param {Element[]} elements */
  newDraft(draft, elements) {
    this.draftElements.set(draft.id, elements);
    this.markers.remember(draft.id, elements);
    this.store.keepDraft(draft);
    this.openDraft(draft.id);
  }

  /** @param {string} id */
  openDraft(id) {
    this.#open(id);
    // Before anything else can happen: the next key belongs to this field.
    this.nodes.get("field")?.focus({ preventScroll: true });
  }

  /** @param {string} id */
  openPin(id) {
    this.#rememberFocus();
    this.#open(id);
    void this.store.readThread(id);
    this.nodes.get("card")?.focus({ preventScroll: true });
    const thread = this.nodes.get("thread");
    if (thread) thread.scrollTop = thread.scrollHeight;
  }

  /** @param {string} id */
  #open(id) {
    if (this.ui.card !== id) this.#letGo();
    Object.assign(this.ui, { card: id, menu: false, ...(innerWidth < 720 ? { inbox: false } : {}) });
    this.draw();
  }

  /** @param {string} id */
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

  /** What has no words yet goes; what has stays on the page as a draft. */
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
    const selection = getSelection();
    if (selection?.isCollapsed === false) this.selected = selection.getRangeAt(0).cloneRange();
    else if (document.activeElement !== this.host) this.selected = null;
  }

  /** @param {string | null} id */
  #giveFocusBack(id) {
    const from = this.cameFrom;
    this.cameFrom = null;
    if (from?.isConnected && from instanceof HTMLElement) from.focus({ preventScroll: true });
    else if (id) this.nodes.get(`chip:${id}`)?.focus({ preventScroll: true });
    // The caret of a field of ours took it away.
    if (this.selected) {
      getSelection()?.empty();
      getSelection()?.addRange(this.selected);
    }
  }

  /** @param {Draft} draft @param {Partial<Draft>} change */
  editDraft(draft, change) {
    const had = Boolean(draft.text.trim());
    Object.assign(draft, change);
    this.store.keepDraft(draft);
    if (!("text" in change) || had !== Boolean(draft.text.trim())) this.draw();
  }

  /** @param {string} id */
  discardDraft(id) {
    const draft = this.store.drafts.get(id);
    if (draft) draft.text = "";
    this.closeCard();
    this.store.dropDraft(id);
  }

  /** @param {Draft} draft @param {string} text */
  sendDraft(draft, text) {
    const target = draft.target;
    if (draft.attach) {
      const { requests, errors } = this.witness.recent();
      target.context = { ...target.context, ...(requests.length ? { failedRequests: requests } : {}), ...(errors.length ? { consoleErrors: errors } : {}) };
    }
    /** @type {PinInput} */
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

  /** @param {Pin} pin @param {string} text */
  sendReply(pin, text) {
    this.store.words(pin.id, "");
    this.ui.sent += 1;
    this.store.reply(pin.id, text);
    this.draw();
    this.nodes.get("field")?.focus({ preventScroll: true });
    const thread = this.nodes.get("thread");
    if (thread) thread.scrollTop = thread.scrollHeight;
  }

  /** @param {Pin} pin @param {"resolve" | "accept" | "reopen"} kind */
  decide(pin, kind) {
    if (this.store.facts(pin).entries.some((entry) => entry.kind === kind && !entry.held)) return;
    // What stands in the field says why, and comes first.
    const words = kind === "reopen" && this.store.words(pin.id).trim();
    if (words) this.sendReply(pin, words);
    this.store.decide(pin.id, kind);
    this.draw();
    if (kind === "reopen") this.nodes.get("field")?.focus({ preventScroll: true });
  }

  /** @param {boolean} [on] */
  toggleInbox(on = !this.ui.inbox) {
    if (on) {
      this.#rememberFocus();
      if (innerWidth < 720) this.#letGo();
    }
    Object.assign(this.ui, { inbox: on, menu: false });
    if (on) this.#withRest(() => this.root.getElementById(`tab-${this.ui.tab}`)?.focus({ preventScroll: true }));
    else {
      this.draw();
      this.#giveFocusBack(null);
    }
  }

  minimize() {
    this.#small(true);
    this.nodes.get("puck")?.focus({ preventScroll: true });
  }

  restore() {
    this.#small(false);
    this.nodes.get("dock")?.querySelector("button")?.focus({ preventScroll: true });
  }

  /** @param {boolean} small */
  #small(small) {
    this.store.memory.set("minimized", small);
    this.setUi({ small, menu: false });
    this.host.dispatchEvent(new CustomEvent(small ? "pinbox:minimize" : "pinbox:restore", { bubbles: true, composed: true }));
  }

  /** @param {Dock} dock */
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

  /** @param {MediaQueryListEvent} event */
  #scheme = (event) => {
    if (!this.store.memory.get("theme", this.store.config.theme)) this.setUi({ theme: event.matches ? "dark" : "light" });
  };

  /** @param {boolean} [atName] */
  openSettings(atName = false) {
    this.backTo = deepFocus();
    Object.assign(this.ui, { settings: true, menu: false });
    this.#withRest(() => (atName ? this.nodes.get("name") : this.nodes.get("modal")?.querySelector("button"))?.focus({ preventScroll: true }));
  }

  closeSettings() {
    this.setUi({ settings: false });
    if (this.backTo instanceof HTMLElement && this.backTo.isConnected) this.backTo.focus({ preventScroll: true });
    else this.nodes.get("dock")?.querySelector("button")?.focus({ preventScroll: true });
  }

  /** @param {Pin[]} [pins] without them, every open one */
  copy(pins) {
    this.withMore((more) => more.copyPins(this, pins));
  }

  /** Does what the first file has not learned. @param {(more: More) => void | Promise<void>} act */
  withMore(act) {
    this.rest().then(act).catch((/** @type {Error} */ error) => this.toast(error.message));
  }

  /** Draws, and draws again when what it takes had to be fetched. @param {() => void} drawn */
  #withRest(drawn) {
    const show = () => {
      this.draw();
      if (this.more) drawn();
    };
    show();
    if (!this.more)
      this.rest().then(show, (/** @type {Error} */ error) => {
        Object.assign(this.ui, { inbox: false, menu: false, settings: false });
        this.toast(error.message);
      });
  }

  /** Pixels at each side that a phone keeps for itself. */
  safe() {
    const now = performance.now();
    if (now - this.safeSeen > SAFE_MS) {
      this.safeSeen = now;
      const style = getComputedStyle(this.stage);
      const px = (/** @type {string} */ side) => parseFloat(style.getPropertyValue(`padding-${side}`)) || 0;
      this.safeArea = { top: px("top"), right: px("right"), bottom: px("bottom"), left: px("left") };
    }
    return this.safeArea;
  }

  /** What is not in the first file. Fails where it cannot be had, in words for people. @returns {Promise<More>} */
  async rest() {
    if (this.more) return this.more;
    try {
      /** @type {More} */
      const more = await fetchPart(this.store.wire.endpoint, "more");
      if (!this.more) more.furnish(this);
      return (this.more = more);
    } catch (error) {
      throw new Error(say("part_missing"), { cause: error });
    }
  }

  // --- what the hub says --------------------------------------------------------------------------

  /** @param {HubEvent} event */
  #heard(event) {
    if (event.type === "thread.message") {
      const message = /** @type {Message} */ (event.payload);
      const pin = this.store.pins.get(message.pinId);
      if (pin && message.role !== "human") this.announce(say("said_answer", { agent: agentName(message.origin ?? pin.agentSession?.agent), n: pin.n ?? "", text: message.text.slice(0, MOST_READ) }));
      return;
    }
    const pin = /** @type {Pin} */ (event.payload);
    if (event.type === "pin.resolved" && pin.resolution?.by === "agent") this.announce(say("said_fixed", { n: pin.n ?? "", agent: agentOf(this.store.facts(pin)) || say("agent") }));
  }

  /** @param {Pin} pin @param {Delivery} delivery what was observed of it now */
  #moved(pin, delivery) {
    const word = `${say("pin_n", { n: pin.n ?? "" })}: `;
    if (delivery.status === "failed") this.warn(word + say("way_failed", { why: plainError(delivery) }));
    else this.announce(word + stateWord("with", this.store.facts(pin)));
  }

  /** @param {Entry} entry @param {any} answer */
  #accepted(entry, answer) {
    if (entry.kind === "pin") {
      this.markers.rename(entry.id, answer.id);
      // Words that were begun as a reply before the pin had arrived go along.
      const words = this.store.words(entry.id);
      if (words) {
        this.store.words(answer.id, words);
        this.store.words(entry.id, "");
      }
      if (this.ui.card === entry.id) {
        const hadFocus = this.root.activeElement;
        this.ui.card = answer.id;
        void this.store.readThread(answer.id); // an answer may have come before the hub's own
        this.draw();
        if (hadFocus instanceof HTMLTextAreaElement) this.nodes.get("field")?.focus({ preventScroll: true });
      }
    }
    this.announce(say(entry.kind === "accept" ? "said_closed" : entry.kind === "reopen" ? "said_reopened" : "said_sent", { n: answer.n ?? "" }));
    if (entry.kind === "accept" && this.ui.card === answer.id) this.closeCard();
  }

  /** Says a failure once, when it is new. @param {Entry[]} entries */
  #warnOf(entries) {
    const failed = entries.find((entry) => entry.error && !this.warned.has(entry.id));
    this.warned = new Set(entries.filter((entry) => entry.error).map((entry) => entry.id));
    if (failed?.error) this.warn(say("said_failed", { why: why(failed.error) }));
  }

  /** @type {Set<string>} */
  warned = new Set();
  toastText = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  toastTimer = undefined;
  /** @type {Element | null} */
  backTo = null;
  safeSeen = -1e9;
  safeArea = { top: 0, right: 0, bottom: 0, left: 0 };
  /** @type {More | null} */
  more = null;
}

/** @param {HTMLElement} place @param {string} text in a line of its own: neither lost under the next nor said with it again */
function utter(place, text) {
  const line = document.createElement("div");
  line.textContent = text;
  place.append(line);
  if (place.childElementCount > MOST_SAID) place.firstElementChild?.remove();
}

// --- the element ----------------------------------------------------------------------------------

export class PinboxToolbarElement extends HTMLElement {
  static observedAttributes = ["hub", "token", "data-pb"];

  constructor() {
    super();
    /** @type {Partial<Config>} */
    this.given = {};
    /** @type {App | null} */
    this.app = null;
    this.isAsked = false;
    this.isLeaving = false;
  }

  /** @param {Partial<Config>} config wins over attributes; counts until the element has started */
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

  /** @param {string} name @param {string | null} before @param {string | null} value */
  attributeChangedCallback(name, before, value) {
    if (name !== "data-pb") this.#soon();
    else if (this.app && before !== value && (value === "dark" || value === "light") && this.app.ui.theme !== value) this.app.setUi({ theme: value });
  }

  disconnectedCallback() {
    if (this.app?.layer.isMoving) return;
    // A page that swaps its body, or closes the dialog we stood in, did not mean us.
    queueMicrotask(() => {
      if (this.isConnected || !this.app) return;
      const { layer } = this.app;
      if (this.isOwn && !this.isLeaving) {
        if (layer.home.isConnected || !document.documentElement) return layer.recover();
        // The page wrote itself anew, and what listened to the old one may be gone.
        layer.home = document.documentElement;
        this.app.stop();
        this.app.start();
      } else {
        this.app.stop();
        this.app = null;
      }
    });
  }

  remove() {
    this.isLeaving = true;
    super.remove();
  }

  /** At the end of the tick, so that a page may set one thing after the other. */
  #soon() {
    if (this.isAsked || this.app) return;
    this.isAsked = true;
    queueMicrotask(async () => {
      const { endpoint, lang } = this.#config();
      const tag = (lang || navigator.language).slice(0, 2).toLowerCase();
      // In English where the other words cannot be had.
      const words = tag === "de" ? await fetchPart(endpoint, tag).catch(() => null) : null;
      speak(words ? tag : "en", words ?? en);
      this.isAsked = false;
      if (!this.isConnected || this.app) return;
      const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
      this.app = new App(this, root, this.#config());
      if (!this.isOwn) this.app.layer.home = this.parentElement ?? document.documentElement;
      this.app.start();
    });
  }

  /** @returns {Config} */
  #config() {
    const read = (/** @type {string} */ name) => this.getAttribute(name) ?? undefined;
    return {
      endpoint: read("hub") ?? "",
      token: read("token"),
      project: read("project"),
      discover: read("discover"),
      lang: read("lang"),
      screenshots: read("screenshots") !== "off",
      minimized: this.hasAttribute("minimized"),
      ...this.given,
      theme: this.given.theme ?? /** @type {Config["theme"]} */ (read("data-pb")),
    };
  }

  /** Whether we put it there ourselves. */
  isOwn = false;
}

export function defineToolbarElement() {
  if (!customElements.get("pinbox-toolbar")) customElements.define("pinbox-toolbar", PinboxToolbarElement);
}

/** @param {Config} config @returns {PinboxToolbarElement} the page's one toolbar */
export function init(config) {
  defineToolbarElement();
  const present = document.querySelector("pinbox-toolbar");
  const element = /** @type {PinboxToolbarElement} */ (present ?? document.createElement("pinbox-toolbar"));
  element.configure(config);
  if (!present) {
    element.isOwn = true;
    // Beside the body: no rule for the body's last child, and no framework that owns the body, meets it.
    document.documentElement.append(element);
  }
  return element;
}

/** What the script tag says. @returns {Config | null} null when there is no tag that names a token or a hub */
function fromTag() {
  const tags = [...document.querySelectorAll("script")].filter((script) => /\/toolbar\/toolbar(?:\.iife)?\.js$/.test(script.src.split("?")[0] ?? ""));
  const tag = tags.find((script) => script.dataset.token || script.dataset.endpoint);
  if (!tag) return null;
  const { endpoint, token, project, discover, lang, theme, screenshots, minimized } = tag.dataset;
  return { endpoint: endpoint || new URL(tag.src).origin, token, project, discover, lang, theme: /** @type {Config["theme"]} */ (theme), screenshots: screenshots !== "off", minimized: minimized !== undefined && minimized !== "false" };
}

defineToolbarElement();
const tagged = fromTag();
if (tagged) {
  const start = () => init(tagged);
  if (document.body) start();
  else addEventListener("DOMContentLoaded", start, { once: true });
}
