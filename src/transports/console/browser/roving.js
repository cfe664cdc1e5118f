// A list in which Tab reaches one item, and the arrow keys, Home and End reach the other items (roving tab index).

const controls = 'a, button, input, [tabindex]';

/**
 * Returns a function that sets the item that Tab reaches. Call the function whenever the items change.
 * @param {HTMLElement} root
 * @param {string} selector Selects the items. Each item is a control or contains controls.
 */
export function createRoving(root, selector) {
  const items = () =>
    [...root.querySelectorAll(selector)].map(
      (item) => /** @type {HTMLElement[]} */ (item.matches(controls) ? [item] : [...item.querySelectorAll(controls)]),
    );
  /** @param {number} [index] */
  const letFocus = (index = 0) => {
    for (const [i, item] of items().entries()) for (const each of item) each.tabIndex = i === index ? 0 : -1;
  };
  /** @param {EventTarget | null} target */
  const indexOf = (target) => items().findIndex((item) => item.some((each) => each === target));
  root.addEventListener('focusin', ({ target }) => letFocus(Math.max(0, indexOf(target))));
  root.addEventListener('keydown', (event) => {
    const all = items();
    const [at, last] = [indexOf(event.target), all.length - 1];
    const [next, previous] = [at === last ? 0 : at + 1, at === 0 ? last : at - 1];
    const targets = { ArrowRight: next, ArrowDown: next, ArrowLeft: previous, ArrowUp: previous, Home: 0, End: last };
    const target = targets[/** @type {keyof typeof targets} */ (event.key)];
    if (target === undefined || at < 0) return;
    event.preventDefault();
    const column = all[at]?.indexOf(/** @type {HTMLElement} */ (event.target)) ?? 0;
    (all[target]?.[column] ?? all[target]?.[0])?.focus();
  });
  return letFocus;
}
