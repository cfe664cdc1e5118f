// The form that creates an API key: name, expiry, scopes and, in a collapsed section, limits, voices and IP addresses. A new
// key can have at most the scopes and limits of the key in use.
/** @import { PageContext } from './page.d.ts' */
/** @import { ApiKey, CreateApiKeyResponse } from '../../../gen/openapi.ts' */
import { element } from './element.js';
import { clearFieldErrors, field, showApiError } from './field.js';
import { scopeDescriptions } from './key-facts.js';

const defaultScopes = ['speech:synthesize', 'speech:stream', 'voices:read'];
const expiries = /** @type {const} */ ([
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
  ['', 'never'],
]);

/**
 * @param {PageContext} pageContext
 * @param {ApiKey} own
 * @param {(key: CreateApiKeyResponse) => Promise<void>} onCreated
 */
export function createKeyForm({ api, notify, showError }, own, onCreated) {
  const send = element('button', { type: 'submit', class: 'main' }, 'Create the key');
  const close = () => form.dispatchEvent(new Event('close'));
  /** @type {HTMLFormElement} */
  const form = element(
    'form',
    { id: 'key-form', class: 'card', novalidate: true, hidden: true, 'aria-labelledby': 'key-form-title' },
    element('h2', { id: 'key-form-title' }, 'New key'),
    element(
      'div',
      { class: 'pair' },
      field({
        name: 'name',
        label: 'Name',
        control: element('input', { name: 'name', maxlength: 100, autocomplete: 'off' }),
        hint: 'The purpose of the key, such as the program that uses it.',
      }),
      field({
        name: 'expires_in_days',
        label: 'Expires',
        control: element(
          'select',
          { name: 'expires_in_days' },
          ...expiries.map(([value, text]) => element('option', { value, selected: value === '90' }, text)),
        ),
      }),
    ),
    scopeField(own),
    element('details', {}, element('summary', {}, 'Limits, voices and addresses'), ...limitFields(own)),
    element(
      'div',
      { class: 'row' },
      send,
      element('button', { type: 'button', class: 'quiet', onclick: close }, 'Cancel'),
    ),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    clearFieldErrors(form);
    send.disabled = true;
    try {
      const created = await api.requestJson('/api/auth/api-keys', { body: toCreateRequest(new FormData(form)) });
      form.reset();
      close();
      await onCreated(created);
      notify('The key is created.');
    } catch (error) {
      // An error may be at a field in a collapsed section.
      for (const section of form.querySelectorAll('details')) section.open = true;
      showApiError(form, error, showError);
    } finally {
      send.disabled = false;
    }
  });
  return form;
}

/** @param {ApiKey} own */
const scopeField = ({ scopes }) =>
  element(
    'fieldset',
    { class: 'field', 'data-field': 'scopes' },
    element('legend', {}, 'Scopes'),
    element(
      'div',
      { class: 'checks' },
      ...scopes.map((scope) =>
        element(
          'label',
          { class: 'check' },
          element('input', { type: 'checkbox', name: 'scopes', value: scope, checked: defaultScopes.includes(scope) }),
          element('span', {}, `${scopeDescriptions[scope] ?? scope} `, element('code', {}, scope)),
        ),
      ),
    ),
    element('p', { class: 'field-error' }),
  );

/** @param {ApiKey} own */
function limitFields({ limits, voice_ids, allowed_ips }) {
  /** @type {(name: keyof ApiKey['limits'], label: string) => HTMLElement} */
  const numberField = (name, label) => {
    const max = limits[name];
    const control = element('input', {
      type: 'number',
      name: `limits.${name}`,
      min: 1,
      max: max ?? undefined,
      inputmode: 'numeric',
      placeholder: max ?? 'no limit',
    });
    return field({ name: `limits.${name}`, label, control });
  };
  /** @type {(name: string, label: string, all: string) => HTMLElement} */
  const listField = (name, label, all) =>
    field({
      name,
      label,
      control: element('textarea', { name, rows: 2, class: 'mono', placeholder: all, spellcheck: 'false' }),
    });
  return [
    element(
      'div',
      { class: 'pair' },
      numberField('requests_per_minute', 'Requests per minute'),
      numberField('concurrency', 'Concurrent requests'),
      numberField('characters_per_month', 'Characters per month'),
    ),
    element(
      'div',
      { class: 'pair' },
      listField('voice_ids', 'Only these voices, one per line', voice_ids ? voice_ids.join('\n') : 'all'),
      listField(
        'allowed_ips',
        'Only from these addresses, one per line',
        allowed_ips ? allowed_ips.join('\n') : 'all; example: 10.0.0.0/8',
      ),
    ),
  ];
}

/** @param {FormData} form */
function toCreateRequest(form) {
  const text = (/** @type {string} */ name) => String(form.get(name) ?? '').trim();
  const lines = (/** @type {string} */ name) =>
    text(name)
      .split(/[\s,]+/)
      .filter(Boolean);
  const [days, voices, addresses] = [text('expires_in_days'), lines('voice_ids'), lines('allowed_ips')];
  const limits = Object.fromEntries(
    ['requests_per_minute', 'concurrency', 'characters_per_month'].flatMap((name) =>
      text(`limits.${name}`) === '' ? [] : [[name, Number(text(`limits.${name}`))]],
    ),
  );
  return {
    scopes: form.getAll('scopes'),
    ...(text('name') && { name: text('name') }),
    ...(days && { expires_in_days: Number(days) }),
    ...(voices.length > 0 && { voice_ids: voices }),
    ...(addresses.length > 0 && { allowed_ips: addresses }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}
