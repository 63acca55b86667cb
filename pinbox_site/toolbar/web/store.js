// What the toolbar knows: pins, threads, deliveries, what is on its way, how the hub is reached.
// Drawing reads from here; every write of a person goes through here into the outbox.

import { Memory, digest, randomId } from "./memory.js";
import { Outbox } from "./outbox.js";
import { HubError, Socket, Wire, backoff } from "./wire.js";
import { stateOf } from "./states.js";

/** @typedef {import("./types.js").Config} Config */
/** @typedef {import("./types.js").Pin} Pin */
/** @typedef {import("./types.js").PinInput} PinInput */
/** @typedef {import("./types.js").Message} Message */
/** @typedef {import("./types.js").HubEvent} HubEvent */
/** @typedef {import("./types.js").Delivery} Delivery */
/** @typedef {import("./types.js").Entry} Entry */
/** @typedef {import("./types.js").Draft} Draft */
/** @typedef {import("./types.js").Link} Link */
/** @typedef {import("./types.js").Tail} Tail */
/** @typedef {import("./states.js").Facts} Facts */

/** Open pins that are fetched at most: five pages of the hub's largest. */
const MOST_OPEN = 5_000;
const PAGE = 1_000;
/** Closed pins that are fetched. Older ones are found in the admin. */
const MOST_CLOSED = 200;
/** Pins that are kept in the browser to be read offline. */
const MOST_KEPT = 300;
/** Milliseconds between two looks where the socket cannot be had but HTTP can. */
const POLL_MS = 2_500;
/** Milliseconds between two looks at the deliveries while one of them is under way: no event tells of them. */
const DELIVERIES_MS = 3_000;
/** Milliseconds after which a hub that says nothing is called offline. */
const SILENT_MS = 1_500;
/** Threads that are read at once to learn who spoke last. */
const AT_ONCE = 3;

export class Store {
  /** @param {Config} config @param {() => void} changed */
  constructor(config, changed) {
    this.config = config;
    /** @type {Pin[] | null} */
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
    /** @type {Map<string, Pin>} */
    this.pins = new Map(this.memory.get("pins", /** @type {Pin[]} */ ([])).map((pin) => [pin.id, pin]));
    /** @type {Map<string, Message[]>} threads that are known from their first message on */
    this.threads = new Map();
    /** @type {Map<string, Tail>} */
    this.tails = new Map(Object.entries(this.memory.get("tails", /** @type {Record<string, Tail>} */ ({}))));
    /** @type {Map<string, Delivery>} */
    this.deliveries = new Map();
    /** @type {Map<string, Draft>} */
    this.drafts = new Map();
    for (const name of this.memory.names("draft:")) this.#readDraft(name);
    /** @type {(id: string) => boolean} whether a draft is being written in this tab */
    this.isWriting = () => false;
    /** @type {Entry[]} */
    this.entries = this.outbox.all();
    /** @type {Set<string>} ids of messages this person wrote here */
    this.mine = new Set(this.memory.get("mine", /** @type {string[]} */ ([])));
    /** @type {string[]} */
    this.agents = [];
    /** @type {Link} */
    this.link = this.wire.endpoint ? "connecting" : "unset";
    /** @type {Map<string, Message[]>} threads that are being read, with what came meanwhile */
    this.reading = new Map();
    /** @type {Set<string>} threads that could not be read */
    this.unread = new Set();
    this.cursor = -1;
    this.logId = "";
    this.failures = 0;
    this.cspBlocked = false;
    /** @type {(event: HubEvent) => void} tells of what is new, for announcements */
    this.heard = () => {};
    /** @type {(entry: Entry, answer: any) => void} */
    this.accepted = () => {};
    /** @type {(pin: Pin, delivery: Delivery) => void} a delivery was handed over or failed */
    this.moved = () => {};
    /** @type {Socket | null} */
    this.socket = null;
    this.isStopped = true;
    this.isConnecting = false;
    this.refusals = 0;
    /** @type {Record<string, number>} */
    this.timers = {};
    this.seesDeliveries = true;
  }

  // --- life ---------------------------------------------------------------------------------------

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

  /** Tries now, whatever the waiting time was. */
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

