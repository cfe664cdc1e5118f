// Elements, made in one line: their attributes, what they listen to (`onclick`), and what is in them. Text is only ever
// put in as text.

/** @typedef {Node | string | number | false | null | undefined} Child */
/** @typedef {Record<string, string | number | boolean | undefined | ((event: any) => unknown)>} Attributes */

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} [attributes] `true` is an attribute without a value, `false` and `undefined` are none.
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  setAll(made, attributes);
  made.append(...toNodes(children));
  return made;
}

/**
 * Puts other children in place of those there are.
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
 * @param {Element} made
 * @param {Attributes} attributes
 */
function setAll(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value !== undefined) made.setAttribute(name, String(value));
  }
}
