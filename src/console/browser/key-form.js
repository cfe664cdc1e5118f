// A new key: what it is for, what it may do of what its maker may, until when, and, folded away, how much, with which voices
// and from where.
/** @import { Desk } from './page.d.ts' */
/** @import { ApiKey, MadeApiKey } from './wire.d.ts' */
import { element } from './element.js';
import { clearFaults, field, showRefusal } from './field.js';
import { scopeWords } from './key-words.js';

const usualScopes = ['speech:synthesize', 'speech:stream', 'voices:read'];
const endings = /** @type {const} */ ([
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
  ['', 'never'],
]);

/**
 * @param {Desk} desk
 * @param {ApiKey} own
 * @param {(key: MadeApiKey) => Promise<void>} onMade
 */
export function createKeyForm({ api, say, complain }, own, onMade) {
  const send = element('button', { type: 'submit', class: 'main' }, 'Make the key');
  const leave = () => form.dispatchEvent(new Event('close'));
  /** @type {HTMLFormElement} */
  const form = element(
    'form',
    { id: 'key-form', class: 'card', novalidate: true, hidden: true, 'aria-labelledby': 'key-form-title' },
    element('h2', { id: 'key-form-title' }, 'A new key'),
    element(
      'div',
      { class: 'pair' },
      field({
        ...{
          name: 'name',
          label: 'Name',
          control: element('input', { name: 'name', maxlength: 100, autocomplete: 'off' }),
        },
        hint: 'What it is for, such as the program that will use it.',
      }),
      field({
        ...{ name: 'expires_in_days', label: 'It ends' },
        control: element(
          'select',
          { name: 'expires_in_days' },
          ...endings.map(([value, text]) => element('option', { value, selected: value === '90' }, text)),
        ),
      }),
    ),
    scopeField(own),
    element('details', {}, element('summary', {}, 'Limits, voices and addresses'), ...limitFields(own)),
    element(
      'div',
      { class: 'row' },
      send,
      element('button', { type: 'button', class: 'quiet', onclick: leave }, 'Not now'),
    ),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    clearFaults(form);
    send.disabled = true;
    try {
      const made = await api.ask('/api/auth/api-keys', { body: toSpec(new FormData(form)) });
      form.reset();
      leave();
      await onMade(made);
      say('The key is made.');
    } catch (error) {
      // What is wrong may be folded away.
      for (const folded of form.querySelectorAll('details')) folded.open = true;
      showRefusal(form, error, complain);
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
    element('legend', {}, 'It may'),
    element(
      'div',
      { class: 'checks' },
      ...scopes.map((scope) =>
        element(
          'label',
          { class: 'check' },
          element('input', { type: 'checkbox', name: 'scopes', value: scope, checked: usualScopes.includes(scope) }),
          element('span', {}, `${scopeWords[scope] ?? scope} `, element('code', {}, scope)),
        ),
      ),
    ),
    element('p', { class: 'field-trouble' }),
  );

/** @param {ApiKey} own */
function limitFields({ limits, voice_ids, allowed_ips }) {
  /** @type {(name: keyof ApiKey['limits'], label: string) => HTMLElement} */
  const whole = (name, label) => {
    const most = limits[name];
    const control = element('input', {
      type: 'number',
      name: `limits.${name}`,
      min: 1,
      max: most ?? undefined,
      inputmode: 'numeric',
      placeholder: most ?? 'no limit',
    });
    return field({ name: `limits.${name}`, label, control });
  };
  /** @type {(name: string, label: string, all: string) => HTMLElement} */
  const list = (name, label, all) =>
    field({
      name,
      label,
      control: element('textarea', { name, rows: 2, class: 'mono', placeholder: all, spellcheck: 'false' }),
    });
  return [
    element(
      'div',
      { class: 'pair' },
      whole('requests_per_minute', 'Requests a minute'),
      whole('concurrency', 'Requests at once'),
      whole('characters_per_month', 'Characters a month'),
    ),
    element(
      'div',
      { class: 'pair' },
      list('voice_ids', 'Only these voices, one a line', voice_ids ? voice_ids.join('\n') : 'all'),
      list(
        'allowed_ips',
        'Only from these addresses, one a line',
        allowed_ips ? allowed_ips.join('\n') : 'anywhere, or such as 10.0.0.0/8',
      ),
    ),
  ];
}

/** @param {FormData} given */
function toSpec(given) {
  const text = (/** @type {string} */ name) => String(given.get(name) ?? '').trim();
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
    scopes: given.getAll('scopes'),
    ...(text('name') && { name: text('name') }),
    ...(days && { expires_in_days: Number(days) }),
    ...(voices.length > 0 && { voice_ids: voices }),
    ...(addresses.length > 0 && { allowed_ips: addresses }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}
