// The International Phonetic Alphabet (IPA): normalizes it, and finds foreign characters. Marks that only group sounds
// are removed.

/** Obsolete IPA letters and their replacements. */
const ligatures: Readonly<Record<string, string>> = { ʧ: 'tʃ', ʤ: 'dʒ', ʦ: 'ts', ʣ: 'dz', ʨ: 'tɕ', ʥ: 'dʑ' };
/** Diacritics, modifier letters and tones. Length and stress are excluded, because they affect the sound most. */
const modifierPattern = /(?![ːˈˌ])[\p{M}\p{Lm}\p{Sk}\p{No}↑↓↗↘ꜛꜜ]/u;

/** Removes unknown modifiers, which leaves the nearest sound. `isKnown` decides about each sound. */
export const withoutModifiers = (ipa: string, isKnown: (sound: string) => boolean): string =>
  [...ipa].reduce((sounds, char) => {
    const isLost = modifierPattern.test(char) && !isKnown(char) && !isKnown(sounds.slice(-1) + char);
    return isLost ? sounds : sounds + char;
  }, '');

/** Length of the longest spelling in a table. */
const spellingCharsMax = 3;

/**
 * Splits IPA into the spellings of a table. The longest match comes first, so that a diphthong is not read as two
 * vowels. Returns each spelling with its value. A character that is not in the table is returned without a value.
 */
export function splitIpa(
  written: string,
  table: ReadonlyMap<string, string>,
): (readonly [spelling: string, value: string | undefined])[] {
  const ipa = withoutModifiers(written, (sound) => table.has(sound));
  const sounds: (readonly [string, string | undefined])[] = [];
  for (let at = 0; at < ipa.length; ) {
    let length = spellingCharsMax;
    while (length > 1 && !table.has(ipa.slice(at, at + length))) length--;
    const spelling = ipa.slice(at, at + length);
    sounds.push([spelling, table.get(spelling)]);
    at += spelling.length;
  }
  return sounds;
}

/** Normalizes IPA; undefined if the text has nothing to speak. */
export function normalizeIpa(written: string): string | undefined {
  const ipa = written
    .normalize('NFD')
    .replace(/[ʧʤʦʣʨʥ]/g, (older) => ligatures[older]!)
    .replaceAll('ə˞', 'ɚ')
    .replaceAll('ɜ˞', 'ɝ')
    .replaceAll('g', 'ɡ')
    .replaceAll("'", 'ˈ')
    .replaceAll(':', 'ː')
    .replace(/[͜͡‿|‖/[\]]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return /\p{L}/u.test(ipa) ? ipa : undefined;
}

/**
 * Characters outside the IPA: digits, letters of other scripts, and signs without a meaning in the IPA. Superscript
 * tones are allowed.
 */
const foreignPattern =
  /(?![↖-↙◌])\p{So}|[\p{Nd}\p{Sc}"#%&+,;<=>?@\\^_`~]|(?![\p{Script=Latin}\p{Script=Greek}\p{Lm}])\p{L}/gu;

/** Maximum number of invalid characters that an error lists. */
const foreignMax = 5;

/**
 * Reason why a phoneme is refused; undefined if the phoneme is accepted. Engines may only approximate an accepted
 * phoneme.
 */
export function findPhonemeFault(phoneme: string): string | undefined {
  const fault = 'is not written in ipa';
  const foreign = [...new Set(phoneme.match(foreignPattern))].slice(0, foreignMax);
  if (foreign.length > 0) return `${fault}, which has no ${foreign.join(' ')}`;
  return normalizeIpa(phoneme) === undefined ? fault : undefined;
}
