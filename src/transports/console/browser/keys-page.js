// The Keys page: shows the key in use and, if its scopes allow, the keys created with it and a form to create a key. A
// person who has signed in manages the keys of their account, whatever the scopes of the key in use.
/** @import { ApiKey, CreateApiKeyResponse } from '../../../../gen/openapi.ts' */
/** @import { Page, PageContext } from './page.d.ts' */
import { createApi, findSession, serviceUrl } from './api.js';
import { copyText } from './clipboard.js';
import { isConfirmed } from './confirm-dialog.js';
import { element, fill } from './element.js';
import { field, onSubmit } from './field.js';
import { toCount, toDate, toRelativeTime, toTimeAgo } from './formatting.js';
import { icon } from './icon.js';
import { loading } from './notices.js';
import { chips, factList, missingScope, pageHead } from './page-elements.js';
import { quoteForShell } from './request-code.js';

/** @type {Page} */
export const keysPage = {
  name: 'keys',
  title: 'Keys',
  async show(pageContext) {
    const { root, signal } = pageContext;
    fill(root, loading('Loading the keys …'));
    const session = await findSession();
    /** @type {PageContext} */
    const manager = session ? { ...pageContext, api: createApi(session), hasScope: () => true } : pageContext;
    const { api, hasScope } = manager;
    /** @type {ApiKey} */
    const own = await pageContext.api.requestJson(`${path}/self`, { signal });
    const newKeyCard = createNewKeyCard(pageContext);
    const list = element('div', {});
    const show = async () => {
      if (!hasScope('keys:read')) return;
      /** @type {ApiKey[]} */
      const keys = await api.list(path, 'api_keys', { signal });
      const others = keys.filter(({ id }) => id !== own.id);
      /** @param {string | null} id */
      const toMaker = (id) => {
        if (id === null) return 'the operator';
        if (session && id === own.made_by) return 'you';
        return id === own.id ? 'this key' : (keys.find((key) => key.id === id)?.name ?? id);
      };
      const title = session ? 'Your keys' : 'Keys created with this key';
      fill(list, keyList(others, manager, { title, onCreated, onChange: show, toMaker }));
    };
    /** @param {CreateApiKeyResponse} key */
    const onCreated = async (key) => {
      newKeyCard.show(key);
      await show();
    };
    const granted = session ? { ...own, scopes: /** @type {ApiKey['scopes']} */ (session.scopes) } : own;
    const form = hasScope('keys:write') ? createKeyForm(manager, granted, onCreated) : undefined;
    fill(
      root,
      pageHead({
        title: 'Keys',
        lead: `${session ? `You are signed in as ${session.name}. ` : ''}An API key gives a program access to this service, limited to the scopes of the key.`,
        actions: form && [openButton(form)],
      }),
      newKeyCard.root,
      form ?? missingScope('create keys', 'keys:write'),
      hasScope('keys:read') ? list : missingScope('list the keys created with it', 'keys:read'),
      ownCard(own),
    );
    await show();
  },
};

/** @param {HTMLElement} form */
function openButton(form) {
  const button = element(
    'button',
    { type: 'button', class: 'main', 'aria-expanded': 'false', 'aria-controls': form.id },
    'Create a key',
  );
  const toggle = () => {
    form.hidden = !form.hidden;
    button.setAttribute('aria-expanded', String(!form.hidden));
    button.hidden = !form.hidden;
    if (form.hidden) button.focus();
    else form.querySelector('input')?.focus();
  };
  button.addEventListener('click', toggle);
  form.addEventListener('close', toggle);
  return button;
}

/** @param {ApiKey} own */
const ownCard = (own) =>
  element(
    'section',
    { class: 'card', 'aria-labelledby': 'own-key' },
    element('h2', { id: 'own-key' }, 'The key in use'),
    element('p', { class: 'own-name' }, element('strong', {}, own.name), ' ', element('code', {}, own.hint)),
    keyFacts(own, 'now'),
  );

