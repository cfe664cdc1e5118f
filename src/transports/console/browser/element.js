// Creates DOM elements with attributes, event listeners (`onclick`) and children in one call. Strings become text nodes
// and are never parsed as HTML.

/** @typedef {Node | string | number | false | null | undefined} Child */
/** @typedef {Record<string, string | number | boolean | undefined | ((event: any) => unknown)>} Attributes */

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} [attributes] `true` sets an attribute without a value; `false` and `undefined` omit it.
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, ...children) {
  const target = document.createElement(name);
  setAttributes(target, attributes);
  target.append(...toNodes(children));
  return target;
}

/**
 * Replaces all children of `parent`.
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren(...toNodes(children));
}

/** @param {(Child | Child[])[]} children */
const toNodes = (children) =>
  children
    .flat()
    .filter((child) => child !== false && child !== null && child !== undefined)
    .map((child) => (child instanceof Node ? child : String(child)));

/**
 * @param {Element} target
 * @param {Attributes} attributes
 */
function setAttributes(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') target.addEventListener(name.slice(2), value);
    else if (value === true) target.setAttribute(name, '');
    else if (value !== false && value !== undefined) target.setAttribute(name, String(value));
  }
}
