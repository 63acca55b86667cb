// HTTP and the socket: how the hub is asked, and what comes back as what failure.

/** @typedef {import("./types.js").Config} Config */
/** @typedef {import("./types.js").Failure} Failure */
/** @typedef {import("./types.js").HubEvent} HubEvent */

// Taken before anything on the page replaces it.
const send = window.fetch.bind(window);
/** Milliseconds after which an unanswered request counts as lost. Its idempotency key makes it safe to repeat. */
const PATIENCE_MS = 30_000;

/** A refusal of the hub, or no answer at all (`status` 0, code E_HUB_UNREACHABLE). */
export class HubError extends Error {
  /** @param {Failure} failure */
  constructor(failure) {
    super(failure.message);
    this.failure = failure;
  }

  get status() {
    return this.failure.status;
  }

  /** Whether the same request may succeed later without anybody changing it. */
  get isPassing() {
    return this.status === 0 || this.status === 401 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/** @param {unknown} error @returns {Failure} */
export function failureOf(error) {
  if (error instanceof HubError) return error.failure;
  return { code: "E_INTERNAL", message: String(error), status: 0 };
}

export class Wire {
  /** @param {Config} config */
  constructor(config) {
    this.config = config;
    this.endpoint = plainEndpoint(config.endpoint);
    this.token = config.token ?? "";
    /** @type {Promise<boolean> | null} */
    this.renewing = null;
    this.isAsked = false;
  }

  /** @template T @param {string} path @returns {Promise<T>} */
  get(path) {
    return this.#ask(path, { method: "GET" });
  }

  /** @template T @param {string} path @param {string} body JSON @param {string} key @returns {Promise<T>} */
  post(path, body, key) {
    return this.#ask(path, { method: "POST", body, headers: { "content-type": "application/json", "idempotency-key": key } });
  }

  /** @template T @param {string} path @param {Blob} blob @returns {Promise<T>} */
  upload(path, blob) {
    return this.#ask(path, { method: "POST", body: blob, headers: { "content-type": blob.type } });
  }

  /**
   * Asks the page for a fresh token and address. Several askers share one question.
   * @returns {Promise<boolean>} whether there is something new to try
   */
  renew() {
    this.renewing ??= this.#renew().finally(() => (this.renewing = null));
    return this.renewing;
  }

  async #renew() {
    const before = `${this.endpoint} ${this.token}`;
    try {
      if (this.config.getToken) this.token = await this.config.getToken();
      else if (this.config.discover) {
        // Of the page's own origin only: a token must not be taken from anywhere else.
        const place = new URL(this.config.discover, location.href);
        if (place.origin === location.origin) {
          const found = await (await send(place, { cache: "no-store", signal: AbortSignal.timeout(5_000) })).json();
          if (typeof found.endpoint === "string") this.endpoint = plainEndpoint(found.endpoint);
          if (typeof found.token === "string") this.token = found.token;
        }
      }
    } catch {
      // The page has no answer; what there was stays.
    }
    return `${this.endpoint} ${this.token}` !== before;
  }

  /** Calls `getToken` once before the first request. */
  async ready() {
    if (this.isAsked) return;
    this.isAsked = true;
    if (this.config.getToken) await this.renew();
  }

  /** @param {string} path @param {RequestInit} init @returns {Promise<any>} */
  async #ask(path, init) {
    await this.ready();
    try {
      return await this.#once(path, init);
    } catch (error) {
      if (!(error instanceof HubError) || error.status !== 401 || !(await this.renew())) throw error;
      return this.#once(path, init);
    }
  }

  /** @param {string} path @param {RequestInit} init @returns {Promise<any>} */
  async #once(path, init) {
    let status = 0;
    /** @type {any} */
    let answer;
    try {
      // Not a path alone: without a hub it would be asked of the page's own site.
      const response = await send(new URL(this.endpoint + path), {
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
      // No answer, or one that is not the hub's: a proxy's page, another program on its port.
      throw new HubError({ code: "E_HUB_UNREACHABLE", message: status ? `HTTP ${status}` : "", status: status >= 400 ? status : 0 });
    }
    if (answer?.ok === true) return answer.data;
    const error = answer?.error ?? {};
    throw new HubError({ code: String(error.code ?? "E_INTERNAL"), message: String(error.message ?? `HTTP ${status}`), hint: error.hint, status: status || 500 });
  }

  /** The address of an attachment as an image of a page may use it, or "" when there is none. @param {string | undefined} url */
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

/** @param {string} endpoint @returns {string} without query, hash and closing slash; "" when it is no http address */
function plainEndpoint(endpoint) {
  try {
    const place = new URL(endpoint || "about:", location.href);
    if (place.protocol !== "http:" && place.protocol !== "https:") return "";
    return (place.origin + place.pathname).replace(/\/+$/, "");
  } catch {
    return "";
  }
}

// --- the socket -----------------------------------------------------------------------------------

const MIN_PROTOCOL = 1;
const PROTOCOL = 1;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** A connection that lived shorter is another failure: a hub that accepts and hangs up is not hammered. */
const STEADY_MS = 10_000;
/** Milliseconds over which pages that lost the hub at the same moment come back. */
const SPREAD_MS = 2_000;

/**
 * Milliseconds to wait before the next try, after `failures` in a row.
 * @param {number} failures from 1
 * @param {number} [chance] 0 to 1
 */
export function backoff(failures, chance = Math.random()) {
  const base = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
  return Math.min(LONGEST_WAIT_MS, base * (1 + chance / 4)) + (failures === 1 ? chance * SPREAD_MS : 0);
}

/**
 * @typedef {object} SocketEnds
 * @property {() => number} cursor
 * @property {() => string} logId of the log the cursor belongs to, "" when it was never told
 * @property {(events: HubEvent[], log: { id: string, newest: number, isOther: boolean }) => void} caughtUp
 * @property {(event: HubEvent) => void} event
 * @property {(code: number, wasLive: boolean, wasSteady: boolean) => void} closed
 */

/** One connection, from its opening to its close. It tries nothing again: that is the store's business. */
export class Socket {
  /** @param {Wire} wire @param {string} consumer @param {SocketEnds} ends */
  constructor(wire, consumer, ends) {
    this.isLive = false;
    this.isOver = false;
    this.since = 0;
    this.ends = ends;
    /** @type {HubEvent[]} frames that came before the catch-up */
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

  /** @param {unknown} data */
  #read(data) {
    /** @type {any} */
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

  /** @param {number} code */
  #over(code) {
    if (this.isOver) return;
    this.isOver = true;
    this.ends.closed(code, this.isLive, this.isLive && performance.now() - this.since > STEADY_MS);
  }
}

/** @param {any} frame @returns {HubEvent} */
function asEvent(frame) {
  return { seq: frame.seq, type: frame.eventType, at: frame.at, payload: frame.payload };
}
