// Divides the runs of a marked text at sentence ends. A sentence may span several runs and pauses. A sentence also ends
// with a run that states an end, and at a change of voice or language in the markup.
import { countSaid, type MarkedItem, type MarkedRun, type Piece, piecesIn } from './marked-text.ts';
import { normalizeText } from './normalize-text.ts';
import { breakStrength } from './tokenize.ts';

/** The end of a sentence after its last word: end marks, closing quotes and brackets, and white space. */
const endPattern = /^(?:\s*[\p{Terminal_Punctuation}\p{Pe}\p{Pf}…]+)*["'*_~`]*\s*/u;
const wordPattern = /[\p{L}\p{N}]/u;

interface Sentence {
  /** The spoken text without markup. */
  said: string;
  /** Whether the sentence may continue after the end of the text. */
  isOpen: boolean;
  breakAfter: 'paragraph' | 'sentence' | undefined;
}

interface PlacedSentence extends Sentence {
  /** End of the sentence in the text of its passage. */
  end: number;
}

/** Consecutive items that sentences may span. */
interface Passage {
  items: MarkedItem[];
  isLast: boolean;
}

interface RunSplitting {
  languageCode: string;
  /** Whether the run is left unchanged. */
  isFixed(run: MarkedRun): boolean;
  /** Returns the language to set for a sentence; undefined leaves its style unchanged. */
  toLanguage(sentence: Sentence, run: MarkedRun): string | undefined;
}

/** Calls `toLanguage` for each sentence in order, and divides runs at changes of language. */
export function splitRuns(items: readonly MarkedItem[], splitting: RunSplitting): MarkedItem[] {
  return passagesOf(items, splitting).flatMap((passage) => {
    const first = passage.items.find((item) => item.kind === 'run');
    return !first || splitting.isFixed(first) ? passage.items : splitPassage(passage, first, splitting);
  });
}

function passagesOf(items: readonly MarkedItem[], { isFixed }: RunSplitting): Passage[] {
  const passages: Passage[] = [];
  let last: MarkedRun | undefined;
  for (const item of items) {
    const passage = passages.at(-1);
    const goesOn =
      item.kind === 'pause' ||
      !last ||
      (last.breakAfter === undefined && isFixed(last) === isFixed(item) && last.style.voice === item.style.voice);
    if (passage && goesOn) passage.items.push(item);
    else passages.push({ items: [item], isLast: false });
    if (item.kind === 'run') last = item;
  }
  if (passages.length > 0) passages.at(-1)!.isLast = last?.breakAfter === undefined;
  return passages;
}

function splitPassage({ items, isLast }: Passage, first: MarkedRun, splitting: RunSplitting): MarkedItem[] {
  const written = items.map((item) => (item.kind === 'run' ? textOf(item.pieces) : ' ')).join('');
  const sentences = sentencesOf(written, { ...splitting, isLiteral: first.isLiteral, isLast });
  const parts: Part[] = [];
  for (const { end, ...sentence } of sentences) {
    const languageCode = splitting.toLanguage(sentence, first);
    const last = parts.at(-1);
    if (last && last.languageCode === languageCode) Object.assign(last, { end, breakAfter: sentence.breakAfter });
    else parts.push({ begin: last?.end ?? 0, end, languageCode, breakAfter: sentence.breakAfter });
  }
  if (parts.length === 0) return items;
  parts.at(-1)!.end = Infinity;
  let at = 0;
  return items.flatMap((item): MarkedItem[] => {
    const from = at;
    at += item.kind === 'pause' ? 1 : textOf(item.pieces).length;
    return item.kind === 'pause' ? [item] : splitRun(item, from, at, parts);
  });
}

/** Consecutive sentences in one language, as a range in the text of their passage. */
interface Part {
  begin: number;
  end: number;
  languageCode: string | undefined;
  breakAfter: Sentence['breakAfter'];
}

/** Splits a run at the borders of parts. The run is the range `from` to `to` of the text. */
function splitRun(run: MarkedRun, from: number, to: number, parts: readonly Part[]): MarkedRun[] {
  const own = parts.filter(({ begin, end }) => (begin <= from ? end > from : begin < to));
  const runs = own.flatMap(({ begin, end, languageCode, breakAfter }): MarkedRun[] => {
    const style = languageCode === undefined ? run.style : { ...run.style, languageCode, isOwnLanguage: false };
    if (own.length === 1) return [{ ...run, style }];
    const pieces = piecesIn(run.pieces, begin - from, end - from);
    if (pieces.length === 0) return [];
    return [{ ...run, style, pieces, chars: countSaid(pieces, run.isLiteral), breakAfter }];
  });
  if (runs.length > 0) runs.at(-1)!.breakAfter = run.breakAfter;
  return runs;
}

const textOf = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join('');

/** The sentences of a text, without gaps between them. */
function sentencesOf(text: string, so: { languageCode: string; isLiteral: boolean; isLast: boolean }) {
  const sentences: PlacedSentence[] = [];
  let said = '';
  let lastEnd = 0;
  let ends: PlacedSentence['breakAfter'];
  const close = (end: number, isOpen: boolean) => {
    sentences.push({ said, end, isOpen, breakAfter: ends });
    said = '';
    ends = undefined;
  };
  for (const { say, from, to, glued, breakAfter } of normalizeText(text, { ...so, spellOut: false })) {
    if (ends) close(Math.min(lastEnd + endPattern.exec(text.slice(lastEnd, from))![0].length, from), false);
    said += glued || said === '' ? say : ` ${say}`;
    lastEnd = to;
    if (breakAfter >= breakStrength.sentence) ends = breakAfter === breakStrength.paragraph ? 'paragraph' : 'sentence';
  }
  const isOpen = so.isLast && !/[\p{Sentence_Terminal}…]|\n\s*\n/u.test(text.slice(lastEnd));
  if (wordPattern.test(said)) close(text.length, isOpen);
  return sentences;
}
