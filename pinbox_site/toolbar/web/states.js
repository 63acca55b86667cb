// From what is known of a pin to its one state, to whose turn it is, and to the words for both.

import { ago, agentName, say } from "./texts.js";

/** @typedef {import("./types.js").Pin} Pin */
/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").Tail} Tail */
/** @typedef {import("./types.js").Delivery} Delivery */
/** @typedef {import("./types.js").Entry} Entry */

/**
 * What there is to know about one pin.
 * @typedef {object} Facts
 * @property {Pin} pin
 * @property {Tail | undefined} tail
 * @property {Delivery | undefined} delivery the newest that was meant for an agent
 * @property {Entry[]} entries writes to it that are on their way
 */

/** @param {Facts} facts @returns {State} */
export function stateOf({ pin, tail, delivery, entries }) {
  if (entries.some((entry) => entry.held)) return "failed";
  if (entries.some((entry) => entry.kind === "pin")) return "unsent";
  if (pin.status === "resolved") return pin.verification ? "closed" : "verify";
  const isReopened = pin.verification?.outcome === "reopened" && (!tail || tail.at < pin.verification.at);
  if (tail && tail.role !== "human" && !isReopened) return "answered";
  if (delivery?.status === "failed") return "failed";
  if (delivery?.handedOverAt || delivery?.acknowledgedAt) return "with";
  return "open";
}

/** Whether a person has to do something now. @param {State} state */
export function isYourTurn(state) {
  return state === "answered" || state === "verify" || state === "failed";
}

/** @param {Facts} facts @returns {string} */
export function agentOf({ pin, tail }) {
  const name = pin.agentSession?.agent ?? (tail?.role === "agent" ? tail.origin : undefined);
  return name ? agentName(name) : "";
}

/** @param {State} state @param {Facts} [facts] */
export function stateWord(state, facts) {
  return say(`state_${state}`, { agent: (facts && agentOf(facts)) || say("the_agent") });
}

/** Whether a person may have the hub try again. @param {Facts} facts */
export function isUndelivered({ pin, delivery, entries }) {
  return delivery?.status === "failed" && !delivery.handedOverAt && pin.status === "open" && !entries.length;
}

/** Without the code before it. @param {Delivery} delivery */
export function plainError(delivery) {
  return (delivery.lastError ?? "").replace(/^E_\w+: /, "");
}

/** Where the last words to the agent are: one sentence, or "" when nothing was observed. @param {Facts} facts */
export function wayOf(facts) {
  const { pin, tail, delivery, entries } = facts;
  const agent = agentOf(facts) || say("the_agent");
  const sent = entries.find((entry) => entry.kind === "pin");
  if (sent) return sent.error ? "" : say("way_unsent");
  if (!delivery || pin.status === "resolved") return "";
  if (delivery.acknowledgedAt) return say("way_read", { agent, time: ago(delivery.acknowledgedAt) });
  if (delivery.handedOverAt) return say("way_handed", { agent, time: ago(delivery.handedOverAt) });
  if (delivery.status === "failed") return say("way_failed", { why: plainError(delivery) });
  return delivery.status === "pending" && tail?.role !== "agent" ? say("way_queued") : "";
}
