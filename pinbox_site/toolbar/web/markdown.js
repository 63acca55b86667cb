// Pins as Markdown, for whoever pastes them somewhere.

import { deepFocus } from "./dom.js";
import { labelOfTarget } from "./selector.js";
import { stateWord } from "./states.js";
import { agentName, say } from "./texts.js";

/** @typedef {import("./toolbar.js").App} App */
/** @typedef {import("./types.js").Pin} Pin */
/** @typedef {import("./types.js").Message} Message */

const LAST_MESSAGES = 3;

/** Every line as a quotation, so that no text poses as ours. @param {string} text */
function quote(text) {
  return text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => `> ${line}`).join("\n");
}

/** @param {string} text in one line, as code */
function code(text) {
  const line = text.replace(/\s+/g, " ");
  const fence = "`".repeat(Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length)) + 1);
  return fence.length > 1 ? `${fence} ${line} ${fence}` : fence + line + fence;
}

/** @param {Pin} pin @param {Message[]} thread @param {string} label @param {string} state @returns {string} */
function markdownOf(pin, thread, label, state) {
  const { target } = pin;
  const source = target?.source;
  const facts = [
    ["element", label && code(label)],
    ["selector", target?.selector && code(target.selector)],
    ...(target?.targets ?? []).map((other) => ["also", other.selector && code(other.selector)]),
    ["source", source?.file && code(source.line ? `${source.file}:${source.line}` : source.file)],
    ["url", target?.url && code(target.url)],
    ["selected", target?.context?.selectedText && code(target.context.selectedText)],
  ];
  const lines = facts.filter(([, value]) => value).map(([name, value]) => `- ${name}: ${value}`);
  const said = thread.slice(-LAST_MESSAGES).map((message) => `${message.role === "human" ? (message.origin ?? "human") : agentName(message.origin)}:\n\n${quote(message.text)}`);
  const title = pin.n ? `## #${pin.n} (${pin.id}) ${state}` : `## ${state}`;
  return [title, quote(pin.text), lines.join("\n"), ...said].filter(Boolean).join("\n\n");
}

/** @param {App} app @param {Pin[]} [pins] without them, every open one */
export async function copyPins(app, pins) {
  const { store } = app;
  const wanted = pins ?? store.list().filter((pin) => pin.status === "open");
  await Promise.all(wanted.slice(0, 20).map((pin) => store.readThread(pin.id)));
  const texts = wanted.map((pin) => markdownOf(pin, store.threads.get(pin.id) ?? [], labelOfTarget(pin.target), stateWord(store.state(pin), store.facts(pin))));
  const isCopied = await copyText(`${texts.join("\n\n")}\n`, app.view);
  app.toast(!isCopied ? say("copy_failed") : pins ? say("copied_one") : say("copied", { n: wanted.length }));
}

/** @param {string} text @param {HTMLElement} place @returns {Promise<boolean>} */
async function copyText(text, place) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without permission, or on a plain http page: the old way.
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "said";
    const before = deepFocus();
    place.append(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    return isCopied;
  }
}
