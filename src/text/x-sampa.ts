// Phonetic alphabets: converts X-SAMPA (https://en.wikipedia.org/wiki/X-SAMPA) to the International Phonetic Alphabet,
// and normalizes IPA. Marks that only group sounds are removed.

/** Symbols of X-SAMPA and IPA, longest first, so that "r\`" is not read as "r". Other symbols are the same in both. */
const symbols: readonly (readonly [sampa: string, ipa: string])[] = Object.entries({
  'J\\_<': 'ʄ',
  'G\\_<': 'ʛ',
  'b_<': 'ɓ',
  'd_<': 'ɗ',
  'g_<': 'ɠ',
  'r\\`': 'ɻ',
  'O\\': 'ʘ',
  '|\\|\\': 'ǁ',
  'd`': 'ɖ',
  'l`': 'ɭ',
  'n`': 'ɳ',
  'r`': 'ɽ',
  's`': 'ʂ',
  't`': 'ʈ',
  'z`': 'ʐ',
  '@`': 'ɚ',
  '3`': 'ɝ',
  'B\\': 'ʙ',
  'G\\': 'ɢ',
  'h\\': 'ɦ',
  'H\\': 'ʜ',
  'I\\': 'ᵻ',
  'j\\': 'ʝ',
  'J\\': 'ɟ',
  'K\\': 'ɮ',
  'l\\': 'ɺ',
  'L\\': 'ʟ',
  'M\\': 'ɰ',
  'N\\': 'ɴ',
  'p\\': 'ɸ',
  'r\\': 'ɹ',
  'R\\': 'ʀ',
  's\\': 'ɕ',
  'U\\': 'ᵿ',
  'v\\': 'ʋ',
  'x\\': 'ɧ',
  'X\\': 'ħ',
  'z\\': 'ʑ',
  '@\\': 'ɘ',
  '3\\': 'ɞ',
  '?\\': 'ʕ',
  ':\\': 'ˑ',
  '!\\': 'ǃ',
  '|\\': 'ǀ',
  '=\\': 'ǂ',
  '<\\': 'ʢ',
  '>\\': 'ʡ',
  _d: '̪',
  _h: 'ʰ',
  _w: 'ʷ',
  _j: 'ʲ',
  _G: 'ˠ',
  '_?\\': 'ˤ',
  '_~': '̃',
  _0: '̥',
  _v: '̬',
  '_=': '̩',
  '_^': '̯',
  _l: 'ˡ',
  _n: 'ⁿ',
  A: 'ɑ',
  B: 'β',
  C: 'ç',
  D: 'ð',
  E: 'ɛ',
  F: 'ɱ',
  G: 'ɣ',
  H: 'ɥ',
  I: 'ɪ',
  J: 'ɲ',
  K: 'ɬ',
  L: 'ʎ',
  M: 'ɯ',
  N: 'ŋ',
  O: 'ɔ',
  P: 'ʋ',
  Q: 'ɒ',
  R: 'ʁ',
  S: 'ʃ',
  T: 'θ',
  U: 'ʊ',
  V: 'ʌ',
  W: 'ʍ',
  X: 'χ',
  Y: 'ʏ',
  Z: 'ʒ',
  g: 'ɡ',
  '?': 'ʔ',
  '{': 'æ',
  '}': 'ʉ',
  '@': 'ə',
  '&': 'ɶ',
  1: 'ɨ',
  2: 'ø',
  3: 'ɜ',
  4: 'ɾ',
  5: 'ɫ',
  6: 'ɐ',
  7: 'ɤ',
  8: 'ɵ',
  9: 'œ',
  ':': 'ː',
  '"': 'ˈ',
  '%': 'ˌ',
  '~': '̃',
  '=': '̩',
  "'": 'ʲ',
  '-': '',
  '.': '.',
}).sort(([a], [b]) => b.length - a.length);
/** The symbols by their first character. */
const symbolsByFirst = Map.groupBy(symbols, ([sampa]) => sampa[0]!);
const plainPattern = /^[a-z .]$/;

/** Converts a phoneme to IPA; undefined if the alphabet is unknown or the text is not valid in the alphabet. */
export function toIpa(written: string, alphabet: string): string | undefined {
  const name = alphabet.toLowerCase();
  if (name === 'ipa') return normalizeIpa(written);
  if (name !== 'x-sampa' && name !== 'xsampa') return undefined;
  let ipa = '';
  for (let at = 0; at < written.length; ) {
    const char = written[at]!;
    const found = symbolsByFirst.get(char)?.find(([sampa]) => written.startsWith(sampa, at));
    if (!found && !plainPattern.test(char)) return undefined;
    ipa += found ? found[1] : char;
    at += found ? found[0].length : 1;
  }
  return normalizeIpa(ipa);
}

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

/** Normalizes IPA; undefined if the text has nothing to speak. */
function normalizeIpa(written: string): string | undefined {
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

/** The distinct characters of the text that are not in the IPA. */
export const foreignToIpa = (written: string): string[] => [...new Set(written.match(foreignPattern))];
