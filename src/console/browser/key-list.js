// The list of keys created with the key in use: active keys with buttons to replace and revoke them, then inactive keys.
/** @import { PageContext } from './page.d.ts' */
/** @import { ApiKey, CreateApiKeyResponse } from '../../../gen/openapi.ts' */
import { isConfirmed } from './confirm-dialog.js';
import { element } from './element.js';
import { toRelativeTime, toTimeAgo } from './formatting.js';
import { keyFacts } from './key-facts.js';

const path = '/api/auth/api-keys';

/**
 * @typedef {object} KeyListOptions
 * @property {(key: CreateApiKeyResponse) => Promise<void>} onCreated
 * @property {() => Promise<void>} onChange
 */

/**
 * @param {readonly ApiKey[]} keys
 * @param {PageContext} pageContext
 * @param {KeyListOptions} options
 */
export function keyList(keys, pageContext, options) {
  const [active, inactive] = [
    keys.filter(({ status }) => status === 'active'),
    keys.filter(({ status }) => status !== 'active'),
  ];
  return element(
    'section',
    { class: 'card', 'aria-labelledby': 'created-keys' },
    element('h2', { id: 'created-keys', tabindex: -1 }, 'Keys created with this key'),
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
        element('span', { class: 'facts' }, toKeySummary(key)),
      ),
      keyFacts(key),
    ),
    actions,
  );
}

/** @param {ApiKey} key */
function toKeySummary({ status, expires_at, last_used_at, revoked_at }) {
  const used = last_used_at ? `used ${toTimeAgo(last_used_at)}` : status === 'active' ? 'not used yet' : 'never used';
  if (revoked_at) return `${used} · revoked ${toTimeAgo(revoked_at)}`;
  if (status === 'expired' && expires_at) return `${used} · expired ${toTimeAgo(expires_at)}`;
  return expires_at ? `${used} · expires ${toRelativeTime(expires_at)}` : used;
}

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
    const text = `Programs that use ${name}, or keys derived from it, stop working at once, including their open streams. This cannot be undone.`;
    if (!(await isConfirmed({ title: `Revoke ${name}?`, text, yes: 'Revoke', no: 'Cancel' }))) return;
    await api.requestJson(`${path}/${id}`, { method: 'DELETE' });
    await onChange();
    document.getElementById('created-keys')?.focus();
    notify(`${name} is revoked.`);
  };
  return element(
    'div',
    { class: 'row' },
    replaced_by === null && button('Replace', '', replace),
    button('Revoke', 'danger', revoke),
  );
}
