// Failed requests and console errors of the last minute. They are only remembered here; a person
// decides pin by pin whether they go along. Addresses without their query, never a body or a header.

const KEPT_MS = 60_000;
const MOST = 20;
const LONGEST = 300;

/** @typedef {{ at: number, text: string }} Note */

export class Witness {
  /** @param {string} endpoint the hub, whose own requests do not count */
  constructor(endpoint) {
    this.endpoint = endpoint;
    /** @type {Note[]} */
    this.requests = [];
    /** @type {Note[]} */
    this.errors = [];
    /** @type {PerformanceObserver | null} */
    this.observer = null;
    this.original = console.error;
  }

  start() {
    // What the browser measured anyway: nothing of the page is wrapped to see its requests.
    try {
      this.observer = new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) this.#request(/** @type {PerformanceResourceTiming} */ (entry));
      });
      this.observer.observe({ type: "resource", buffered: true });
    } catch {
      this.observer = null;
    }
    window.addEventListener("error", this.#failed);
    window.addEventListener("unhandledrejection", this.#rejected);
    const { original } = this;
    const note = (/** @type {unknown[]} */ parts) => this.#note(this.errors, parts.map(words).join(" "));
    console.error = function (...parts) {
      try {
        note(parts);
      } catch {
        // Another site's window, a proxy: what may not be looked at costs the page nothing.
      }
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

  /** @returns {{ requests: string[], errors: string[] }} of the last minute, oldest first */
  recent() {
    const since = Date.now() - KEPT_MS;
    const texts = (/** @type {Note[]} */ notes) => notes.filter((note) => note.at >= since).map((note) => note.text);
    return { requests: texts(this.requests), errors: texts(this.errors) };
  }

  /** @param {PerformanceResourceTiming} entry */
  #request(entry) {
    const status = entry.responseStatus;
    // Without a status and without a byte it never arrived; another site's answer hides both, and is let be.
    const isLost = status === 0 && entry.responseEnd > 0 && entry.responseStart === 0 && ["fetch", "xmlhttprequest"].includes(entry.initiatorType);
    if (!(status >= 400 || (isLost && isSameSite(entry.name))) || entry.name.startsWith(this.endpoint)) return;
    if (entry.name.endsWith("/favicon.ico")) return; // the browser asks for it, not the page
    this.#note(this.requests, `${status || "failed"} ${withoutQuery(entry.name)}`, performance.timeOrigin + entry.responseEnd);
  }

  /** @param {ErrorEvent} event */
  #failed = (event) => {
    if (event.message) this.#note(this.errors, event.filename ? `${event.message} (${withoutQuery(event.filename)}:${event.lineno})` : event.message);
  };

  /** @param {PromiseRejectionEvent} event */
  #rejected = (event) => this.#note(this.errors, `Unhandled rejection: ${words(event.reason)}`);

  /** @param {Note[]} notes @param {string} text @param {number} [at] */
  #note(notes, text, at = Date.now()) {
    notes.push({ at, text: text.slice(0, LONGEST) });
    if (notes.length > MOST) notes.shift();
  }
}

/** @param {unknown} value an object is only named: what it holds may be anybody's data */
function words(value) {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (typeof value === "object" && value !== null) return `[${value.constructor?.name ?? "object"}]`;
  return String(value);
}

/** @param {string} address */
function withoutQuery(address) {
  try {
    const place = new URL(address, location.href);
    return (place.origin === location.origin ? "" : place.origin) + place.pathname;
  } catch {
    return address.split(/[?#]/)[0] ?? "";
  }
}

/** @param {string} address */
function isSameSite(address) {
  try {
    return new URL(address, location.href).origin === location.origin;
  } catch {
    return false;
  }
}
