// The looks, as one constructed style sheet: no style attribute, nothing for a CSP to forbid.

const css = `
:host { all: initial !important; position: fixed !important; inset: 0 auto auto 0 !important; width: 0 !important; height: 0 !important;
  display: block !important; z-index: 2147483000 !important; pointer-events: none !important; contain: none !important; }
#layer { --ease: cubic-bezier(.2,.7,.3,1);
  --ground: #ffffff; --raised: #f4f5f7; --edge: #868d99; --line: #e3e5ea; --ink: #16181d; --soft: #575d69; --scrim: rgba(22,24,29,.38);
  --accent: var(--pb-accent, #3451d1); --on-accent: #ffffff; --tint: #eef1fd;
  --c-with: #0b6a7d; --c-answered: #7a35b8; --c-verify: #915200; --c-closed: #1b7040; --c-failed: #bd2732;
  --shadow: 0 1px 2px rgba(16,20,32,.10), 0 10px 32px rgba(16,20,32,.18);
  --sans: ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  position: fixed; inset: 0; width: auto; height: auto; max-width: none; max-height: none; margin: 0; padding: 0; border: 0; background: none; overflow: visible;
  display: block; pointer-events: none; color: var(--ink); font: 400 14px/1.5 var(--sans); text-align: start; letter-spacing: 0; -webkit-font-smoothing: antialiased; color-scheme: light; user-select: none; -webkit-user-select: none; }
#layer[data-theme=dark] {
  --ground: #1c1e23; --raised: #282b32; --edge: #7f8694; --line: #34383f; --ink: #f1f2f4; --soft: #aab0bb; --scrim: rgba(0,0,0,.5);
  --accent: var(--pb-accent, #93a5ff); --on-accent: #10142b; --tint: #272d49;
  --c-with: #5fd0e3; --c-answered: #cda2ff; --c-verify: #f2bd62; --c-closed: #67d297; --c-failed: #ff9a9a;
  --shadow: 0 0 0 1px rgba(255,255,255,.09), 0 12px 36px rgba(0,0,0,.55); color-scheme: dark; }
#layer *, #layer *::before, #layer *::after { box-sizing: border-box; }
#layer [hidden] { display: none; }
button, input, textarea { font: inherit; color: inherit; letter-spacing: 0; margin: 0; }
button { appearance: none; border: 0; background: none; padding: 0; cursor: pointer; touch-action: manipulation; text-align: inherit; }
svg { display: block; flex: none; overflow: visible; }
p, ul, ol, h2, h3, dl, dd { margin: 0; padding: 0; font: inherit; list-style: none; }
a { color: var(--accent); text-underline-offset: 2px; }
:focus { outline: none; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.stage { position: absolute; padding: env(safe-area-inset-top) env(safe-area-inset-right) env(safe-area-inset-bottom) env(safe-area-inset-left); pointer-events: none; }
.quiet { color: var(--soft); }
.facts { font: 400 12px/1.4 var(--mono); color: var(--soft); }
.said { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.mark .cut { stroke: var(--ground); } .mark .hole { fill: var(--ground); }
.is-draft, .is-unsent, .is-open { --c: var(--soft); } .is-failed { --c: var(--c-failed); }
.is-with { --c: var(--c-with); } .is-answered { --c: var(--c-answered); } .is-verify { --c: var(--c-verify); } .is-closed { --c: var(--c-closed); }
.mark { color: var(--c); }
.state { display: inline-flex; align-items: center; gap: 6px; font: 500 12px/1.4 var(--sans); color: var(--c); white-space: nowrap; }

.act { display: inline-flex; align-items: center; justify-content: center; gap: 6px; min-height: 32px; min-width: 32px; padding: 0 12px; border-radius: 8px; font: 500 13px/1 var(--sans); white-space: nowrap; }
.act.solid { background: var(--accent); color: var(--on-accent); }
.act.line { box-shadow: inset 0 0 0 1px var(--edge); }
.act.icon-only { padding: 0; width: 32px; flex: none; color: var(--soft); }
.act:disabled, .act[aria-disabled=true] { cursor: default; background: var(--raised); color: var(--soft); box-shadow: none; }
@media (hover: hover) { .act:hover:not(:disabled) { background: var(--raised); color: var(--ink); } .act.solid:hover:not(:disabled) { background: color-mix(in srgb, var(--accent) 88%, var(--ink)); color: var(--on-accent); } }

.bar, .puck, .card, .inbox, .modal, .menu, .toast, .aimbar { pointer-events: auto; background: var(--ground); color: var(--ink); box-shadow: var(--shadow), 0 0 0 1px var(--edge-soft, rgba(20,24,36,.10)); }

.dock { position: fixed; left: 0; top: 0; display: flex; align-items: center; touch-action: none; }
.bar { display: flex; align-items: center; gap: 4px; height: 44px; padding: 0 4px; border-radius: 14px; }
.bar .act { height: 36px; }
.bar .grip { width: 36px; padding: 0; cursor: grab; position: relative; border-radius: 10px; color: var(--ink); }
.bar .grip[data-link=live] { color: var(--accent); }
.bar .grip:active { cursor: grabbing; }
.bar .place { width: 84px; padding: 0; }
.bar .place[aria-pressed=true] { background: var(--ink); color: var(--ground); }
.bar .list { width: 68px; padding: 0; color: var(--ink); }
.count { min-width: 20px; height: 20px; padding: 0 5px; border-radius: 10px; display: inline-flex; align-items: center; justify-content: center; font: 600 12px/1 var(--sans); font-variant-numeric: tabular-nums; color: var(--soft); }
.count.some { background: var(--ink); color: var(--ground); }
.lamp { position: absolute; inset-inline-end: 2px; bottom: 3px; width: 10px; height: 10px; border-radius: 5px; box-shadow: 0 0 0 2px var(--ground); background: var(--c-failed); }
.lamp.is-connecting { background: var(--ground); box-shadow: inset 0 0 0 2px var(--soft), 0 0 0 2px var(--ground); }
.lamp.is-live { display: none; }
.puck { width: 48px; height: 48px; border-radius: 24px; display: grid; place-items: center; position: relative; touch-action: none; color: var(--accent); }
.puck .count { position: absolute; top: -4px; inset-inline-end: -4px; box-shadow: 0 0 0 2px var(--ground); }
.puck .lamp { bottom: 6px; inset-inline-end: 6px; }
.notice { position: absolute; inset-inline: 0; display: flex; justify-content: center; pointer-events: none; }
.notice > div { pointer-events: auto; max-width: 100%; display: flex; align-items: center; gap: 8px; min-height: 32px; padding: 4px 6px 4px 12px; border-radius: 10px; background: var(--ground); color: var(--ink); box-shadow: var(--shadow), 0 0 0 1px var(--edge); font: 400 12px/1.4 var(--sans); }
.dock[data-y=bottom] .notice { bottom: calc(100% + 8px); } .dock[data-y=top] .notice { top: calc(100% + 8px); }
.dock.is-puck .notice { inset-inline: auto; width: 240px; } .dock.is-puck[data-x=left] .notice { left: 0; justify-content: flex-start; } .dock.is-puck[data-x=right] .notice { right: 0; justify-content: flex-end; } .dock.is-puck[data-x=middle] .notice { left: -96px; }

.card { position: fixed; left: 0; top: 0; width: 336px; border-radius: 14px; display: flex; flex-direction: column; overflow: hidden; }
.card.is-sheet { width: auto; max-width: 560px; border-radius: 16px; }
.card .head { display: flex; align-items: center; gap: 4px; padding: 8px 8px 0 14px; min-height: 40px; }
.card .head h2 { flex: 1; min-width: 0; display: flex; align-items: center; gap: 8px; font: 600 14px/1.3 var(--sans); }
.card .head .state { overflow: hidden; text-overflow: ellipsis; }
.crumbs { flex: none; padding: 0 14px; display: flex; gap: 6px; align-items: baseline; overflow: hidden; white-space: nowrap; }
.crumbs span { overflow: hidden; text-overflow: ellipsis; flex: 0 1 auto; min-width: 24px; } .crumbs span:last-child { color: var(--ink); flex-shrink: .4; } .crumbs i { font-style: normal; flex: none; }
.body { padding: 10px 14px 0; overflow-y: auto; overscroll-behavior: contain; min-height: 0; flex: 1 1 auto; user-select: text; -webkit-user-select: text; outline-offset: -2px; }
.crumbs + .body { margin-top: 8px; border-top: 1px solid var(--line); }
.message { margin-bottom: 12px; }
.message .by { display: flex; gap: 8px; align-items: baseline; font: 600 12px/1.4 var(--sans); color: var(--ink); }
.message .by time { font-weight: 400; color: var(--soft); }
.words { white-space: pre-wrap; overflow-wrap: anywhere; font: 400 14px/1.5 var(--sans); unicode-bidi: plaintext; text-align: start; }
.message.by-agent { background: var(--raised); border-radius: 10px; padding: 8px 10px; margin-inline: -2px; }
.message.is-out .words { color: var(--soft); }
.outcome { display: flex; gap: 8px; align-items: center; margin-bottom: 12px; font: 400 12px/1.45 var(--sans); color: var(--soft); }
.outcome .mark { margin-top: 1px; }
.way { display: flex; gap: 8px; align-items: baseline; margin: 0 0 12px; font: 400 12px/1.45 var(--sans); color: var(--soft); }
.way span { flex: 1; }
.trouble { margin: 6px 0 12px; padding: 8px 10px; border-radius: 10px; box-shadow: inset 0 0 0 1px var(--c-failed); font: 400 12px/1.45 var(--sans); color: var(--ink); overflow-wrap: anywhere; }
.trouble strong { color: var(--c-failed); font-weight: 600; display: flex; gap: 6px; align-items: center; }
.trouble p::first-letter { text-transform: uppercase; }
.trouble .row { display: flex; gap: 8px; margin-top: 6px; }
.thumb { display: block; width: 100%; max-height: 140px; object-fit: cover; object-position: top left; border-radius: 8px; margin-top: 6px; box-shadow: inset 0 0 0 1px var(--line); border: 1px solid var(--line); background: var(--raised); }
.links { display: flex; flex-wrap: wrap; gap: 6px; margin-bottom: 12px; }
.links a { font: 500 12px/1 var(--sans); padding: 10px 0; }
.verdict { display: flex; gap: 8px; padding: 10px 14px 0; } .verdict .act { flex: 1; min-height: 36px; }
.composer { margin: 10px 10px 10px; border-radius: 10px; box-shadow: inset 0 0 0 1px var(--edge); background: var(--ground); flex: none; }
.composer:focus-within { box-shadow: inset 0 0 0 2px var(--accent); }
.composer textarea { display: block; width: 100%; min-height: 40px; max-height: 160px; padding: 9px 12px 4px; border: 0; background: none; resize: none; font: 400 14px/1.5 var(--sans); field-sizing: content; outline: none; user-select: text; -webkit-user-select: text; unicode-bidi: plaintext; }
.composer.is-draft-box textarea { min-height: 68px; }
textarea::placeholder, input::placeholder { color: var(--soft); opacity: 1; }
.composer .tools { display: flex; align-items: center; gap: 4px; padding: 4px; }
.composer .tools .space { flex: 1; min-width: 0; }
.composer .tools .act[aria-pressed=true] { color: var(--accent); background: var(--tint); }
.tick { display: flex; gap: 8px; align-items: center; min-height: 32px; margin: 6px 14px 0; font: 400 12px/1.4 var(--sans); color: var(--ink); cursor: pointer; }
.tick input { width: 16px; height: 16px; accent-color: var(--accent); flex: none; margin: 0; }
.fine { padding: 6px 14px 0; font: 400 12px/1.4 var(--sans); color: var(--soft); }

.toast { position: fixed; left: 50%; bottom: 72px; transform: translateX(-50%); padding: 9px 14px; border-radius: 10px; font: 500 13px/1.3 var(--sans); background: var(--ink); color: var(--ground); max-width: calc(100vw - 32px); }

.pin-mark { position: fixed; left: 0; top: 0; width: 0; height: 0; contain: layout style; will-change: transform; }
.dot { position: absolute; left: -4px; top: -4px; width: 8px; height: 8px; border-radius: 4px; background: var(--c, #fff); box-shadow: 0 0 0 1.5px #fff, 0 0 0 2.5px rgba(10,12,18,.85); }
.needle { position: absolute; left: 0; top: -1px; width: 100px; height: 2px; transform-origin: 0 50%; background: rgba(10,12,18,.85); box-shadow: 0 0 0 1px #fff; border-radius: 1px; }
.chip { position: absolute; left: 0; top: 0; pointer-events: auto; min-width: 24px; height: 24px; padding: 0 7px 0 6px; border-radius: 12px; display: inline-flex; align-items: center; gap: 4px; background: var(--ground); color: var(--ink); font: 600 12px/1 var(--sans); font-variant-numeric: tabular-nums; box-shadow: 0 0 0 1px rgba(10,12,18,.8), 0 0 0 2px #fff, 0 3px 8px rgba(16,20,32,.28); white-space: nowrap; }
.chip span[data-more]::after { content: attr(data-more); margin-inline-start: 4px; color: var(--soft); }
.chip::after { content: ""; position: absolute; inset: -4px; }
.chip:focus-visible { outline-offset: 3px; outline-color: #3451d1; box-shadow: 0 0 0 1px rgba(10,12,18,.8), 0 0 0 3px #fff; }
.chip[aria-expanded=true] { background: var(--ink); color: var(--ground); } .chip[aria-expanded=true] .mark { color: inherit; } .chip[aria-expanded=true] .cut { stroke: var(--ink); } .chip[aria-expanded=true] .hole { fill: var(--ink); }

.frame { position: fixed; left: 0; top: 0; width: 0; height: 0; pointer-events: none; }
.frame i { position: absolute; left: 0; top: 0; width: 100px; height: 100px; transform-origin: 0 0; }
.frame i.h { height: 2px; background: #3451d1; } .frame i.v { width: 2px; background: #3451d1; }
.frame i.light { background: #fff; } .frame i.h.light { height: 4px; } .frame i.v.light { width: 4px; }
.frame.is-added i.h:not(.light) { background: repeating-linear-gradient(90deg, #3451d1 0 6px, #fff 6px 10px); } .frame.is-added i.v:not(.light) { background: repeating-linear-gradient(#3451d1 0 6px, #fff 6px 10px); }
.frame .no { position: absolute; left: 0; top: 0; min-width: 20px; height: 20px; padding: 0 5px; border-radius: 10px; background: #3451d1; color: #fff; box-shadow: 0 0 0 1.5px #fff, 0 0 0 2.5px #0a0c12; font: 600 12px/20px var(--sans); text-align: center; }
.shield { position: fixed; inset: 0; pointer-events: auto; cursor: crosshair; background: none; touch-action: pan-x pan-y; }
.tag { position: fixed; left: 0; top: 0; max-width: min(420px, calc(100vw - 16px)); padding: 5px 9px; border-radius: 7px; background: #16181d; color: #fff; box-shadow: 0 0 0 1px rgba(255,255,255,.85), 0 4px 14px rgba(0,0,0,.3); font: 500 12px/1.4 var(--mono); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; pointer-events: none; }
.tag span { color: #c3c8d2; }
.reticle { position: fixed; left: -36px; top: -36px; width: 72px; height: 72px; border-radius: 36px; pointer-events: auto; touch-action: none; cursor: grab; box-shadow: inset 0 0 0 2px #3451d1, inset 0 0 0 3.5px #fff, 0 0 0 1.5px #0a0c12; background: radial-gradient(circle at center, #3451d1 0 3px, #fff 3px 5px, #0a0c12 5px 6px, transparent 6px); }
.aimbar { position: fixed; left: 50%; transform: translateX(-50%); bottom: calc(12px + env(safe-area-inset-bottom)); display: flex; gap: 4px; padding: 4px; border-radius: 14px; max-width: calc(100vw - 16px); }
.aimbar .act { min-height: 40px; }

@media (prefers-reduced-motion: no-preference) {
  .card, .inbox, .menu, .modal, .toast { animation: enter 150ms var(--ease); }
  .chip.is-new { animation: enter 180ms var(--ease); }
  .lamp.is-connecting { animation: wait 1.2s var(--ease) 4; }
}
@keyframes enter { from { opacity: 0; transform: translateY(4px); } }
@keyframes wait { 50% { opacity: .35; } }
.toast { animation-name: enter-toast; } @keyframes enter-toast { from { opacity: 0; transform: translate(-50%, 4px); } }

@media print { #layer { display: none; } }
@media (pointer: coarse) {
  .act { min-height: 44px; min-width: 44px; } .act.icon-only { width: 44px; } .bar .act { height: 44px; } .bar { padding: 0; } .bar .grip { width: 44px; } .bar .list { width: 72px; } .bar .place { width: 88px; padding: 4px 0; border-radius: 12px; background-clip: content-box; }
  .composer textarea { font-size: 16px; } .tick { min-height: 44px; } .aimbar .act { min-height: 44px; }
  .chip::after { inset: -10px; } .verdict .act { min-height: 44px; } .links a { padding: 16px 0; }
}
@media (forced-colors: active) {
  #layer[data-theme] { --ground: Canvas; --raised: Canvas; --edge: CanvasText; --line: CanvasText; --ink: CanvasText; --soft: CanvasText; --accent: Highlight; --on-accent: HighlightText; --tint: Canvas; }
  #layer [class*=is-] { --c: CanvasText; }
  .count.some, .chip[aria-expanded=true] { forced-color-adjust: none; }
  .bar, .puck, .card, .inbox, .modal, .menu, .toast, .chip, .aimbar, .tag, .notice > div { border: 1px solid CanvasText; }
  .act.solid { forced-color-adjust: none; background: Highlight; color: HighlightText; } .act.solid[aria-disabled=true] { background: Canvas; color: GrayText; }
  .composer, .act.line { border: 1px solid CanvasText; }
  .frame i, .dot, .needle, .reticle { forced-color-adjust: none; }
  [aria-selected=true], [aria-pressed=true], [aria-current=true], .chip[aria-expanded=true] { outline: 2px solid Highlight; outline-offset: -2px; }
}
`;

/** @param {ShadowRoot} root @param {string} [more] styles of a part that came later */
export function dress(root, more) {
  const looks = new CSSStyleSheet();
  looks.replaceSync(more ?? css);
  root.adoptedStyleSheets = more ? [...root.adoptedStyleSheets, looks] : [looks];
}
