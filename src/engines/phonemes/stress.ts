// Stress marks in phoneme strings. As in Misaki's notation, a mark stands directly before the vowel that it stresses.
export const primary = 'ˈ';
export const secondary = 'ˌ';
const marks = /[ˈˌ]/g;
const vowel = /[AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ]/;
/** Vowels of two parts and affricates count twice in the weight of a word. */
const long = /[AIOQWYʤʧ]/g;

const markFirstVowel = (phonemes: string, mark: string) => phonemes.replace(vowel, `${mark}$&`);

/** A capitalized word is stressed at least a little. */
export const stressCapitalized = (phonemes: string): string =>
  /[ˈˌ]/.test(phonemes) ? phonemes : markFirstVowel(phonemes, secondary);

/** A word in capitals carries a primary stress. */
export function stressFully(phonemes: string): string {
  if (phonemes.includes(primary)) return phonemes;
  if (phonemes.includes(secondary)) return phonemes.replaceAll(secondary, primary);
  return markFirstVowel(phonemes, primary);
}

/** Turns primary stress into secondary stress. A word without primary stress remains unchanged. */
export const weaken = (phonemes: string): string =>
  phonemes.includes(primary) ? phonemes.replaceAll(secondary, '').replaceAll(primary, secondary) : phonemes;

/** Keeps primary stress on the last of several letter names: "FBI". */
export const stressLast = (letters: readonly string[]): string[] =>
  letters.map((name, i) => (i === letters.length - 1 ? name : weaken(name)));

/** Weakens the lighter half of the parts of a compound if most of them carry primary stress: "well-known". */
export function balance(parts: readonly string[]): string[] {
  const balanced = [...parts];
  const spoken = parts.flatMap((part, i) => (part ? [{ i, part, isPrimary: part.includes(primary) }] : []));
  const stressed = spoken.filter(({ isPrimary }) => isPrimary).length;
  if (spoken.length < 2 || stressed <= (spoken.length + 1) >> 1) return balanced;
  const weight = (part: string) => part.replace(marks, '').length + (part.match(long)?.length ?? 0);
  const lightestFirst = spoken.sort(
    (a, b) => Number(a.isPrimary) - Number(b.isPrimary) || weight(a.part) - weight(b.part) || a.i - b.i,
  );
  for (const { i, part } of lightestFirst.slice(0, spoken.length >> 1)) balanced[i] = weaken(part);
  return balanced;
}
