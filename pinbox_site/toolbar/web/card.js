// The card of one pin or one draft: what was said, where it is, what to do about it.

import { h } from "./dom.js";
import { icon, iconButton, mark } from "./icons.js";
import { crumbsOf, labelOfTarget } from "./selector.js";
import { viewOf } from "./capture.js";
import { failureOf } from "./wire.js";
import { agentOf, isUndelivered, stateWord, wayOf } from "./states.js";
import { ago, agentName, say } from "./texts.js";

/** @typedef {import("./toolbar.js").App} App */
/** @typedef {import("./types.js").Pin} Pin */
/** @typedef {import("./types.js").Draft} Draft */
/** @typedef {import("./types.js").Entry} Entry */
/** @typedef {import("./types.js").Message} Message */
/** @typedef {import("./types.js").Attachment} Attachment */
/** @typedef {import("./types.js").Failure} Failure */
/** @typedef {import("./dom.js").VNode} VNode */
/** @typedef {import("./states.js").Facts} Facts */

const IS_MAC = /Mac|iP(?:hone|ad|od)/.test(navigator.platform);
/** The keys that send, as the reader's keyboard has them. */
export const SEND_KEYS = IS_MAC ? "⌘ ↵" : "Ctrl ↵";
export const SHIFT_KEY = IS_MAC ? "⇧" : "Shift";

/** @param {Failure} failure */
export function why(failure) {
  if (failure.status === 401) return say("why_refused");
  if (failure.code === "E_HUB_UNREACHABLE") return failure.message || say("why_unreachable");
  return failure.message;
}

/** @param {App} app @returns {VNode[]} */
export function cardView(app) {
  const id = app.ui.card;
  if (!id || app.picker.isOn) return [];
  const draft = app.store.drafts.get(id);
  const pin = app.store.pin(id);
  if (!draft && !pin) return [];
  return [draft ? draftCard(app, draft) : pinCard(app, /** @type {Pin} */ (pin))];
}

/** @param {App} app @param {string} id @param {string} name @param {(VNode | false | null)[]} kids */
function shell(app, id, name, kids) {
  return h(
    "section.card",
    {
      key: "card",
      role: "dialog",
      "aria-label": name,
      tabindex: -1,
      "data-pin": id,
      ref: (/** @type {HTMLElement} */ node) => app.nodes.set("card", node),
    },
    ...kids,
  );
}

/** @param {App} app @param {string} id @param {import("./types.js").Target | undefined} target */
function crumbs(app, id, target) {
  const element = app.markers.element(id, target);
  const names = element ? crumbsOf(element) : [labelOfTarget(target)];
  if (!names[0]) return null;
  /** @type {(VNode | null)[]} */
  const parts = [];
  names.forEach((name, i) => parts.push(i ? h("i", { key: `i${i}` }, "›") : null, h("span", { key: `s${i}` }, name)));
  return h("p.crumbs.facts", { key: "crumbs", title: target?.selector }, ...parts);
}

/** @param {import("./types.js").Target | undefined} target */
function alsoLines(target) {
  const others = target?.targets ?? [];
  return others.map((other, i) => h("p.crumbs.facts", { key: `also-${i}`, title: other.selector }, h("span", null, `${i + 2}  ${labelOfTarget(other)}`)));
}

/** @param {App} app */
function closeButton(app) {
  return iconButton("close", say("close"), () => app.closeCard());
}

// --- a draft --------------------------------------------------------------------------------------

/** @param {App} app @param {Draft} draft */
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
    ...alsoLines(draft.target),
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
            on: { change: (/** @type {Event} */ event) => app.editDraft(draft, { attach: /** @type {HTMLInputElement} */ (event.composedPath()[0]).checked }) },
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
        navigator.mediaDevices?.getDisplayMedia !== undefined && store.config.screenshots !== false
          ? tool("camera", draft.shot ? say("shot_remove") : say("shot_add"), Boolean(draft.shot), () => (draft.shot ? app.editDraft(draft, { shot: undefined }) : app.withMore((more) => more.takeShot(app, draft))))
          : null,
        draft.target.rect && !draft.target.targets
          ? tool("move", draft.move ? say("move_remove") : say("move_add"), Boolean(draft.move), () => (draft.move ? app.editDraft(draft, { move: undefined }) : app.picker.startMove(draft)))
          : null,
      ],
    }),
  ]);
}

/** @param {import("./icons.js").IconName} name @param {string} label @param {boolean} isOn @param {() => void} act */
function tool(name, label, isOn, act) {
  return iconButton(name, label, act, { "aria-pressed": isOn });
}

/**
 * @typedef {object} Composer
 * @property {string} id
 * @property {boolean} isDraft
 * @property {string} label
 * @property {string} placeholder
 * @property {string} text
 * @property {(text: string) => void} typed
 * @property {(text: string) => void} send
 * @property {(VNode | null)[]} [tools]
 */

/** @param {App} app @param {Composer} given */
function composer(app, given) {
  const send = () => {
    const field = /** @type {HTMLTextAreaElement | undefined} */ (app.nodes.get("field"));
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
      ref: (/** @type {HTMLTextAreaElement} */ node) => {
        node.value = given.text;
        app.nodes.set("field", node);
      },
      on: {
        input: (/** @type {Event} */ event) => given.typed(/** @type {HTMLTextAreaElement} */ (event.composedPath()[0]).value),
        keydown: (/** @type {KeyboardEvent} */ event) => {
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
        { key: "send", "aria-disabled": !(given.text.trim()) || null, title: say("send_hint", { keys: SEND_KEYS }), "aria-keyshortcuts": IS_MAC ? "Meta+Enter" : "Control+Enter", on: { click: send } },
        say("send"),
        icon("send"),
      ),
    ),
  );
}

