// Requirements of voice cloning: the available languages and engines, the length of the recordings, and the consent
// sentence.
/** @import { CloningEngine } from '../../../gen/openapi.ts' */
import { baseOf } from './voice-search.js';

/**
 * The English consent sentence, if the engine requires no sentence of its own. In other languages, the speaker writes
 * the sentence.
 */
const defaultScript = 'I am the owner of this voice, and I agree that it is cloned and used to speak here.';
const englishPassage =
  'It rained all night. By morning the river had reached the garden gate, so we carried the chairs inside and made some tea.';

/**
 * All languages that any engine can clone.
 * @param {readonly CloningEngine[]} engines
 */
export const sampleLanguagesOf = (engines) => [...new Set(engines.flatMap((engine) => engine.sample_language_codes))];

/**
 * @param {readonly CloningEngine[]} engines
 * @param {string} languageCode
 */
export const cloningEnginesFor = (engines, languageCode) =>
  engines.filter((engine) => engine.sample_language_codes.includes(languageCode));

/**
 * The language to preselect: that of the browser if available.
 * @param {readonly string[]} codes
 */
export const defaultLanguage = (codes) =>
  codes.find((code) => code === navigator.language) ??
  codes.find((code) => baseOf(code) === baseOf(navigator.language)) ??
  codes.find((code) => baseOf(code) === 'en') ??
  codes[0];

/**
 * The consent sentence, and whether the engine requires exactly this sentence.
 * @param {CloningEngine} engine
 * @param {string} languageCode
 */
export function consentScriptFor({ consent_scripts: scripts }, languageCode) {
  const code =
    Object.keys(scripts).find((each) => each.toLowerCase() === languageCode.toLowerCase()) ??
    Object.keys(scripts).find((each) => baseOf(each) === baseOf(languageCode));
  const required = code === undefined ? undefined : scripts[code];
  return { text: required ?? (baseOf(languageCode) === 'en' ? defaultScript : ''), isRequired: required !== undefined };
}

/**
 * A passage to read aloud for the sample.
 * @param {string} languageCode
 */
export const samplePassageFor = (languageCode) => (baseOf(languageCode) === 'en' ? englishPassage : undefined);

/**
 * The allowed length of a consent recording. The minimum assumes 30 characters per second, faster than anyone speaks.
 * @param {string} script
 * @param {CloningEngine} engine
 */
export const consentSeconds = (script, { sample_seconds: { max } }) => ({
  min: Math.max(1, (script.match(/[\p{L}\p{N}]/gu)?.length ?? 0) / 30),
  max: Math.max(max, 30),
});
