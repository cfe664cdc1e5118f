// Asks once more before what cannot be undone.
import { element } from './element.js';

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {string} text What will be.
 * @property {string} yes What is done.
 * @property {string} [no]
 */

/**
 * @param {Question} question
 * @returns {Promise<boolean>}
 */
export function isSure({ title, text, yes, no = 'Leave it' }) {
  const dialog = element(
    'dialog',
    { 'aria-labelledby': 'sure-title', 'aria-describedby': 'sure-text' },
    element(
      'form',
      { method: 'dialog' },
      element('h2', { id: 'sure-title' }, title),
      element('p', { id: 'sure-text' }, text),
      element(
        'div',
        { class: 'row' },
        element('button', { value: 'yes', class: 'danger' }, yes),
        element('button', { value: 'no', autofocus: true }, no),
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  const leave = () => dialog.close('no');
  // It belongs to the page that it was asked on.
  addEventListener('hashchange', leave);
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      removeEventListener('hashchange', leave);
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
  });
}
