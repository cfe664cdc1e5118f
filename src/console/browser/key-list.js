// The keys that this one has made: those in force, to be replaced or ended, and those that have ended.
/** @import { Desk } from './page.d.ts' */
/** @import { ApiKey, MadeApiKey } from './wire.d.ts' */
import { element } from './element.js';
import { keyFacts } from './key-words.js';
import { isSure } from './sureness.js';
import { toAge, toDay } from './wording.js';

const path = '/api/auth/api-keys';

/**
 * @typedef {object} KeyListOptions
 * @property {(key: MadeApiKey) => Promise<void>} onMade
 * @property {() => Promise<void>} onChange
 */

/**
 * @param {readonly ApiKey[]} keys
 * @param {Desk} desk
 * @param {KeyListOptions} options
 */
export function keyList(keys, desk, options) {
  const [active, ended] = [
    keys.filter(({ status }) => status === 'active'),
    keys.filter(({ status }) => status !== 'active'),
  ];
  return element(
    'section',
    { class: 'card', 'aria-labelledby': 'made-keys' },
    element('h2', { id: 'made-keys', tabindex: -1 }, 'Keys that it has made'),
    active.length === 0 &&
      element(
        'p',
        { class: 'hint' },
        ended.length === 0
          ? 'None yet. Make one for each program, so that each can be ended alone.'
          : 'None is in force.',
      ),
    element('ul', { class: 'key-list' }, ...active.map((key) => toItem(key, desk, options))),
    ended.length > 0 &&
      element(
        'details',
        {},
        element('summary', {}, `${ended.length} ended`),
        element('ul', { class: 'key-list' }, ...ended.map((key) => toItem(key, desk, options))),
      ),
  );
}

/**
 * @param {ApiKey} key
 * @param {Desk} desk
 * @param {KeyListOptions} options
 */
function toItem(key, desk, options) {
  const { name, hint, status, replaced_by } = key;
  const isActive = status === 'active';
  const actions = isActive && desk.may('keys:write') ? toActions(key, desk, options) : undefined;
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
        element('span', { class: 'facts' }, toStory(key)),
      ),
      keyFacts(key),
    ),
    actions,
  );
}

/** @param {ApiKey} key */
function toStory({ status, expires_at, last_used_at, revoked_at }) {
  if (revoked_at) return `revoked ${toAge(revoked_at)}`;
  if (status === 'expired' && expires_at) return `expired ${toDay(expires_at)}`;
  const used = last_used_at ? `used ${toAge(last_used_at)}` : 'not used yet';
  return expires_at ? `${used} · ends ${toAge(expires_at)}` : used;
}

/**
 * @param {ApiKey} key
 * @param {Desk} desk
 * @param {KeyListOptions} options
 */
function toActions({ id, name, replaced_by }, { api, say, complain }, { onMade, onChange }) {
  /** @type {(text: string, kind: string, work: () => Promise<void>) => HTMLElement} */
  const button = (text, kind, work) => {
    const onclick = async () => {
      made.disabled = true;
      await work().catch(complain);
      made.disabled = false;
    };
    const made = element('button', { type: 'button', class: kind, 'aria-label': `${text} ${name}`, onclick }, text);
    return made;
  };
  const replace = async () => {
    const made = await api.ask(`${path}/${id}/rotate`, { body: {} });
    await onMade(made);
    say(`${name} is replaced. The old key works for one more day.`);
  };
  const revoke = async () => {
    const text = `Whatever uses ${name} stops working at once, streams that are open too. This cannot be undone.`;
    if (!(await isSure({ title: `Revoke ${name}?`, text, yes: 'Revoke it', no: 'Keep it' }))) return;
    await api.ask(`${path}/${id}`, { method: 'DELETE' });
    await onChange();
    document.getElementById('made-keys')?.focus();
    say(`${name} is revoked.`);
  };
  return element(
    'div',
    { class: 'row' },
    replaced_by === null && button('Replace', '', replace),
    button('Revoke', 'danger', revoke),
  );
}
