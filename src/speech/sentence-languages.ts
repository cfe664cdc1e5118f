// Determines the language of each sentence. A sentence gets the language of the previous sentence, or else the voice's
// language, unless another language of the request's voices scores clearly higher. `npm run bench languages` measures
// the thresholds. Languages stated in markup are kept.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { languageOf } from '../platform/language-code.ts';
import { fitScripts, type MarkedText, splitRuns } from '../text.ts';
import type { Cast, CastVoice } from './cast.ts';
import { autoLanguage } from './fields.ts';

/** Points added to the score of the previous sentence's language. A clear word scores several times as many. */
const scoreOverLast = 40;
/** Points added to the score of the voice's own language. */
const scoreOverOwn = 10;

/** Determines the languages of consecutive sentences. */
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

/** Marks the texts of a request, in order, with the languages of their sentences. */
export type LanguageMarker = (text: MarkedText, cast: Pick<Cast, 'main' | 'others' | 'voiceOf'>) => MarkedText;

export function createLanguageMarker({ languageCode }: { languageCode: string }): LanguageMarker {
  if (languageCode !== autoLanguage) return (text) => text;
  const nextLanguage = createSentenceLanguages();
  /** Start of a sentence that previous texts have left unfinished. */
  let begun = '';
  return (text, { main, others, voiceOf }) => {
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

/** The voice's code for the language; undefined if the voice already uses the language or does not speak it. */
const codeFor = ({ offered, languageCode }: CastVoice, language: string): string | undefined =>
  languageOf(languageCode) === language
    ? undefined
    : offered.voice.languageCodes.find((code) => languageOf(code) === language);

type Detector = typeof import('eld/extrasmall')['eld'];

/** Codes in the library `eld` for languages that it lists under another code or replaces with a close relative. */
const namesInTable: Readonly<Record<string, string>> = { nb: 'no', nn: 'no', id: 'ms', fil: 'tl', bs: 'hr', cmn: 'zh' };
/** `eld` reads at most 380 bytes, so more characters would have no effect. */
const charsMax = 380;
/** `eld` reports x / (x + 25), where x is the mean score of the word pieces that `eld` knows. */
const scale = 25;
/** Approximate length of the word pieces of `eld`. */
const charsPerPiece = 3;

let detector: Detector | undefined;

function load(): Detector {
  // The package exports only an ES module, but planning is synchronous, so `require` loads the module.
  const path = fileURLToPath(import.meta.resolve('eld/extrasmall'));
  detector = (createRequire(import.meta.url)(path) as { eld: Detector }).eld;
  return detector;
}

/**
 * Scores for the languages, in the same order; undefined for a language that is not written in the sentence's script.
 * Scores grow with the length of the sentence.
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