/** @param {PageContext} pageContext */
function createNewKeyCard({ notify, showError, signal }) {
  const root = element('section', { class: 'card new-key', 'aria-labelledby': 'new-key-title', hidden: true });
  const clear = () => {
    root.hidden = true;
    fill(root);
  };
  signal.addEventListener('abort', clear);
  // Clears the new key, because browsers may keep the page in the back/forward cache.
  addEventListener('pagehide', clear, { signal });

  return {
    root,
    /** @param {CreateApiKeyResponse} created */
    show({ key, name }) {
      const title = element('h2', { id: 'new-key-title', tabindex: -1 }, `Your new key: ${name}`);
      const secret = element('code', { class: 'secret' }, key);
      const copy = () => copyText(secret).then(() => notify('The key is copied.'), showError);
      fill(
        root,
        title,
        element('p', {}, 'The key is shown only now. Store it in a safe place, such as a password manager.'),
        secret,
        element(
          'div',
          { class: 'row' },
          element('button', { type: 'button', class: 'main', onclick: copy }, icon('copy'), 'Copy the key'),
          element('button', { type: 'button', onclick: clear }, 'Done'),
        ),
        element('details', {}, element('summary', {}, 'Try it'), element('pre', { tabindex: 0 }, toCurl(key))),
      );
      root.hidden = false;
      title.focus();
    },
  };
}

/** @param {string} key */
const toCurl = (key) =>
  [
    `curl -sSf ${quoteForShell(`${serviceUrl}/api/audio/speech`)} \\`,
    `  -H ${quoteForShell(`X-API-Key: ${key}`)} \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"voice_id":"arthur","text":"Hello.","return_format":"buffer"}' \\`,
    '  -o hello.wav',
  ].join('\n');

const path = '/api/auth/api-keys';

/**
 * @typedef {object} KeyListOptions
 * @property {string} title
 * @property {(key: CreateApiKeyResponse) => Promise<void>} onCreated
 * @property {() => Promise<void>} onChange
 * @property {(madeBy: string | null) => string} toMaker Names the creator of a key.
 */

/**
 * @param {readonly ApiKey[]} keys
 * @param {PageContext} pageContext
 * @param {KeyListOptions} options
 */
function keyList(keys, pageContext, options) {
  const [active, inactive] = [
    keys.filter(({ status }) => status === 'active'),
    keys.filter(({ status }) => status !== 'active'),
  ];
  return element(
    'section',
    { class: 'card', 'aria-labelledby': 'created-keys' },
    element('h2', { id: 'created-keys', tabindex: -1 }, options.title),
    active.length === 0 &&
      element(
        'p',
        { class: 'hint' },
        inactive.length === 0
          ? 'No keys yet. Create one key per program, so that you can revoke each separately.'
          : 'No key is active.',
      ),
    element('ul', { class: 'key-list' }, ...active.map((key) => toItem(key, pageContext, options))),
    inactive.length > 0 &&
      element(
        'details',
        {},
        element('summary', {}, `${inactive.length} inactive`),
        element('ul', { class: 'key-list' }, ...inactive.map((key) => toItem(key, pageContext, options))),
      ),
  );
}

/**
 * @param {ApiKey} key
 * @param {PageContext} pageContext
 * @param {KeyListOptions} options
 */
function toItem(key, pageContext, options) {
  const { name, hint, status, replaced_by } = key;
  const isActive = status === 'active';
  const actions = isActive && pageContext.hasScope('keys:write') ? toActions(key, pageContext, options) : undefined;
  return element(
    'li',
    {},
    element(
      'details',
      {},
      element(
        'summary',
        {},
        element('strong', {}, name),
        !isActive && element('span', { class: 'chip ended' }, status),
        isActive && replaced_by !== null && element('span', { class: 'chip ended' }, 'replaced'),
        element('code', {}, hint),
        element('span', { class: 'facts' }, `${toKeySummary(key)} · created by ${options.toMaker(key.made_by)}`),
      ),
      keyFacts(key),
    ),
    actions,
  );
}

/** @param {ApiKey} key */
function toKeySummary({ status, limits, expires_at, last_used_at, revoked_at }) {
  const used = last_used_at ? `used ${toTimeAgo(last_used_at)}` : status === 'active' ? 'not used yet' : 'never used';
  if (revoked_at) return `${used} · revoked ${toTimeAgo(revoked_at)}`;
  if (status === 'expired' && expires_at) return `${used} · expired ${toTimeAgo(expires_at)}`;
  const end = expires_at ? `expires ${toRelativeTime(expires_at)}` : 'never expires';
  return `${used} · ${end} · ${toLimitsText(limits)}`;
}

