// Where the toolbar is drawn: in the browser's top layer, inside whichever dialog or popover is open, so
// that it lies over it, can be written in, and does not close it.

const TOP = "dialog:modal, [popover]:popover-open, :fullscreen";

/** How often it is put back before the page has had time to paint. */
const MOST_RECOVERED = 20;

export class Layer {
  /**
   * @param {HTMLElement} host the custom element
   * @param {HTMLElement} layer the element in its shadow root that holds everything
   * @param {() => void} moved something on the page may have moved
   * @param {() => void} changed something on the page came or went
   */
  constructor(host, layer, moved, changed) {
    this.host = host;
    this.layer = layer;
    this.moved = moved;
    this.changed = changed;
    /** @type {HTMLElement} where the host stands when nothing is on top */
    this.home = document.documentElement;
    /** @type {Element[]} what was opened on top, the newest last */
    this.opened = [];
    this.isMoving = false;
    this.recovered = 0;
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
    // What moves without any event: transitions, and what happens inside shadow roots of the page.
    this.timer = setInterval(() => {
      this.recovered = 0;
      if (document.visibilityState === "visible") this.schedule();
    }, 400);
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

  /** Puts the layer on top of the top layer. */
  show() {
    if (!this.host.isConnected || !this.layer.showPopover) return;
    try {
      if (this.layer.matches(":popover-open")) this.layer.hidePopover();
      this.layer.showPopover();
    } catch {
      // A browser without popovers, or a document that is going: the z-index has to do.
    }
  }

  /** One look at the page in the next frame, however many ask for it. */
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

  /** @param {MutationRecord[]} records */
  #mutated(records) {
    let isOther = false;
    for (const { type, target, attributeName } of records) {
      if (target === this.host) continue;
      isOther = true;
      // Where a browser sends no toggle event for dialogs, the attribute tells.
      if (type === "childList" || attributeName === "open") {
        this.changed();
        if (this.host.isConnected) this.#settle();
        break;
      }
    }
    if (isOther) this.schedule();
  }

  /** @param {Event} event */
  #toggled = (event) => {
    if (!(event.target instanceof Element) || event.composedPath().includes(this.host)) return;
    this.#settle();
  };

  #settle = () => {
    const open = [...document.querySelectorAll(TOP)].filter((element) => !this.host.contains(element) && canHold(element));
    // A dialog inside a shadow root shows itself by the focus it has.
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

  /** @param {Element} place */
  #move(place) {
    const focused = this.host.shadowRoot?.activeElement;
    this.isMoving = true;
    try {
      // Keeps focus and selection where the browser can.
      const mover = /** @type {any} */ (place);
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

  /** Puts the host back when the page took it away together with something else. */
  recover() {
    this.opened = [];
    // A page that takes away whatever it does not know is not fought without end.
    if (this.recovered++ < MOST_RECOVERED) this.#move(this.home);
  }

  /** A modal of the page marks everything around it as gone; the toolbar is not of the page. */
  #freeHost() {
    for (const name of ["inert", "aria-hidden", "hidden"]) if (this.host.hasAttribute(name)) this.host.removeAttribute(name);
  }
}

/** @param {Element} element whether a child of it is shown */
function canHold(element) {
  return element instanceof HTMLElement && !/^(?:img|video|canvas|iframe|input|textarea|object|embed)$/.test(element.localName);
}
