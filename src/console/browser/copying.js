// Copies what stands in the page. A browser lets only pages that came by HTTPS, or from the same machine, do so.

/**
 * What cannot be copied is selected, and the failure says so.
 * @param {Element} shown
 */
export async function copyFrom(shown) {
  try {
    await navigator.clipboard.writeText(shown.textContent ?? '');
  } catch (cause) {
    getSelection()?.selectAllChildren(shown);
    throw new Error('This browser does not let the page copy; it is selected for you to copy.', { cause });
  }
}
