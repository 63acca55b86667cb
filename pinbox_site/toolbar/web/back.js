// What was refused for good: its words go back to where they were written, or away.

import { randomId } from "./memory.js";

/** @typedef {import("./toolbar.js").App} App */
/** @typedef {import("./types.js").Entry} Entry */

/** A write, and for a new pin those that were to follow it: without the pin they have no place. @param {App} app @param {Entry} entry */
function withFollowers(app, entry) {
  return app.store.outbox.all().filter((other) => other.id === entry.id || other.pin === entry.id);
}

/** @param {App} app @param {Entry} entry */
export function discard(app, entry) {
  for (const one of withFollowers(app, entry)) app.store.outbox.discard(one);
  if (entry.kind === "pin") app.closeCard();
}

/** The words of a reply go back into its field, a new pin is a draft again. @param {App} app @param {Entry} entry */
export function takeBack(app, entry) {
  const { store } = app;
  const { text, target, move } = JSON.parse(entry.body);
  const replies = withFollowers(app, entry).filter((other) => other.id !== entry.id).map((reply) => JSON.parse(reply.body).text);
  const words = [text, ...replies, store.words(entry.pin)].filter(Boolean).join("\n");
  if (entry.kind === "pin") {
    const element = app.markers.element(entry.id, target);
    discard(app, entry);
    store.words(entry.pin, "");
    const { shot } = entry;
    app.newDraft({ id: `draft-${randomId(10)}`, text: words, target, at: Date.now(), ...(move ? { move } : {}), ...(shot ? { shot } : {}) }, element ? [element] : []);
    return;
  }
  store.words(entry.pin, words);
  discard(app, entry);
  app.ui.sent += 1;
  app.draw();
  app.nodes.get("field")?.focus({ preventScroll: true });
}
