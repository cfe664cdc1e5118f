// What is said of a key in several places: what it may do, how much, with which voices and from where.
/** @import { ApiKey } from './wire.d.ts' */
import { element } from './element.js';
import { toAge, toCount, toDay } from './wording.js';

export const scopeWords = /** @type {Readonly<Record<string, string>>} */ ({
  'speech:synthesize': 'speak whole texts',
  'speech:stream': 'speak while it is made',
  'voices:read': 'see the voices',
  'voices:write': 'make, clone and change voices',
  'jobs:read': 'see long jobs',
  'jobs:write': 'begin long jobs',
  'keys:read': 'see the keys it has made',
  'keys:write': 'make and end keys',
  'usage:read': 'see what was spoken',
  admin: 'manage the keys of all',
});

/** @param {readonly string[]} texts */
export const codes = (texts) =>
  element('span', { class: 'chips' }, ...texts.map((text) => element('code', { class: 'chip' }, text)));

/**
 * @param {ApiKey} key
 * @param {string} [lastUsed] Where that is known better: what is told of it is a minute old.
 */
export function keyFacts({ scopes, limits, expires_at, voice_ids, allowed_ips, created_at, last_used_at }, lastUsed) {
  const { requests_per_minute, concurrency, characters_per_month } = limits;
  const monthly =
    characters_per_month === null
      ? 'as many characters as it likes'
      : `${toCount(characters_per_month)} characters a month`;
  const facts = /** @type {const} */ ([
    ['It may', codes(scopes)],
    ['Limits', `${toCount(requests_per_minute)} requests a minute, ${toCount(concurrency)} at once, ${monthly}`],
    ['Voices', voice_ids ? codes(voice_ids) : 'all'],
    ['From', allowed_ips ? codes(allowed_ips) : 'anywhere'],
    ['Made', toDay(created_at)],
    ['Last used', lastUsed ?? (last_used_at ? toAge(last_used_at) : 'not yet')],
    ['Ends', expires_at ? toDay(expires_at) : 'never'],
  ]);
  return element('dl', {}, ...facts.flatMap(([term, told]) => [element('dt', {}, term), element('dd', {}, told)]));
}
