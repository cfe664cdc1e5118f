// A modal dialog that asks the user to confirm an action that cannot be undone, or that accepts terms.
/** @import { Child } from './element.js' */
import { element } from './element.js';

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {Child | Child[]} text The consequences of the action.
 * @property {string} yes Label of the button that confirms.
 */

/**
 * @param {Question} question
 * @returns {Promise<boolean>}
 */
export function isConfirmed({ title, text, yes }) {
  const dialog = element(
    'dialog',
    { 'aria-labelledby': 'confirm-title', 'aria-describedby': 'confirm-text' },
    element(
      'form',
      { method: 'dialog' },
      element('h2', { id: 'confirm-title' }, title),
      element('p', { id: 'confirm-text' }, text),
      element(
        'div',
        { class: 'row' },
        element('button', { value: 'yes', class: 'danger' }, yes),
        element('button', { value: 'no', autofocus: true }, 'Cancel'),
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  const cancel = () => dialog.close('no');
  // Leaving the page closes the dialog.
  addEventListener('hashchange', cancel);
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      removeEventListener('hashchange', cancel);
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
  });
}