/** @param {ApiKey['limits']} limits */
const toLimitsText = ({ requests_per_minute, concurrency, characters_per_month: characters }) =>
  [
    `${toCount(requests_per_minute)} requests per minute`,
    `${toCount(concurrency)} at once`,
    characters === null ? 'unlimited characters' : `${toCount(characters)} characters per month`,
  ].join(', ');

/**
 * @param {ApiKey} key
 * @param {PageContext} pageContext
 * @param {KeyListOptions} options
 */
function toActions({ id, name, replaced_by }, { api, notify, showError }, { onCreated, onChange }) {
  /** @type {(text: string, kind: string, action: () => Promise<void>) => HTMLElement} */
  const button = (text, kind, action) => {
    const onclick = async () => {
      target.disabled = true;
      await action().catch(showError);
      target.disabled = false;
    };
    const target = element('button', { type: 'button', class: kind, 'aria-label': `${text} ${name}`, onclick }, text);
    return target;
  };
  const replace = async () => {
    const created = await api.requestJson(`${path}/${id}/rotate`, { body: {} });
    await onCreated(created);
    notify(`${name} is replaced. The old key works for one more day.`);
  };
  const revoke = async () => {
    const text = `Programs that use ${name}, or keys made with it, stop working at once, including their open streams. This cannot be undone.`;
    if (!(await isConfirmed({ title: `Revoke ${name}?`, text, yes: 'Revoke' }))) return;
    const reply = await api.send(`${path}/${id}`, { method: 'DELETE' });
    const count = Number(reply.headers.get('X-Descendants-Revoked'));
    await onChange();
    document.getElementById('created-keys')?.focus();
    notify(`${name} is revoked${count > 0 ? `, and with it ${count} other ${count === 1 ? 'key' : 'keys'}` : ''}.`);
  };
  return element(
    'div',
    { class: 'row' },
    replaced_by === null && button('Replace', '', replace),
    button('Revoke', 'danger', revoke),
  );
}

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
function createKeyForm({ api, notify, showError }, own, onCreated) {
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
  onSubmit(form, showError, async () => {
    const created = await api.requestJson(path, { body: toCreateRequest(new FormData(form)) }).catch((error) => {
      // Opens all sections, because the error may be at a field in a collapsed section.
      for (const section of form.querySelectorAll('details')) section.open = true;
      throw error;
    });
    form.reset();
    close();
    await onCreated(created);
    notify('The key is created.');
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

const scopeDescriptions = /** @type {Readonly<Record<string, string>>} */ ({
  'speech:synthesize': 'synthesize whole files',
  'speech:stream': 'stream speech',
  'voices:read': 'list voices',
  'voices:write': 'create, clone and change voices',
  'jobs:read': 'read long jobs',
  'jobs:write': 'start long jobs',
  'keys:read': 'list the keys created with it',
  'keys:write': 'create and revoke keys',
  'usage:read': 'read usage',
  admin: 'manage all keys',
});

/**
 * Returns a label, and the time at which the key was revoked, expired or will expire.
 * @param {ApiKey} key
 */
function toEnd({ status, expires_at, revoked_at }) {
  if (revoked_at) return /** @type {const} */ (['Revoked', toTimeAgo(revoked_at)]);
  const term = status === 'expired' ? 'Expired' : 'Expires';
  return /** @type {const} */ ([term, expires_at ? toDate(expires_at) : 'never']);
}

/**
 * @param {ApiKey} key
 * @param {string} [lastUsed] Replaces `last_used_at`, which can be up to a minute out of date.
 */
function keyFacts(key, lastUsed) {
  const { scopes, limits, voice_ids, allowed_ips, created_at, last_used_at } = key;
  return factList([
    ['Scopes', chips(scopes, 'code')],
    ['Limits', toLimitsText(limits)],
    ['Voices', voice_ids ? chips(voice_ids, 'code') : 'all'],
    ['Allowed addresses', allowed_ips ? chips(allowed_ips, 'code') : 'all'],
    ['Created', toDate(created_at)],
    ['Last used', lastUsed ?? (last_used_at ? toTimeAgo(last_used_at) : 'never')],
    toEnd(key),
  ]);
}