  /** Another tab changed what is kept. @param {StorageEvent} event */
  #elsewhere = (event) => {
    if (!event.key?.startsWith(this.memory.prefix)) return;
    const name = event.key.slice(this.memory.prefix.length);
    this.memory.here.delete(name);
    if (name.startsWith("out:")) this.#entriesChanged();
    if (name.startsWith("draft:") && !this.isWriting(name.slice("draft:".length))) {
      this.#readDraft(name);
      this.changed();
    }
  };

  /** @param {SecurityPolicyViolationEvent} event */
  #violated = (event) => {
    if (event.effectiveDirective === "connect-src" && this.wire.endpoint && event.blockedURI.startsWith(new URL(this.wire.endpoint).origin)) {
      this.cspBlocked = true;
      this.#setLink("blocked");
    }
  };

  /** @param {string} name @param {number} ms @param {() => void} work */
  #later(name, ms, work) {
    clearTimeout(this.timers[name]);
    if (this.isStopped) return;
    this.timers[name] = window.setTimeout(work, ms);
  }

  /** @param {Link} link */
  #setLink(link) {
    // A hub that speaks another protocol stays one until the page is loaded again, and so does none.
    if (this.link === link || this.link === "outdated" || !this.wire.endpoint) return;
    this.link = link;
    this.changed();
  }

  // --- reading ------------------------------------------------------------------------------------

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

  /** The hub answered over HTTP. */
  #answered() {
    clearTimeout(this.timers.silent);
    this.cspBlocked = false;
    this.#setLink("live");
    if (this.entries.length) void this.outbox.flush();
    this.#watchDeliveries(this.deliveries.size === 0);
  }

  /** @param {unknown} error */
  async #unreachable(error) {
    this.failures += 1;
    if (error instanceof HubError && error.status === 401) {
      // Asking again with the same token would be refused again: it waits for a person or a new token.
      this.#setLink("refused");
      return;
    }
    this.#setLink(this.cspBlocked || (await isLocalNetworkDenied(this.wire.endpoint)) ? "blocked" : "offline");
    if (this.failures > 1) await this.wire.renew();
    this.#later("again", backoff(this.failures), this.#again);
  }

  /** Everything anew: the list as it is, and from which event on to listen. */
  async #pull() {
    const summary = /** @type {import("./types.js").Summary} */ (await this.wire.get("/summary"));
    const open = await this.#openPins();
    const closed = /** @type {Pin[]} */ (await this.wire.get(`/pins?status=resolved&limit=${MOST_CLOSED}`));
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
    /** @type {Pin[]} */
    const found = [];
    for (let before = ""; found.length < MOST_OPEN; ) {
      const page = /** @type {Pin[]} */ (await this.wire.get(`/pins?status=open&limit=${PAGE}${before}`));
      found.push(...page);
      if (page.length < PAGE) break;
      before = `&before=${page[page.length - 1]?.id}`;
    }
    return found;
  }

  /** What happened since the cursor. Also tells whether the hub is there. */
  async #follow() {
    for (;;) {
      const events = /** @type {HubEvent[]} */ (await this.wire.get(`/events?after=${this.cursor}&limit=${PAGE}`));
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
          // Another log than the one we followed: all we know is of no use.
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

  /** @param {number} code @param {boolean} wasLive @param {boolean} wasSteady */
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
      // A hub that is being replaced closes first: only what it does not answer makes it offline.
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

  /** Without a socket the hub is asked now and then; the socket is tried again meanwhile. */
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

  /** @param {HubEvent[]} events */
  #apply(events) {
    let isNew = false;
    for (const event of events) {
      if (event.seq <= this.cursor) continue;
      this.cursor = event.seq;
      isNew = true;
      if (event.type === "thread.message") this.#putMessage(/** @type {Message} */ (event.payload));
      else this.#putPin(/** @type {Pin} */ (event.payload));
      this.heard(event);
    }
    if (!isNew) return;
    this.#mirror();
    this.#watchDeliveries(true);
    this.changed();
  }

  /** @param {Pin} pin as an event or an answer has it; neither tells of a binding that was made since */
  #putPin(pin) {
    const session = pin.agentSession ?? this.pins.get(pin.id)?.agentSession;
    this.pins.set(pin.id, session ? { ...pin, agentSession: session } : pin);
  }

  /** @param {Message} message */
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

  /** Who spoke last in each open thread: a pin alone does not say it. */
  async #learnTails() {
    const waiting = [...this.pins.values()].filter((pin) => pin.status === "open").slice(0, MOST_KEPT);
    const work = async () => {
      for (let pin = waiting.shift(); pin; pin = waiting.shift()) await this.readThread(pin.id);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    this.#mirror();
  }

  /** Reads a thread from its beginning, unless it is known. Never raises. @param {string} id */
  async readThread(id) {
    if (this.threads.has(id) || this.reading.has(id) || !id.startsWith("pin_")) return;
    /** @type {Message[]} */
    const meanwhile = [];
    this.reading.set(id, meanwhile);
    try {
      const thread = /** @type {Message[]} */ (await this.wire.get(`/pins/${id}/thread`));
      // What the socket brought meanwhile is in the answer or newer than it.
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

  // --- deliveries ---------------------------------------------------------------------------------

  /** @param {boolean} [soon] something happened that may have made one */
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
    if (document.visibilityState !== "visible" || this.link !== "live") return; // begun again by what ends that
    try {
      const rows = /** @type {Delivery[]} */ (await this.wire.get(`/deliveries?limit=${PAGE}`));
      /** @type {Map<string, Delivery>} */
      const newest = new Map();
      for (const row of rows) if (row.status !== "skipped" && !newest.has(row.pinId)) newest.set(row.pinId, row);
      const isOther = newest.size !== this.deliveries.size || [...newest].some(([pin, row]) => this.deliveries.get(pin)?.updatedAt !== row.updatedAt);
      const before = this.deliveries;
      this.deliveries = newest;
      if (isOther) {
        const summary = /** @type {import("./types.js").Summary} */ (await this.wire.get("/summary"));
        this.agents = summary.agents ?? [];
        // Which session a pin is bound to is no event; the pin read anew says it.
        for (const row of newest.values()) {
          const pin = this.pins.get(row.pinId);
          if (!row.handedOverAt || !pin || pin.agentSession || pin.status !== "open") continue;
          const known = /** @type {Pin} */ (await this.wire.get(`/pins/${row.pinId}`));
          if (known.agentSession) this.pins.set(known.id, { ...(this.pins.get(known.id) ?? known), agentSession: known.agentSession });
        }
        this.changed();
        for (const [id, row] of newest) {
          const pin = this.pins.get(id);
          const known = before.get(id);
          const isNews = known && (row.status === "failed" ? known.status !== "failed" : row.handedOverAt && !known.handedOverAt);
          if (pin && isNews) this.moved(pin, row);
        }
      }
    } catch (error) {
      // A hub whose page token may not see deliveries: then none are claimed.
      if (error instanceof HubError && error.status > 0 && error.status < 500) this.seesDeliveries = false;
    }
    this.#watchDeliveries();
  }

  // --- what there is to see -----------------------------------------------------------------------

  /** @returns {Pin[]} newest first, those that are on their way before all */
  list() {
    if (!this.listed) {
      const queued = this.entries.filter((entry) => entry.kind === "pin").map((entry) => pinOf(entry));
      const known = [...this.pins.values()].sort((a, b) => (b.n ?? 0) - (a.n ?? 0));
      this.listed = [...queued.reverse(), ...known];
    }
    return this.listed;
  }

  /** @param {string} id @returns {Pin | undefined} */
  pin(id) {
    const known = this.pins.get(id);
    if (known) return known;
    const entry = this.entries.find((entry) => entry.id === id && entry.kind === "pin");
    return entry && pinOf(entry);
  }

  /** @param {Pin} pin @returns {Facts} */
  facts(pin) {
    return {
      pin,
      tail: this.tails.get(pin.id),
      delivery: this.deliveries.get(pin.id),
      entries: this.entries.filter((entry) => entry.pin === pin.id || this.outbox.settled(entry.pin) === pin.id),
    };
  }

  /** @param {Pin} pin */
  state(pin) {
    return stateOf(this.facts(pin));
  }

  // --- what people write --------------------------------------------------------------------------

  /** @returns {import("./types.js").Author} */
  author() {
    const name = this.memory.get("name", "");
    return name ? { userId: this.consumer, name } : { userId: this.consumer };
  }

  /** @param {PinInput} input @param {string} [shot] a data URL @returns {Entry} */
  createPin(input, shot) {
    const id = `pin-${randomId(16)}`;
    return this.outbox.add({ id, kind: "pin", pin: id, ...(shot ? { shot } : {}) }, input);
  }

  /** @param {string} pin @param {string} text */
  reply(pin, text) {
    const name = this.memory.get("name", "");
    return this.outbox.add({ kind: "reply", pin }, { role: "human", text, ...(name ? { origin: name } : {}) });
  }

  /** @param {string} pin @param {"resolve" | "accept" | "reopen"} kind */
  decide(pin, kind) {
    const body = kind === "resolve" ? { by: "human" } : { outcome: kind === "accept" ? "accepted" : "reopened" };
    return this.outbox.add({ kind, pin }, body);
  }

  /** Has the hub try again what did not arrive. @param {string} pin */
  async deliverAgain(pin) {
    await this.wire.post(`/deliveries/${this.deliveries.get(pin)?.id}/retry`, "{}", randomId(16));
    this.#watchDeliveries(true);
  }

  /** @param {Draft} draft */
  keepDraft(draft) {
    this.drafts.set(draft.id, draft);
    // Only what has words is worth coming back to.
    if (draft.text.trim()) this.memory.set(`draft:${draft.id}`, draft);
    else this.memory.remove(`draft:${draft.id}`);
  }

  /** @param {string} id */
  dropDraft(id) {
    this.drafts.delete(id);
    this.memory.remove(`draft:${id}`);
    this.changed();
  }

  /** @param {string} name under which it is kept */
  #readDraft(name) {
    const draft = this.memory.get(name, /** @type {Draft | null} */ (null));
    if (draft) this.drafts.set(draft.id, draft);
    else this.drafts.delete(name.slice("draft:".length));
  }

  /** The unsent reply to a pin. @param {string} pin @param {string} [text] sets it */
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

  /** @param {Entry} entry @param {any} answer */
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

  /** @param {HubError} error */
  #outboxFailed(error) {
    if (error.status === 401) this.#setLink("refused");
    else if (error.status === 0) this.#setLink("offline");
    this.refusals += 1;
    this.#later("flush", backoff(this.refusals), () => void this.outbox.flush());
  }

  /** Keeps what can be read offline, a moment later and once for many changes. */
  #mirror() {
    this.#later("mirror", 500, () => {
      const open = [...this.pins.values()].filter((pin) => pin.status === "open" || !pin.verification);
      this.memory.set("pins", open.slice(0, MOST_KEPT));
      this.memory.set("tails", Object.fromEntries([...this.tails].filter(([id]) => this.pins.get(id)?.status === "open")));
    });
  }
}

/** @param {Message} message @param {number} count @returns {Tail} */
function tailOf(message, count) {
  const { role, at, origin } = message;
  return origin ? { role, at, count, origin } : { role, at, count };
}

/** A pin as it will be, while it is on its way. @param {Entry} entry @returns {Pin} */
export function pinOf(entry) {
  return { ...JSON.parse(entry.body), id: entry.id, status: "open", createdAt: new Date(entry.at).toISOString() };
}

/** Whether the browser keeps a public page from programs on this machine. @param {string} endpoint */
async function isLocalNetworkDenied(endpoint) {
  if (location.protocol !== "https:" || !/^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]?/.test(endpoint)) return false;
  if (/^(localhost|127\.0\.0\.1|\[::1\])$/.test(location.hostname)) return false;
  for (const name of ["loopback-network", "local-network-access"]) {
    try {
      const found = await navigator.permissions.query({ name: /** @type {any} */ (name) });
      if (found.state === "denied") return true;
      if (found.state === "granted") return false;
    } catch {
      // This browser does not know that permission.
    }
  }
  // A public https page without that permission: this is by far the likeliest reason.
  return true;
}
