// The properties of an API key as a list, and descriptions of the scopes.
/** @import { ApiKey } from '../../../gen/openapi.ts' */
import { element } from './element.js';
import { toCount, toDate, toTimeAgo } from './formatting.js';

export const scopeDescriptions = /** @type {Readonly<Record<string, string>>} */ ({
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

/** @param {readonly string[]} texts */
const codes = (texts) =>
  element('span', { class: 'chips' }, ...texts.map((text) => element('code', { class: 'chip' }, text)));

/**
 * Time at which the key ended or will end.
 * @param {ApiKey} key
 */
function toEnd({ status, expires_at, revoked_at }) {
  if (revoked_at) return /** @type {const} */ (['Revoked', toTimeAgo(revoked_at)]);
  const term = status === 'expired' ? 'Expired' : 'Expires';
  return /** @type {const} */ ([term, expires_at ? toDate(expires_at) : 'never']);
}

/**
 * @param {ApiKey} key
 * @param {string} [lastUsed] Overrides `last_used_at`, which can be a minute old.
 */
export function keyFacts(key, lastUsed) {
  const { scopes, limits, voice_ids, allowed_ips, created_at, last_used_at } = key;
  const { requests_per_minute, concurrency, characters_per_month } = limits;
  const monthly =
    characters_per_month === null ? 'unlimited characters' : `${toCount(characters_per_month)} characters per month`;
  const facts = /** @type {const} */ ([
    ['Scopes', codes(scopes)],
    ['Limits', `${toCount(requests_per_minute)} requests per minute, ${toCount(concurrency)} at once, ${monthly}`],
    ['Voices', voice_ids ? codes(voice_ids) : 'all'],
    ['Allowed addresses', allowed_ips ? codes(allowed_ips) : 'all'],
    ['Created', toDate(created_at)],
    ['Last used', lastUsed ?? (last_used_at ? toTimeAgo(last_used_at) : 'never')],
    toEnd(key),
  ]);
  return element('dl', {}, ...facts.flatMap(([term, value]) => [element('dt', {}, term), element('dd', {}, value)]));
}
