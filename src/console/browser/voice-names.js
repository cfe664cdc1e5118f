// Languages by the names that people have for them, and what of a voice can be searched for.
/** @import { Voice } from './wire.d.ts' */

const names = new Intl.DisplayNames(undefined, { type: 'language', fallback: 'code' });

/** @param {string} code Such as `en-GB`. */
export function toLanguageName(code) {
  try {
    return names.of(code) ?? code;
  } catch {
    return code;
  }
}

/**
 * The first of the languages of a voice, without those that another one is a kind of.
 * @param {readonly string[]} codes
 */
export const toSpokenNames = (codes) =>
  codes
    .filter((code) => !codes.some((other) => other.startsWith(`${code}-`)))
    .slice(0, 2)
    .map(toLanguageName)
    .join(', ');

/** @param {Voice} voice */
const toSearched = ({ voice_id, name, description, engine, labels, language_codes }) =>
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
 * The voices that have every word of the query somewhere, and speak the language.
 * @param {readonly Voice[]} voices
 * @param {{ query: string, language: string }} sought
 */
export function findVoices(voices, { query, language }) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return voices.filter((voice) => {
    const text = toSearched(voice);
    const speaks = language === '' || voice.language_codes.some((code) => code.split('-')[0] === language);
    return speaks && words.every((word) => text.includes(word));
  });
}

/**
 * The languages there are, without regions, by their names.
 * @param {readonly Voice[]} voices
 */
export function languagesOf(voices) {
  const codes = new Set(
    voices.flatMap(({ language_codes }) => language_codes.map((code) => code.split('-')[0] ?? code)),
  );
  return [...codes]
    .map((code) => ({ code, name: toLanguageName(code) }))
    .sort((one, other) => one.name.localeCompare(other.name));
}
