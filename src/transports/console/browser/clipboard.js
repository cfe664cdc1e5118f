// Copies text to the clipboard. Browsers allow copying only in a secure context: HTTPS or localhost.

/**
 * Copies the text of the element. If the browser denies access to the clipboard, selects the text and throws.
 * @param {Element} source
 */
export async function copyText(source) {
  try {
    await navigator.clipboard.writeText(source.textContent ?? '');
  } catch (cause) {
    getSelection()?.selectAllChildren(source);
    throw new Error('The browser does not allow this page to copy. The text is selected: copy it with the keyboard.', {
      cause,
    });
  }
}
