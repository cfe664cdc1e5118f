// Searches and orders voices, stores the favourites on this device, and names languages in the locale of the browser.
/** @import { Voice } from '../../../../gen/openapi.ts' */
import { readItem, storeItem } from './browser-storage.js';

const names = new Intl.DisplayNames(undefined, { type: 'language', fallback: 'none' });

/** @param {string} code */
export const baseOf = (code) => code.split('-')[0]?.toLowerCase() ?? '';

/**
 * Names a language; empty if the browser has no name for it. A private part or variant, as in `vi-VN-x-south`, follows
 * the name in brackets.
 * @param {string} code A language code, such as `en-GB`.
 */
export function toLanguageName(code) {
  const [, known = code, part = ''] = /^([a-z]+(?:-[A-Z]\w+)*)(?:-x)?-(?:[a-z]+-)*([a-z]+)$/.exec(code) ?? [];
  try {
    const name = names.of(known) ?? names.of(baseOf(code)) ?? '';
    return name && part ? `${name} (${part})` : name;
  } catch {
    return '';
  }
}

/**
 * The codes without those that only repeat another one, as `en` repeats `en-US`.
 * @param {readonly string[]} codes
 */
export const distinctCodes = (codes) => codes.filter((code) => !codes.some((other) => other.startsWith(`${code}-`)));

const namesShown = 3;

/** @param {readonly string[]} codes */
export function toLanguageNames(codes) {
  const named = distinctCodes(codes).map(toLanguageName).filter(Boolean);
  const more = named.length - namesShown;
  return `${named.slice(0, namesShown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/**
 * Names the languages of a voice; empty if its name does.
 * @param {Voice} voice
 */
export const toVoiceLanguages = ({ name, language_codes: [first = '', ...others] }) =>
  name.includes(toLanguageName(baseOf(first))) ? '' : toLanguageNames([first, ...others]);

/** @param {Voice} voice */
const toSearchText = ({ voice_id, name, description, engine, labels, language_codes }) =>
  [
    voice_id,
    name,
    description,
    engine,
    ...Object.values(labels),
    ...language_codes,
    ...language_codes.map(toLanguageName),
  ]
    .join(' ')
    .toLowerCase();

/**
 * Finds the voices that match every word of the query and speak the language.
 * @param {readonly Voice[]} voices
 * @param {{ query: string, language: string }} filter
 */
export function findVoices(voices, { query, language }) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return voices.filter((voice) => {
    const text = toSearchText(voice);
    const speaks = language === '' || voice.language_codes.some((code) => baseOf(code) === language);
    return speaks && words.every((word) => text.includes(word));
  });
}

const favouritesItem = 'sonant-favourites';
export const favourites = new Set(readItem(favouritesItem)?.split(' '));

/** @param {string} voiceId */
export function toggleFavourite(voiceId) {
  if (!favourites.delete(voiceId)) favourites.add(voiceId);
  storeItem(favouritesItem, [...favourites].join(' '), 'device');
}

/** The user's languages, each with and without its region. */
const ownLanguages = [...new Set(navigator.languages.flatMap((code) => [code, baseOf(code)]))];

/**
 * Returns -1 for a favourite, else the index of the voice's language among the user's languages, or Infinity.
 * @param {Voice} voice
 */
export function rankOf({ voice_id, language_codes: codes }) {
  if (favourites.has(voice_id)) return -1;
  const at = ownLanguages.findIndex((own) => codes.some((code) => code === own || baseOf(code) === own));
  return at < 0 ? Number.POSITIVE_INFINITY : at;
}

/**
 * Sorts favourites first, then voices in the user's languages, the natural ones first.
 * @param {readonly Voice[]} voices
 */
export function sortVoices(voices) {
  const orderOf = (/** @type {Voice} */ voice) => {
    const rank = rankOf(voice);
    return rank < 0 || voice.natural ? rank : rank + ownLanguages.length;
  };
  return voices.toSorted((one, other) => Math.sign(orderOf(one) - orderOf(other)) || 0);
}

/**
 * All languages of the voices that have a name, without regions, sorted by name.
 * @param {readonly Pick<Voice, 'language_codes'>[]} voices
 */
export function languagesOf(voices) {
  const codes = new Set(voices.flatMap(({ language_codes }) => language_codes.map(baseOf)));
  return [...codes]
    .map((code) => ({ code, name: toLanguageName(code) }))
    .filter(({ name }) => name !== '')
    .sort((one, other) => one.name.localeCompare(other.name));
}
