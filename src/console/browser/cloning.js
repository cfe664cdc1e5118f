// What it takes to clone somebody here: in which languages, with which engine, how long they must speak, and which sentence
// says that they agree.
/** @import { CloningEngine } from './wire.d.ts' */

/** Said where the engine has no sentence of its own, in English; in other languages people choose one. */
const usualScript = 'I am the owner of this voice, and I agree that it is cloned and spoken with here.';
const passage =
  'It rained all night. By morning the river had reached the garden gate, so we carried the chairs inside and made some tea.';

/** @param {string} code */
const baseOf = (code) => code.split('-')[0]?.toLowerCase() ?? '';

/**
 * All languages that somebody here clones in.
 * @param {readonly CloningEngine[]} engines
 */
export const sampleLanguagesOf = (engines) => [...new Set(engines.flatMap((engine) => engine.sample_language_codes))];

/**
 * @param {readonly CloningEngine[]} engines
 * @param {string} languageCode
 */
export const clonersFor = (engines, languageCode) =>
  engines.filter((engine) => engine.sample_language_codes.includes(languageCode));

/**
 * The language to begin with: that of the browser where it can be.
 * @param {readonly string[]} codes
 */
export const usualLanguage = (codes) =>
  codes.find((code) => code === navigator.language) ??
  codes.find((code) => baseOf(code) === baseOf(navigator.language)) ??
  codes.find((code) => baseOf(code) === 'en') ??
  codes[0];

/**
 * The sentence of consent, and whether it is the engine's own, to be said word by word.
 * @param {CloningEngine} engine
 * @param {string} languageCode
 */
export function scriptFor({ consent_scripts: scripts }, languageCode) {
  const code =
    Object.keys(scripts).find((each) => each.toLowerCase() === languageCode.toLowerCase()) ??
    Object.keys(scripts).find((each) => baseOf(each) === baseOf(languageCode));
  const own = code === undefined ? undefined : scripts[code];
  return { text: own ?? (baseOf(languageCode) === 'en' ? usualScript : ''), isOwn: own !== undefined };
}

/**
 * Something to read aloud, for those who do not know what to say.
 * @param {string} languageCode
 */
export const passageFor = (languageCode) => (baseOf(languageCode) === 'en' ? passage : undefined);

/**
 * How long a consent must be, for one who speaks very fast, and may be.
 * @param {string} script
 * @param {CloningEngine} engine
 */
export const consentSeconds = (script, { sample_seconds: { max } }) => ({
  min: Math.max(1, (script.match(/[\p{L}\p{N}]/gu)?.length ?? 0) / 30),
  max: Math.max(max, 30),
});
