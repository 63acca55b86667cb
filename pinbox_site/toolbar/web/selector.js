// From an element to a selector that finds exactly it again, and back.
//
// A selector may cross open shadow roots and frames of the same origin: "my-card >>> button" is the button
// inside the card's root.

/** What leads into a shadow root or a frame. Never part of a selector itself: `>` is escaped inside values. */
const INTO = " >>> ";
/** Attributes that developers give on purpose, the likeliest to stay first. */
const STABLE = ["data-pb-anchor", "data-pb-el", "data-testid", "data-test-id", "data-test", "data-cy", "data-qa"];
const TELLING = ["name", "aria-label", "href", "for", "role", "type", "alt", "placeholder", "title"];
/** Those of them that hold words or data of the page. */
const WORDS = /^(?:aria-label|href|alt|placeholder|title)$/;
/** Ids and classes that a library makes up anew on each load. */
const MADE_UP = /^(?:radix|headlessui|react-aria|mui|ember|ext-gen|yui|cdk|ng-|svelte-|css-|sc-|jss|emotion)|^:.*:$|^_?r_?\d|[0-9a-f]{8}|\d{4}/i;
const LONGEST_VALUE = 120;
const MOST_CLASSES = 6;

/** @param {string} value @returns {string} as a CSS string */
function quoted(value) {
  return `"${value.replace(/["\\>\u0000-\u001f\u007f]/g, (letter) => `\\${letter.charCodeAt(0).toString(16)} `)}"`;
}

/** @param {Element} element @returns {string} */
function tagOf(element) {
  return CSS.escape(element.localName);
}

/** @param {Element} element @returns {string} its own: a form's property may be its field of that name */
function idOf(element) {
  return element.getAttribute("id") ?? "";
}

/** @param {ParentNode} root @param {string} selector @param {Element} element */
function finds(root, selector, element) {
  try {
    const found = root.querySelectorAll(selector);
    return found.length === 1 && found[0] === element;
  } catch {
    return false;
  }
}

/** Selectors for one element alone, the likeliest to last first. @param {Element} element @returns {Generator<string>} */
function* own(element) {
  const tag = tagOf(element);
  for (const name of STABLE) {
    const value = element.getAttribute(name);
    if (value && value.length <= LONGEST_VALUE) yield `[${name}=${quoted(value)}]`;
  }
  const id = idOf(element);
  if (id && !MADE_UP.test(id)) yield `#${CSS.escape(id)}`;
  if (/^(?:body|html|main|.+-.+)$/.test(element.localName)) yield tag;
  for (const name of TELLING) {
    const value = element.getAttribute(name);
    if (value && value.length <= LONGEST_VALUE && !(name === "href" && MADE_UP.test(value)) && !(WORDS.test(name) && isPrivate(element))) yield `${tag}[${name}=${quoted(value)}]`;
  }
  const classes = [...element.classList].filter((name) => !MADE_UP.test(name)).slice(0, MOST_CLASSES);
  for (const name of classes) yield `${tag}.${CSS.escape(name)}`;
  if (classes.length > 1) yield tag + classes.map((name) => `.${CSS.escape(name)}`).join("");
}

/** @param {Element} element @returns {string} its tag, and its place where siblings share it */
function step(element) {
  const tag = tagOf(element);
  const beside = /** @type {Element[]} */ ([...(element.parentNode?.childNodes ?? [])]); // `children` may be a field of a form
  const same = beside.filter((sibling) => sibling.localName === element.localName && sibling.namespaceURI === element.namespaceURI);
  return same.length > 1 ? `${tag}:nth-of-type(${same.indexOf(element) + 1})` : tag;
}

