// Every write, from the moment it is sent until the hub's 2xx. In order, each under an idempotency key,
// one flusher across all tabs of the project.

import { HubError, failureOf } from "./wire.js";
import { asIs, randomId } from "./memory.js";

/** @typedef {import("./types.js").Entry} Entry */
/** @typedef {import("./memory.js").Memory} Memory */
/** @typedef {import("./wire.js").Wire} Wire */

const START = "out:";
/** Answers of 500 to the same write after which it is put aside, so that it does not hold up the rest. */
const MOST_TRIES = 4;
/** How many ids of sent pins are remembered for tabs that still use their own. */
const MOST_SENT = 100;
/** Letters of one text that a pin says of its page. */
const LONGEST_TEXT = 9_999;

/**
 * @typedef {object} OutboxEnds
 * @property {() => void} changed the list is another
 * @property {(entry: Entry, answer: any) => void} sent
 * @property {(error: HubError) => void} failed the hub could not take anything just now
 */

export class Outbox {
  /** @param {Memory} memory @param {Wire} wire @param {OutboxEnds} ends */
  constructor(memory, wire, ends) {
    this.memory = memory;
    this.wire = wire;
    this.ends = ends;
    this.isFlushing = false;
    this.isAskedAgain = false;
    /** @type {string | null} id of the entry that is on its way from this tab */
    this.sending = null;
    this.lastAt = 0;
  }

  /** @returns {Entry[]} oldest first; each lies under a key of its own, so no tab overwrites another's */
  all() {
    return this.memory
      .names(START)
      .map((name) => this.memory.get(name, /** @type {Entry | null} */ (null)))
      .filter((entry) => entry !== null);
  }

  /**
   * @param {Pick<Entry, "kind" | "pin"> & Partial<Entry>} given
   * @param {unknown} body
   * @returns {Entry}
   */
  add(given, body) {
    this.lastAt = Math.max(Date.now(), this.lastAt + 1);
    /** @type {Entry} */
    const entry = { id: `${given.kind}-${randomId(16)}`, at: this.lastAt, tries: 0, body: JSON.stringify(body, storable), ...given };
    this.memory.set(this.#name(entry), entry);
    this.ends.changed();
    void this.flush();
    return entry;
  }

  /** @param {Entry} entry sends it again, also one that was refused */
  retry(entry) {
    const { error, held, ...rest } = entry;
    void error;
    void held;
    this.#keep({ ...rest, tries: 0 });
    void this.flush();
  }

  /** @param {Entry} entry */
  discard(entry) {
    this.memory.remove(this.#name(entry));
    this.ends.changed();
  }

  /** @param {string} id @returns {string} the hub's id of a pin, when the pin was sent meanwhile */
  settled(id) {
    return this.memory.get("sent", /** @type {[string, string][]} */ ([])).find(([local]) => local === id)?.[1] ?? id;
  }

  /** Sends what can be sent. May be called at any time, from any tab. */
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
        try {
          await navigator.locks.request(`${this.memory.prefix}flush`, work);
        } catch {
          // Only pages on https or on this machine have locks, and not where the browser is told to keep nothing
          // for them; there the keys alone prevent doubles.
          await work();
        }
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

  /** @returns {Entry | undefined} the oldest that waits for nothing but the hub */
  #next() {
    const entries = this.all();
    const unsent = new Set(entries.filter((entry) => entry.kind === "pin").map((entry) => entry.id));
    const held = new Set(entries.filter((entry) => entry.held).map((entry) => entry.pin));
    // What belongs to a pin waits for what was written to it before, and for the pin itself.
    return entries.find((entry) => !entry.held && !held.has(entry.pin) && (entry.kind === "pin" || !unsent.has(entry.pin)));
  }

  /** @param {Entry} entry */
  async #send(entry) {
    let body = entry.body;
    if (entry.shot) body = await this.#withPicture(entry);
    return this.wire.post(this.#path(entry), body, entry.id);
  }

  /** Uploads the picture once and keeps its id, so that a repeated write is the same write. @param {Entry} entry */
  async #withPicture(entry) {
    const blob = blobOf(/** @type {string} */ (entry.shot));
    const { attachment } = await this.wire.upload("/attachments?kind=screenshot", blob);
    const body = JSON.stringify({ ...JSON.parse(entry.body), attachments: [{ id: attachment.id, kind: attachment.kind }] }, asIs);
    entry.body = body;
    delete entry.shot;
    this.#keep(entry);
    return body;
  }

  /**
   * @param {Entry} entry @param {unknown} error
   * @returns {Promise<boolean>} whether the next entry may be tried
   */
  async #failed(entry, error) {
    if (error instanceof HubError && !error.isPassing && (entry.shot || error.message.startsWith("attachments"))) {
      // A picture the hub does not take, or has no more, must not cost the words.
      delete entry.shot;
      entry.body = JSON.stringify({ ...JSON.parse(entry.body), attachments: undefined }, asIs);
      this.#keep(entry);
      return true;
    }
    // It may have been taken back, in this tab or another, while it was on its way.
    if (!this.all().some((known) => known.id === entry.id)) return true;
    const passing = error instanceof HubError && error.isPassing;
    const tries = entry.tries + (passing && /** @type {HubError} */ (error).status >= 500 ? 1 : 0);
    const held = !passing || tries >= MOST_TRIES;
    this.#keep({ ...entry, tries, error: failureOf(error), ...(held ? { held } : {}) });
    if (held) return true;
    this.ends.failed(/** @type {HubError} */ (error));
    return false;
  }

  /** @param {Entry} entry */
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

  /** @param {string} local @param {string} id */
  #settle(local, id) {
    const sent = this.memory.get("sent", /** @type {[string, string][]} */ ([]));
    this.memory.set("sent", [...sent, [local, id]].slice(-MOST_SENT));
  }

  /** @param {Entry} entry */
  #keep(entry) {
    this.memory.set(this.#name(entry), entry);
    this.ends.changed();
  }

  /** @param {Entry} entry sorts by time, whichever tab wrote it */
  #name(entry) {
    return `${START}${String(entry.at).padStart(14, "0")}:${entry.id}`;
  }
}

/**
 * What the hub takes: no NUL, no half of a character that was cut in two, and of the page's own texts none
 * without end. The words of a person keep their length.
 * @this {any} @param {string} name
 */
function storable(name) {
  const value = this[name];
  if (typeof value !== "string") return value;
  return (name === "text" ? value : value.slice(0, LONGEST_TEXT)).replace(/\0|[\ud800-\udfff]/gu, "\ufffd");
}

/** A data URL as a blob, without a request: a page's CSP may forbid `data:`. @param {string} url */
export function blobOf(url) {
  const [head = "", base64 = ""] = url.split(",");
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return new Blob([bytes], { type: /^data:([^;]+)/.exec(head)?.[1] ?? "application/octet-stream" });
}
