// Writes English phonemes as eSpeak NG does, because Piper's voices learned its IPA: diphthongs of two letters, long
// vowels, R after rhotic vowels, weak vowels by their spelling, and the stress of function words.
import type { PhonemeWord } from '../phonemes/tokens.ts';
import type { Accent } from './kokoro-letters.ts';

const vowels = 'AIOQWYaiuæɑɒɔəɛɜɪʊʌᵊᵻɐ';
const vowel = new RegExp(`[${vowels}]`, 'gu');
const vowelFirst = new RegExp(`^[ˈˌ]?[${vowels}]`, 'u');

/** Patterns and what replaces them, in order. V is a vowel, and C a consonant. */
const toRules = (rows: readonly (readonly [string, string])[]) =>
  rows.map(([from, to]): [RegExp, string] => [
    new RegExp(from.replaceAll('V', `[${vowels}]`).replaceAll('C', `[^${vowels}ˈˌː]`), 'gu'),
    to,
  ]);
const before = toRules([
  // A secondary stress next to the primary one.
  ['(ˈVː?C*)ˌ', '$1'],
  ['əwə', 'uə'],
  ['jəl', 'jʊl'],
  ['jə(?=m|t)', 'ju'],
  ['nʧən', 'nʃən'],
  ['n(?=[ˈˌ]?[kɡ])', 'ŋ'],
]);
const after = toRules([
  ['ᵊ', 'ə'],
  ['A', 'eɪ'],
  ['I', 'aɪ'],
  ['W', 'aʊ'],
  ['Y', 'ɔɪ'],
  ['O', 'oʊ'],
  ['Q', 'əʊ'],
  ['ʤ', 'dʒ'],
  ['ʧ', 'tʃ'],
  ['T', 'ɾ'],
]);
const own = {
  US: toRules([
    ['(?<=[ˈˌ]C{0,40}V)t[ᵊə]?n(?!V|[ˈˌts])', 'ʔn̩'],
    ['([fvp])əɹ(?=[əi])', '$1ɹ'],
    ['([ɜə])ɹ(?=[ˈˌ]?V)', '$1ɹɹ'],
    ['ɜɹ', 'ɜː'],
    ['əɹ', 'ɚ'],
    ['wˈɑnt', 'wˈɔnt'],
    ['ɔ(?!ŋ|f|θ|s|n|lt)', 'ɔː'],
    ['ɑ', 'ɑː'],
    ['u', 'uː'],
    ['(?<=[ˈˌ]C{0,40})i(?!ː)|i(?=[ˈˌ]|[bfhjklmnpstvwðŋɡɹʃʒʤʧθɾT])', 'iː'],
  ]),
  GB: toRules([
    ['a', 'æ'],
    ['ɛː', 'eə'],
    ['ɪə', 'iə'],
    ['(?<=V.{0,40})ə$', 'ɐ'],
    ['(?<![ˈˌ]C{0,40})i$', 'ɪ'],
  ]),
};
const rules = { US: [...before, ...own.US, ...after], GB: [...before, ...own.GB, ...after] };

/** Words that are not stressed, and words whose stress is secondary. */
const unstressed = new Set('and be do for if it that they this was we what when with you'.split(' '));
const halfStressed = new Set('about any before between into made make off over some than those without'.split(' '));

/** What eSpeak NG makes of marks that it has no sign for. */
const marks: Readonly<Record<string, string>> = { '—': ',', '…': '.', '“': '', '”': '', '(': '', ')': '' };

export function toPiperIpa(words: readonly PhonemeWord[], text: string, accent: Accent): PhonemeWord[] {
  const spoken = words.filter(({ phonemes }) => marks[phonemes] !== '');
  return spoken.map((word, n) => {
    const mark = marks[word.phonemes];
    if (mark !== undefined) return { ...word, phonemes: mark };
    const spelled = text.slice(word.start, word.end).toLowerCase();
    const isLast = spoken[n + 1] === undefined || /^[,.;:?!]/.test(spoken[n + 1]!.phonemes);
    let phonemes = bySpelling(word.phonemes, spelled, accent);
    if (unstressed.has(spelled) && !isLast) phonemes = phonemes.replace(/[ˈˌ]/, '');
    if (halfStressed.has(spelled) && !isLast) phonemes = phonemes.replace('ˈ', 'ˌ');
    if (phonemes === 'ði') phonemes = 'ðɪ';
    else if ((phonemes.match(vowel)?.length ?? 0) < 2) phonemes = phonemes.replace(/i(?=z?$)/, 'iː');
    phonemes = rules[accent].reduce((sum, [from, to]) => sum.replace(from, to), phonemes);
    if (vowelFirst.test(spoken[n + 1]?.phonemes ?? '')) {
      if (accent === 'US' || /re?$/.test(spelled)) phonemes = phonemes.replace(/(?<=ɚ|ɜː|ɐ|ɔː|ɑː|eə|iə)$/, 'ɹ');
      if (accent === 'US' && /^(it|at)$/.test(spelled)) phonemes = phonemes.replace(/(?<=[æɑɒɔəɛɪʊʌiɐ]ː?)t$/, 'ɾ');
    }
    return { ...word, phonemes };
  });
}

/** A weak vowel depends on its letter. */
function bySpelling(phonemes: string, spelled: string, accent: Accent): string {
  let changed = phonemes;
  if (/^(re|de|se|be|pre)/.test(spelled)) changed = changed.replace(/^([^ˈˌ]{1,2})ə(?!ɹ)/, '$1ᵻ');
  if (spelled.startsWith('a')) changed = changed.replace(/^ə(?![ɹl]?$)(?!ɹ)/, 'ɐ');
  if (accent === 'US' && /^(ex|en|em)/.test(spelled)) changed = changed.replace(/^([ˈˌ]?)ɪ/, '$1ɛ');
  const stem = spelled.replace(/es?$/, '');
  const groups = stem.match(/[aeiouy]+/g) ?? spelled.match(/[aeiouy]+/g) ?? [];
  if (groups.length === phonemes.match(vowel)?.length) {
    let at = 0;
    changed = changed.replace(vowel, (sound) => (/^[iy]$/.test(groups[at++]!) && sound === 'ə' ? 'ɪ' : sound));
  }
  return spelled.includes('ibl') ? changed.replace('əbᵊl', 'ᵻbᵊl') : changed;
}
