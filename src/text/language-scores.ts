// How much a sentence looks like each of some languages, by the library `eld` and its smallest table, which is loaded when
// it is first needed: that takes a third of a second of CPU and 30 MB. A language that the table has not got scores 0.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { fitScripts } from './scripts.ts';

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
export const languageOf = (code: string): string => code.toLowerCase().split('-', 1)[0]!;

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
