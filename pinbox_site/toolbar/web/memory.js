// What the toolbar keeps in the browser: under the project, never under the hub's port, so that a hub on
// another port finds it again and another project on the same page address does not.

/**
 * A short digest, to tell projects apart where no project id was given. No secret hangs on it.
 * @param {string} text
 */
export function digest(text) {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  return ((b >>> 0).toString(36) + (a >>> 0).toString(36)).padStart(14, "0");
}

/** @param {number} length @returns {string} random, of a–z and 0–9 */
export function randomId(length) {
  return [...crypto.getRandomValues(new Uint8Array(length))].map((byte) => (byte % 36).toString(36)).join("");
}

/** For JSON of what is there, whatever `toJSON` an old library gave to arrays. @this {any} @param {string} name */
export function asIs(name) {
  return this[name];
}

/** Values under one prefix of localStorage. Where the browser allows none, they last as long as the page. */
export class Memory {
  /** @param {string} space the project's id, or what stands in for it */
  constructor(space) {
    this.prefix = `pinbox:${space}:`;
    /** @type {Map<string, string>} what storage did not take, or may lose */
    this.here = new Map();
  }

  /** @template T @param {string} name @param {T} otherwise @returns {T} */
  get(name, otherwise) {
    const text = this.here.get(name) ?? this.#stored(name);
    if (text === null || text === undefined) return otherwise;
    try {
      return JSON.parse(text);
    } catch {
      return otherwise;
    }
  }

  /** @param {string} name @param {unknown} value @returns {boolean} false: it will not outlive this page */
  set(name, value) {
    const text = JSON.stringify(value, asIs);
    this.here.set(name, text);
    try {
      localStorage.setItem(this.prefix + name, text);
      // What a person wrote (`out:`, `words:`, `draft:`) outlasts a page that empties its storage.
      if (!name.includes(":")) this.here.delete(name);
      return true;
    } catch {
      return false;
    }
  }

  /** @param {string} name */
  remove(name) {
    this.here.delete(name);
    try {
      localStorage.removeItem(this.prefix + name);
    } catch {
      // There is no storage, so there is nothing to remove.
    }
  }

  /** @param {string} start @returns {string[]} the names that begin so, in order */
  names(start) {
    const found = new Set([...this.here.keys()].filter((name) => name.startsWith(start)));
    try {
      for (let i = 0; i < localStorage.length; i++) {
        const key = localStorage.key(i);
        if (key?.startsWith(this.prefix + start)) found.add(key.slice(this.prefix.length));
      }
    } catch {
      // As above.
    }
    return [...found].sort();
  }

  /** @param {string} name */
  #stored(name) {
    try {
      return localStorage.getItem(this.prefix + name);
    } catch {
      return null;
    }
  }
}
