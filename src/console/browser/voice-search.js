// Searches voices by text and language, and names languages in the locale of the browser.
/** @import { Voice } from '../../../gen/openapi.ts' */

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
 * Names up to two languages of a voice. `en` is omitted if `en-US` is present.
 * @param {readonly string[]} codes
 */
export const toLanguageNames = (codes) =>
  codes
    .filter((code) => !codes.some((other) => other.startsWith(`${code}-`)))
    .slice(0, 2)
    .map(toLanguageName)
    .join(', ');

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
 * The voices that contain every word of the query and speak the language.
 * @param {readonly Voice[]} voices
 * @param {{ query: string, language: string }} filter
 */
export function findVoices(voices, { query, language }) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return voices.filter((voice) => {
    const text = toSearchText(voice);
    const speaks = language === '' || voice.language_codes.some((code) => code.split('-')[0] === language);
    return speaks && words.every((word) => text.includes(word));
  });
}

/**
 * All languages of the voices, without regions, sorted by name.
 * @param {readonly Pick<Voice, 'language_codes'>[]} voices
 */
export function languagesOf(voices) {
  const codes = new Set(
    voices.flatMap(({ language_codes }) => language_codes.map((code) => code.split('-')[0] ?? code)),
  );
  return [...codes]
    .map((code) => ({ code, name: toLanguageName(code) }))
    .sort((one, other) => one.name.localeCompare(other.name));
}