// --- a pin ----------------------------------------------------------------------------------------

/** @param {App} app @param {Pin} pin */
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
      iconButton("copy", say("copy"), () => app.copy([pin])),
      pin.status === "open" && pin.n ? iconButton("check", say("resolve"), () => app.decide(pin, "resolve"), { "aria-disabled": deciding ? true : null }) : null,
      closeButton(app),
    ),
    crumbs(app, pin.id, pin.target),
    ...alsoLines(pin.target),
    h(
      "div.body",
      { key: "body", role: "log", "aria-live": "off", "aria-label": say("thread"), tabindex: 0, ref: (/** @type {HTMLElement} */ node) => app.nodes.set("thread", node) },
      firstMessage(app, pin, facts),
      ...threadViews(app, pin, facts),
      ...links(pin),
      pin.target && isElsewhere
        ? h("p.way", { key: "elsewhere" }, say("elsewhere"), h("a", { href: safeLink(pin.target.url) }, say("go")))
        : pin.target?.selector && !isHere
          ? h("p.way", { key: "gone" }, say("gone"))
          : null,
      ...outcomeViews(app, pin, facts),
      wayOf(facts)
        ? h("p.way", { key: "way", "data-way": true }, h("span", null, wayOf(facts)), isUndelivered(facts) ? h("button.act.line", { key: "again", on: { click: () => void store.deliverAgain(pin.id).catch((error) => app.toast(why(failureOf(error)))) } }, say("retry")) : null)
        : null,
    ),
    ...verdict(app, pin, Boolean(deciding)),
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

/** @param {App} app @param {Pin} pin @param {Facts} facts */
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

/** @param {App} app @param {Pin} pin @param {Facts} facts @returns {VNode[]} */
function threadViews(app, pin, facts) {
  const { store } = app;
  const thread = store.threads.get(pin.id);
  /** @type {VNode[]} */
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

/** @param {string} name @param {string} at */
function by(name, at) {
  return h("p.by", { key: "by" }, h("bdi", null, name), at ? h("time", { datetime: at, title: new Date(at).toLocaleString() }, ago(at)) : null);
}

/** What became of a write that the hub has not taken. @param {App} app @param {Entry} entry @returns {VNode} */
function trouble(app, entry) {
  const { store } = app;
  if (!entry.error || store.outbox.sending === entry.id) {
    return h("p.quiet.facts", { key: "out" }, store.outbox.sending === entry.id ? say("way_sending") : say("way_unsent"));
  }
  const text = entry.held ? say("way_rejected", { why: why(entry.error) }) : say("way_later", { why: why(entry.error) });
  return h(
    "div.trouble",
    { key: "trouble" },
    h("strong", { class: "is-failed" }, mark("failed"), say("state_unsent")),
    h("p", null, text),
    entry.held && entry.error.hint ? h("p.quiet", null, entry.error.hint) : null,
    h(
      "div.row",
      null,
      h("button.act.line", { key: "retry", on: { click: () => store.outbox.retry(entry) } }, say("retry")),
      JSON.parse(entry.body).text && entry.held ? h("button.act.line", { key: "edit", on: { click: () => app.withMore((more) => more.takeBack(app, entry)) } }, say("edit")) : null,
      entry.held ? h("button.act", { key: "discard", on: { click: () => app.withMore((more) => more.discard(app, entry)) } }, say("discard")) : null,
    ),
  );
}

/** @param {App} app @param {Pin} pin @param {Facts} facts @returns {(VNode | null)[]} */
function outcomeViews(app, pin, facts) {
  const { resolution, verification } = pin;
  /** @type {(VNode | null)[]} */
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
  return views;
}

/** @param {App} app @param {Pin} pin @param {boolean} isDeciding @returns {VNode[]} */
function verdict(app, pin, isDeciding) {
  if (pin.status !== "resolved") return [];
  const off = isDeciding || null;
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

/** @param {Pin} pin @returns {VNode[]} */
function links(pin) {
  const found = (pin.links ?? []).filter((link) => safeLink(link.url));
  if (!found.length) return [];
  return [
    h("p.links", { key: "links" }, ...found.map((link) => h("a", { key: link.url, href: safeLink(link.url), target: "_blank", rel: "noreferrer noopener" }, say("open_link", { name: `${link.connector} ${link.ref}` })))),
  ];
}

/** @param {App} app @param {Attachment[] | undefined} attachments @returns {VNode[]} */
function pictures(app, attachments) {
  return (attachments ?? []).flatMap((attachment) => {
    const url = app.store.wire.media(attachment.url);
    if (!url) return [];
    const isImage = attachment.kind === "screenshot" || attachment.contentType?.startsWith("image/");
    return [isImage ? picture(app, url, say("shot_of"), attachment.id) : h("a", { key: attachment.id, href: url, target: "_blank", rel: "noreferrer noopener" }, say("attachment"))];
  });
}

/** @param {App} app @param {string} url @param {string} alt @param {string} [key] */
function picture(app, url, alt, key = "picture") {
  return h("img.thumb", { key, src: app.shownImage(url), alt, loading: "lazy", crossorigin: url.startsWith("http") ? "anonymous" : null, referrerpolicy: "no-referrer" });
}

/** @param {string | undefined} url @returns {string | null} only what leads to a web page */
function safeLink(url) {
  if (!url) return null;
  try {
    const place = new URL(url, location.href);
    return (place.protocol === "http:" || place.protocol === "https:") && !url.trim().startsWith("//") ? place.href : null;
  } catch {
    return null;
  }
}
