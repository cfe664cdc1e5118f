// Keeps the focus within a group of controls when the focused control is hidden.

/**
 * @param {HTMLElement} group
 * @param {() => void} change
 */
export function keepFocus(group, change) {
  const focused = group.contains(document.activeElement) ? document.activeElement : null;
  change();
  if (focused instanceof HTMLElement && focused.hidden) {
    const next = group.querySelector(':is(button, a):not([hidden])');
    if (next instanceof HTMLElement) next.focus();
  }
}
