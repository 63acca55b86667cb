// The toolbar's own small way of drawing, and the one door through which events of its shadow root go.
//
// No markup is ever made from a string: what people and agents wrote reaches the page as text nodes.

/** @typedef {{ tag: string, props: Props, kids: VNode[] | string, key: string }} VNode */
/** @typedef {Record<string, any>} Props */
/** @typedef {VNode | string | number | null | undefined | false | (VNode | string | null | undefined | false)[]} Child */

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "circle", "rect", "line"]);

/**
 * Describes an element. Props: `key`; `on` with handlers by event type; `ref`, called with the node when
 * it was made; `live` with properties that are set each time; everything else is an attribute (false,
 * null and undefined leave it out, true is an empty one; but true and false are words in aria-*).
 * @param {string} tag `div`, or with classes as in `div.row.is-new`
 * @param {Props | null} [props]
 * @param {...Child} kids
 * @returns {VNode}
 */
export function h(tag, props, ...kids) {
  const [name = "div", ...classes] = tag.split(".");
  /** @type {Props} */
  const given = { ...props };
  if (classes.length) given.class = [...classes, given.class].filter(Boolean).join(" ");
  const key = String(given.key ?? "");
  delete given.key;
  /** @type {VNode[]} */
  const list = [];
  for (const kid of kids.flat()) {
    if (kid === null || kid === undefined || kid === false || kid === "") continue;
    list.push(typeof kid === "object" ? kid : { tag: "#text", props: {}, kids: String(kid), key: "" });
  }
  return { tag: name, props: given, kids: list, key };
}

/** @type {WeakMap<Node, VNode>} what a node was last drawn from */
const drawn = new WeakMap();
/** @type {WeakMap<Node, Record<string, (event: any) => void>>} */
const handlers = new WeakMap();

/**
 * Makes the children of `parent` what `kids` say, keeping the nodes that are already there: a field that
 * is being typed in stays the same field.
 * @param {Node} parent
 * @param {VNode[]} kids
 */
export function draw(parent, kids) {
  /** @type {Map<string, Node>} */
  const known = new Map();
  /** @type {Map<string, number>} */
  const counts = new Map();
  /** @param {VNode} vnode */
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
  /** @type {Node | null} */
  let next = parent.firstChild;
  for (const { vnode, node } of wanted) {
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
    paint(node, vnode);
  }
}

/** @param {string} tag @returns {Node} */
function make(tag) {
  if (tag === "#text") return document.createTextNode("");
  return SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
}

/** @param {Node} node @param {VNode} vnode */
function paint(node, vnode) {
  const before = drawn.get(node);
  if (before === vnode) return; // what is kept from one drawing to the next is the same
  drawn.set(node, vnode);
  if (typeof vnode.kids === "string") {
    if (node.nodeValue !== vnode.kids) node.nodeValue = vnode.kids;
    return;
  }
  const element = /** @type {Element} */ (node);
  const { on, ref, live, ...attributes } = vnode.props;
  for (const name of Object.keys(before?.props ?? {})) {
    if (!(name in attributes)) element.removeAttribute(name);
  }
  for (const [name, value] of Object.entries(attributes)) {
    const isAria = name.startsWith("aria-");
    if (value === null || value === undefined || (value === false && !isAria)) element.removeAttribute(name);
    else {
      const text = value === true && !isAria ? "" : String(value);
      if (element.getAttribute(name) !== text) element.setAttribute(name, text);
    }
  }
  if (on) handlers.set(node, on);
  else handlers.delete(node);
  draw(element, vnode.kids);
  for (const [name, value] of Object.entries(live ?? {})) {
    const target = /** @type {any} */ (element);
    if (target[name] !== value) target[name] = value;
  }
  if (!before && ref) ref(element);
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

/**
 * Takes every event of the shadow root before the page sees it, gives it to our own handlers, and ends
 * it there. So nothing on the page takes a click on a card for a click outside its dialog, no key typed
 * into a card is a shortcut of the page, and no focus trap pulls the caret away.
 * @param {Element} host
 * @param {ShadowRoot} root
 * @returns {() => void} stops it
 */
export function route(host, root) {
  /** @param {Event} event */
  const take = (event) => {
    const path = event.composedPath();
    if (!path.includes(host)) {
      // A trap learns that focus left its dialog from the field that lost it.
      if (event.type === "focusout" && /** @type {FocusEvent} */ (event).relatedTarget === host) event.stopImmediatePropagation();
      return;
    }
    event.stopImmediatePropagation();
    dispatch(event, path, root);
  };
  /** @param {Event} event an event that does not leave a shadow root by itself */
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

/** @param {Event} event @param {EventTarget[]} path @param {ShadowRoot} root */
function dispatch(event, path, root) {
  for (const node of path) {
    if (node === root) return;
    handlers.get(/** @type {Node} */ (node))?.[event.type]?.(event);
  }
}

/** @type {WeakMap<HTMLElement, Record<string, string>>} */
const written = new WeakMap();

/**
 * Sets a style by hand, unless it has that value already: an unchanged node costs no style and no layout.
 * @param {HTMLElement | undefined} node @param {string} name @param {string} value
 */
export function setStyle(node, name, value) {
  if (!node) return;
  let known = written.get(node);
  if (!known) written.set(node, (known = {}));
  if (known[name] === value) return;
  known[name] = value;
  node.style.setProperty(name, value);
}

/** @param {HTMLElement | undefined} node @param {boolean} isHidden */
export function setHidden(node, isHidden) {
  if (node && node.hidden !== isHidden) node.hidden = isHidden;
}

/** The element that really has the focus, through shadow roots. @returns {Element | null} */
export function deepFocus() {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at;
}

/** @param {EventTarget | null | undefined} target whether keys typed there are text, or may be: nobody sees what a closed shadow root holds */
export function isField(target) {
  if (!(target instanceof Element)) return false;
  return target.matches("input, textarea, select, [role=textbox]") || /** @type {HTMLElement} */ (target).isContentEditable || (target.localName.includes("-") && !target.shadowRoot);
}
