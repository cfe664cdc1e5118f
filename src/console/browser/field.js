// What is asked for in a form: a label, the control, a hint, and what the service found wrong with it, told right there.
/** @import { Child } from './element.js' */
import { Refusal } from './api.js';
import { element, fill } from './element.js';

/**
 * @typedef {object} FieldOptions
 * @property {string} name As the service calls it.
 * @property {string} label
 * @property {HTMLElement} control
 * @property {Child | Child[]} [hint]
 */

/** @param {FieldOptions} options */
export function field({ name, label, control, hint }) {
  control.id ||= `field-${name.replace(/\W/g, '-')}`;
  const trouble = element('p', { id: `${control.id}-trouble`, class: 'field-trouble' });
  const told = hint === undefined ? undefined : element('p', { id: `${control.id}-hint`, class: 'hint' }, hint);
  control.setAttribute('aria-describedby', [told?.id, trouble.id].filter(Boolean).join(' '));
  return element(
    'div',
    { class: 'field', 'data-field': name },
    element('label', { for: control.id }, label),
    control,
    told,
    trouble,
  );
}

/**
 * What is wrong, where it is wrong; the first of it gets the focus.
 * @param {HTMLElement} form
 * @param {readonly { field: string, message: string }[]} faults
 * @returns Those that no field of the form is for.
 */
export function showFaults(form, faults) {
  clearFaults(form);
  /** @type {HTMLElement[]} */
  const faulty = [];
  const others = faults.filter(({ field, message }) => {
    const place = placeOf(form, field);
    if (!place) return true;
    const trouble = /** @type {HTMLElement} */ (place.querySelector('.field-trouble'));
    trouble.append(element('span', {}, toSentence(message)), ' ');
    const control = /** @type {HTMLElement} */ (place.querySelector('input, select, textarea, button'));
    control.setAttribute('aria-invalid', 'true');
    // Where several controls share a field, the trouble is read out with the one that gets the focus.
    trouble.id ||= `trouble-of-${field}`;
    if (!control.hasAttribute('aria-describedby')) control.setAttribute('aria-describedby', trouble.id);
    faulty.push(control);
    return false;
  });
  // In the order of the form, which need not be that of the faults.
  faulty.sort((one, other) => (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  faulty[0]?.focus();
  return others;
}

/** @param {HTMLElement} form */
export function clearFaults(form) {
  for (const trouble of form.querySelectorAll('.field-trouble')) fill(trouble);
  for (const control of form.querySelectorAll('[aria-invalid]')) control.removeAttribute('aria-invalid');
}

/**
 * What the service refused, at the fields that it names; what belongs to none of them is for the page to tell.
 * @param {HTMLElement} form
 * @param {unknown} error
 * @param {(error: unknown) => void} complain
 */
export function showRefusal(form, error, complain) {
  const faults = error instanceof Refusal ? error.details : [];
  if (faults.length === 0 || showFaults(form, faults).length > 0) complain(error);
}

/**
 * `bindings[0].engine` belongs to `bindings` where nothing closer is there.
 * @param {HTMLElement} form
 * @param {string} name
 */
function placeOf(form, name) {
  for (let path = name; path !== ''; path = path.replace(/(\.|\[)?[^.[]*$/, '')) {
    const place = form.querySelector(`[data-field="${CSS.escape(path)}"]`);
    if (place) return place;
  }
  return undefined;
}

/** @param {string} message */
const toSentence = (message) => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
