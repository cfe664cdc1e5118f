// Tells in which language each sentence of a request is spoken, where the request leaves that to Sonant: one of those that
// its voices speak. A sentence is taken to be in the language of the one before it, and then in that of its voice, unless
// it looks enough like another: how much is enough was measured (`npm run bench languages`). What the markup states stays.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { MarkedText } from '../text/marked-text.ts';
import { fitScripts } from '../text/scripts.ts';
import { splitRuns } from '../text/split-runs.ts';
import type { Cast, CastVoice } from './cast.ts';
import { autoLanguage } from './fields.ts';

/** What a language must score above that of the sentence before, and above the voice's own: about the score of a word. */
const scoreOverLast = 40;
const scoreOverOwn = 10;

/** The language of sentences that follow each other. */
export function createSentenceLanguages() {
  let last: string | undefined;
  return (sentence: string, languages: readonly string[], own: string): string => {
    const scores = scoreLanguages(sentence, languages);
    let best = own;
    let most = -Infinity;
    for (const [i, language] of languages.entries()) {
      const score = scores[i];
      if (score === undefined) continue;
      const raised = score + (language === last ? scoreOverLast : 0) + (language === own ? scoreOverOwn : 0);
      if (raised > most) [best, most] = [language, raised];
    }
    last = best;
    return best;
  };
}

/** The texts of a request, one after the other, each with the languages of its sentences, for the voices of the cast. */
export function createLanguageMarker({ languageCode }: { languageCode: string }) {
  if (languageCode !== autoLanguage) return (text: MarkedText) => text;
  const nextLanguage = createSentenceLanguages();
  /** The sentence that the text before ended in, if it goes on. */
  let begun = '';
  return (text: MarkedText, { main, others, voiceOf }: Pick<Cast, 'main' | 'others' | 'voiceOf'>): MarkedText => {
    const codes = [main, ...others].flatMap(({ offered }) => offered.voice.languageCodes);
    const languages = [...new Set(codes.map(languageOf))];
    if (languages.length < 2) return text;
    const items = splitRuns(text.items, {
      languageCode: main.languageCode,
      isFixed: ({ style }) => style.languageCode !== undefined,
      toLanguage({ said, isOpen }, { style }) {
        const sentence = begun === '' ? said : `${begun} ${said}`;
        begun = isOpen ? sentence : '';
        const voice = voiceOf(style);
        return codeFor(voice, nextLanguage(sentence, languages, languageOf(voice.languageCode)));
      },
    });
    return { ...text, items };
  };
}

/** What the voice calls the language; undefined for what it speaks anyway, because it is that or speaks no such language. */
const codeFor = ({ offered, languageCode }: CastVoice, language: string): string | undefined =>
  languageOf(languageCode) === language
    ? undefined
    : offered.voice.languageCodes.find((code) => languageOf(code) === language);

type Detector = typeof import('eld/extrasmall')['eld'];

/** What the table calls languages that it has under another name, or knows by their nearest relative. */
const namesInTable: Readonly<Record<string, string>> = { nb: 'no', nn: 'no', id: 'ms', fil: 'tl', bs: 'hr', cmn: 'zh' };
/** The library reads no more than 380 bytes, hence at most so many characters. */
const charsMax = 380;
/** The library reports x / (x + 25), where x is the mean score of the pieces of words that it knows. */
const scale = 25;
/** Its pieces of words are about three characters long. */
const charsPerPiece = 3;

let detector: Detector | undefined;

function load(): Detector {
  // The library is a module for `import` alone, and a request is planned without waiting.
  const path = fileURLToPath(import.meta.resolve('eld/extrasmall'));
  detector = (createRequire(import.meta.url)(path) as { eld: Detector }).eld;
  return detector;
}

/** The language of a BCP-47 code, without script and region. */
const languageOf = (code: string): string => code.toLowerCase().split('-', 1)[0]!;

/**
 * A score for each language, in the same order; undefined for one that is not written in the script of the sentence.
 * Scores grow with the length of the sentence, as far as it is evidence.
 */
export function scoreLanguages(sentence: string, languages: readonly string[]): (number | undefined)[] {
  const read = sentence.slice(0, charsMax);
  const isWritten = fitScripts(read, languages);
  if (isWritten.filter(Boolean).length < 2) return isWritten.map((is) => (is ? 0 : undefined));
  const scores = (detector ?? load()).detect(read).getScores();
  const pieces = [...read].length / charsPerPiece + 1;
  return languages.map((language, i) => {
    const score = scores[namesInTable[language] ?? language] ?? 0;
    return isWritten[i] ? (pieces * scale * score) / (1 - score) : undefined;
  });
}
