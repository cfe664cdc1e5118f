// A form field: a label, a control, a hint, and the API's validation errors for the field.
/** @import { Child } from './element.js' */
import { ApiError, toSentence } from './api.js';
import { element, fill } from './element.js';

/**
 * @typedef {object} FieldOptions
 * @property {string} name The API field name.
 * @property {string} label
 * @property {HTMLElement} control
 * @property {Child | Child[]} [hint]
 */

/** @param {FieldOptions} options */
export function field({ name, label, control, hint }) {
  control.id ||= `field-${name.replace(/\W/g, '-')}`;
  const errorText = element('p', { id: `${control.id}-error`, class: 'field-error' });
  const hintText = hint === undefined ? undefined : element('p', { id: `${control.id}-hint`, class: 'hint' }, hint);
  control.setAttribute('aria-describedby', [hintText?.id, errorText.id].filter(Boolean).join(' '));
  return element(
    'div',
    { class: 'field', 'data-field': name },
    element('label', { for: control.id }, label),
    control,
    hintText,
    errorText,
  );
}

/**
 * Shows each error at its field and focuses the first invalid control.
 * @param {HTMLElement} form
 * @param {readonly { field: string, message: string }[]} errors
 * @returns The errors that match no field of the form.
 */
export function showFieldErrors(form, errors) {
  clearFieldErrors(form);
  /** @type {HTMLElement[]} */
  const invalid = [];
  const unmatched = errors.filter(({ field, message }) => {
    const target = findField(form, field);
    if (!target) return true;
    const errorText = /** @type {HTMLElement} */ (target.querySelector('.field-error'));
    const sentence = toSentence(message);
    // Several API fields may share one form field. Identical sentences are shown once.
    if (![...errorText.children].some(({ textContent }) => textContent === sentence))
      errorText.append(element('span', {}, sentence), ' ');
    const control = /** @type {HTMLElement} */ (target.querySelector('input, select, textarea, button'));
    control.setAttribute('aria-invalid', 'true');
    // If several controls share a field, the error text describes the control that receives the focus.
    errorText.id ||= `error-of-${field}`;
    if (!control.hasAttribute('aria-describedby')) control.setAttribute('aria-describedby', errorText.id);
    invalid.push(control);
    return false;
  });
  // The API may report errors in a different order from the fields of the form.
  invalid.sort((one, other) => (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  invalid[0]?.focus();
  return unmatched;
}

/** @param {HTMLElement} form */
export function clearFieldErrors(form) {
  for (const errorText of form.querySelectorAll('.field-error')) fill(errorText);
  for (const control of form.querySelectorAll('[aria-invalid]')) control.removeAttribute('aria-invalid');
}

/**
 * Shows the field errors of an API error at their fields. Errors that match no field of the form are shown on the page.
 * @param {HTMLElement} form
 * @param {unknown} error
 * @param {(error: unknown) => void} showError
 */
export function showApiError(form, error, showError) {
  if (!(error instanceof ApiError) || error.details.length === 0) return showError(error);
  const unmatched = showFieldErrors(form, error.details);
  const details = error.details.filter((each) => unmatched.includes(each));
  if (details.length > 0) showError(new ApiError({ ...error.body, details }));
}

/**
 * Runs `work` when the form is submitted, and shows the errors in the form.
 * @param {HTMLFormElement} form
 * @param {(error: unknown) => void} showError
 * @param {() => Promise<unknown>} work
 */
export function onSubmit(form, showError, work) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    clearFieldErrors(form);
    const send = /** @type {HTMLButtonElement} */ (form.querySelector('[type=submit]'));
    send.disabled = true;
    await work().catch((error) => showApiError(form, error, showError));
    send.disabled = false;
  });
}

/**
 * Finds the field or its closest ancestor: `bindings[0].engine` falls back to `bindings`.
 * @param {HTMLElement} form
 * @param {string} name
 */
function findField(form, name) {
  for (let path = name; path !== ''; path = path.replace(/(\.|\[)?[^.[]*$/, '')) {
    const target = form.querySelector(`[data-field="${CSS.escape(path)}"]`);
    if (target) return target;
  }
  return undefined;
}