/** @param {Element} element @param {Document | ShadowRoot} root @returns {string} "" when nothing finds it */
function within(element, root) {
  for (const selector of own(element)) if (finds(root, selector, element)) return selector;
  // The nearest ancestor with a name of its own, then the way down from it, as short as it may be.
  let path = "";
  for (let at = /** @type {Element | null} */ (element); at; at = at.parentElement) {
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

/**
 * A selector that finds this element and no other, checked; undefined where there is none.
 * @param {Element} element @returns {string | undefined}
 */
export function selectorOf(element) {
  /** @type {string[]} */
  const parts = [];
  for (let at = /** @type {Element | null} */ (element); at; ) {
    const root = rootOf(at);
    const part = root && within(at, root);
    if (!part) return undefined;
    parts.unshift(part);
    at = holderOf(root);
  }
  return parts.join(INTO);
}

/** The element a selector finds on this page now. @param {string | undefined} selector @returns {Element | null} */
export function find(selector) {
  if (!selector) return null;
  /** @type {Document | ShadowRoot} */
  let root = document;
  /** @type {Element | null} */
  let found = null;
  try {
    for (const part of selector.split(INTO)) {
      if (found) {
        const inside = insideOf(found);
        if (!inside) return null;
        root = inside;
      }
      found = root.querySelector(part);
      if (!found) return null;
    }
  } catch {
    return null; // a pin of another client may carry anything
  }
  return found;
}

// --- what people read -----------------------------------------------------------------------------

/** @param {Element} element @returns {Element | null} also out of a shadow root or a frame */
export function parentOf(element) {
  if (element.parentElement) return element.parentElement;
  const root = rootOf(element);
  return root && holderOf(root);
}

// Nothing of a frame is an instance of this window's classes: what a node is, its nodeType says.

/** @param {Element} element @returns {Document | ShadowRoot | null} null when it is in no document */
function rootOf(element) {
  const root = element.getRootNode();
  return root.nodeType === 9 || "host" in root ? /** @type {Document | ShadowRoot} */ (root) : null;
}

/** @param {Document | ShadowRoot} root @returns {Element | null} what it is inside of; null for the page itself */
function holderOf(root) {
  if ("host" in root) return root.host;
  return root === document ? null : (root.defaultView?.frameElement ?? null);
}

/** @param {Element} element @returns {Document | ShadowRoot | null} its shadow root, or the page in it where that is of the same origin */
export function insideOf(element) {
  return element.shadowRoot ?? /** @type {Partial<HTMLIFrameElement>} */ (element).contentDocument ?? null;
}

/** Where it is in the window, also from inside frames. @param {Element} element @returns {{ x: number, y: number, width: number, height: number }} */
export function boxOf(element) {
  let { x, y, width, height } = element.getBoundingClientRect();
  for (let frame = holderOf(element.ownerDocument); frame; frame = holderOf(frame.ownerDocument)) {
    const outer = frame.getBoundingClientRect();
    x += outer.x + frame.clientLeft;
    y += outer.y + frame.clientTop;
  }
  return { x, y, width, height };
}

/** Whether it, or anything around it, is marked as private. @param {Node | null} node */
export function isPrivate(node) {
  for (let at = node?.nodeType === 1 ? /** @type {Element} */ (node) : (node?.parentElement ?? null); at; at = parentOf(at)) {
    if (at.hasAttribute("data-pinbox-private") || (at.localName === "input" && at.getAttribute("type") === "password")) return true;
  }
  return false;
}

/** A name for one element: the developer's own label first. @param {Element} element @returns {string} */
export function labelOf(element) {
  const given = element.getAttribute("data-pb-el") || element.getAttribute("data-pb-anchor") || element.getAttribute("data-testid");
  if (given) return given;
  const tag = element.localName;
  const id = idOf(element);
  if (id && !MADE_UP.test(id)) return `${tag}#${id}`;
  const words = isPrivate(element) ? "" : shortText(element);
  if (words) return `${tag} “${words}”`;
  const name = [...element.classList].find((name) => /^[a-z][\w-]*$/i.test(name) && !MADE_UP.test(name));
  return name ? `${tag}.${name}` : tag;
}

/** @param {Element} element @returns {string} what a control is called, when that is short */
function shortText(element) {
  const named = element.getAttribute("aria-label") || element.getAttribute("alt") || element.getAttribute("placeholder") || "";
  const text = named || (element.matches("button, a, label, h1, h2, h3, h4, th, summary, option, [role=button], [role=tab]") ? (element.textContent ?? "") : "");
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= 32 ? line : `${line.slice(0, 30)}…`;
}

/** At most three names, the outermost first. @param {Element} element @returns {string[]} */
export function crumbsOf(element) {
  const crumbs = [labelOf(element)];
  for (let at = parentOf(element); at && crumbs.length < 3; at = parentOf(at)) {
    if (at.localName === "body" || at.localName === "html") break;
    const isNamed = at.hasAttribute("data-pb-el") || at.hasAttribute("data-testid") || (idOf(at) && !MADE_UP.test(idOf(at))) || at.matches("main, nav, header, footer, section, article, form, dialog, aside") || at.shadowRoot;
    if (isNamed) crumbs.unshift(labelOf(at));
  }
  return crumbs;
}

/** The same from what a pin holds, when its element is not here. @param {import("./types.js").Target | undefined} target */
export function labelOfTarget(target) {
  if (!target) return "";
  if (target.anchor) return target.anchor;
  const text = target.context?.textRuns?.[0];
  if (target.tag && text && text.length <= 32) return `${target.tag} “${text}”`;
  return target.selector?.split(INTO).pop() ?? target.tag ?? "";
}
