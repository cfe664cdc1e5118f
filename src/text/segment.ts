// Splits a chunk of text into segments ("cuts") for the engine. A cut is a sentence, or a part of a long sentence that
// ends at the best possible break. The first cuts are short, so that audio starts early. Spans map the words of a cut
// to the chunk. A cut is yielded as soon as enough text has been read, and `undefined` wherever other work may run.
import { countCharsBetween } from '../platform/count-chars.ts';
import type { PhonemeRange, SourceMap } from './flat-text.ts';
import { type NormalizeOptions, normalizeText } from './normalize-text.ts';
import { PartCutter } from './part-cutter.ts';
import { breakStrength, type SpokenToken } from './tokenize.ts';

/** Maps a range of spoken text to its source text. */
export interface Span {
  /** UTF-16 range in `Cut.text` of one spoken token, or of all spoken tokens of one source token. */
  from: number;
  to: number;
  /** Position in the caller's chunk, in code points. */
  offset: number;
  length: number;
  /** The written text, if the chunk has markup. */
  written?: string;
}

/** The break after a cut. */
export type Break = 'paragraph' | 'sentence' | 'clause' | 'word';

export interface Cut {
  text: string;
  spans: readonly Span[];
  breakAfter: Break;
  /** Ranges of the text with stated phonemes, absent if there are none. */
  phonemes?: readonly PhonemeRange[];
}

export interface SegmentOptions extends Omit<NormalizeOptions, 'from'> {
  segmentCharsMax: number;
  /** Maximum length of a request's first cut. The second cut may be twice as long. */
  firstCharsMax?: number;
  /** Number of cuts of the request before this chunk. Default: 0. */
  cutsBefore?: number;
  /** Whether the chunk is one part of a text that has already been divided. */
  isPart?: boolean | undefined;
  /** Maps the chunk to the caller's text. Default: the chunk is the caller's text. */
  source?: SourceMap | undefined;
}

/** Minimum length of a cut that contains only the end of a sentence. */
const orphanCharsMax = 20;
/** Number of characters at the end of a text that are searched for its break. */
const endCharsMax = 100;

export function* segmentText(chunk: string, options: SegmentOptions): Generator<Cut, undefined> {
  for (const cut of segmentSteps(chunk, options)) if (cut) yield cut;
}

export function* segmentSteps(chunk: string, options: SegmentOptions): Generator<Cut | undefined, undefined> {
  const { segmentCharsMax, firstCharsMax = segmentCharsMax, cutsBefore = 0, isLiteral, isPart, languageCode } = options;
  const { state = { fence: '', within: false } } = options;
  const limits = [firstCharsMax, firstCharsMax * 2].map((limit) => Math.min(limit, segmentCharsMax)).slice(cutsBefore);
  const source = options.source ?? toSourceMap(chunk);
  let from = 0;
  for (const part of isLiteral || isPart ? [chunk] : partsOf(chunk, languageCode, cutsBefore === 0)) {
    if (part === undefined) {
      yield undefined;
      continue;
    }
    let last: Cut | undefined;
    for (const tokens of cutTokens(normalizeText(part, { ...options, state, from }), limits, segmentCharsMax)) {
      if (last) yield last;
      last = toCut(tokens, source);
    }
    yield last && { ...last, breakAfter: breathAtEnd(isLiteral ? part.trimEnd() : part) };
    from += part.length;
    state.within = !/\n[^\S\n]*$/.test(part);
  }
}

/** Divides a complete text into parts exactly as live speech would. */
function* partsOf(text: string, languageCode: string, opens: boolean): Generator<string | undefined> {
  const cutter = new PartCutter(languageCode, opens);
  yield* cutter.push(text);
  yield cutter.flush();
}

/** Divides the tokens of a part into cuts. `limits` limits the first cuts, and `charsMax` limits all later cuts. */
function* cutTokens(tokens: Iterable<SpokenToken>, limits: number[], charsMax: number): Generator<SpokenToken[]> {
  const pending: SpokenToken[] = [];
  let limit = limits[0] ?? charsMax;
  let length = 0;
  const take = (): SpokenToken[] => {
    const taken = takeTokens(pending, limit);
    length = lengthOf(pending);
    limits.shift();
    limit = limits[0] ?? charsMax;
    return taken;
  };
  for (const token of tokens) {
    pending.push(token);
    length += lengthOf([token]);
    const ends = token.breakAfter >= breakStrength.sentence;
    while (pending.length > 0 && (ends || length > limit + orphanCharsMax)) yield take();
  }
  while (pending.length > 0) yield take();
}

/** Break after a text. The next text may continue the sentence, so only final punctuation or blank lines decide. */
function breathAtEnd(text: string): Break {
  const tail = text.slice(-endCharsMax);
  if (/\n\s*\n/.test(tail.slice(tail.trimEnd().length))) return 'paragraph';
  const end = tail.trimEnd().replace(/(?<![\p{Pe}\p{Pf}"'])[\p{Pe}\p{Pf}"']+$/u, '');
  if (/\p{Sentence_Terminal}$|…$/u.test(end)) return 'sentence';
  return /[\p{Pd},;:،、；：]$/u.test(end) ? 'clause' : 'word';
}

/** Length of the tokens in a cut, with the spaces before them. */
const lengthOf = (tokens: readonly SpokenToken[]): number =>
  tokens.reduce((sum, { say, glued }) => sum + say.length + (glued ? 0 : 1), 0);

/** Removes the tokens of the next cut from the front of `pending`. */
function takeTokens(pending: SpokenToken[], limit: number): SpokenToken[] {
  const ends: number[] = [];
  for (let end = pending[0]!.glued ? 0 : -1; ends.length < pending.length; ) {
    end += lengthOf([pending[ends.length]!]);
    if (end > limit) break;
    ends.push(end);
  }
  const fits = ends.length;
  if (fits === pending.length) return pending.splice(0);
  const room = limit - (fits > 0 ? ends[fits - 1]! + 1 : 0);
  // A token is split if it is too long for one cut, or if it is a grouped number and this cut would be almost empty
  // without it. An earlier clause break takes precedence.
  const { say } = pending[fits]!;
  const hasClauseBreak = pending.slice(0, fits).some((token) => token.breakAfter >= breakStrength.clause);
  const isLong = say.length > limit && room >= limit / 4;
  const leavesLittle = room > limit * 0.75 && say.lastIndexOf(', ', room - 2) > 0;
  if (fits > 0 && (hasClauseBreak || !(isLong || leavesLittle)))
    return pending.splice(0, chooseBreak(pending, ends, limit));
  const [front, rest] = splitToken(pending[fits]!, room);
  pending.splice(fits, 1, ...(hasWord(rest.say) ? [rest] : []));
  return [...pending.splice(0, fits), front];
}

/** Number of fitting tokens to take, so that the cut ends at the best break. */
function chooseBreak(tokens: readonly SpokenToken[], ends: readonly number[], limit: number): number {
  const last = (strength: number, from: number, to: number): number => {
    let i = ends.length - 1;
    while (i >= 0 && (tokens[i]!.breakAfter < strength || ends[i]! > to)) i--;
    return i >= 0 && ends[i]! >= from ? i + 1 : 0;
  };
  // If the rest of the sentence is too short for a cut, this cut ends earlier.
  const restEnd = tokens.findIndex((token, i) => i >= ends.length && token.breakAfter >= breakStrength.sentence);
  const orphan = restEnd >= 0 && lengthOf(tokens.slice(ends.length, restEnd + 1)) < orphanCharsMax;
  const to = orphan ? limit * 0.75 : limit;
  return (
    last(breakStrength.clause, limit / 3, to) ||
    last(breakStrength.phrase, limit / 2, to) ||
    last(breakStrength.clause, limit / 5, to) ||
    last(breakStrength.word, limit / 4, to) ||
    last(breakStrength.clause, 0, limit) ||
    last(breakStrength.word, 0, limit) ||
    ends.length
  );
}

const hasWord = (text: string): boolean => /[\p{L}\p{N}]/u.test(text);

/** Splits a token that is too long for one cut: after a pause if possible, else after a word, else between letters. */
function splitToken(token: SpokenToken, limit: number): [front: SpokenToken, rest: SpokenToken] {
  const { say } = token;
  const pause = say.lastIndexOf(', ', limit - 1);
  const space = pause > limit / 2 ? pause + 1 : say.lastIndexOf(' ', limit);
  const spaced = space > 0 && hasWord(say.slice(0, space));
  let at = spaced ? space : limit;
  if (!spaced) {
    // A letter keeps its combining marks, and surrogate pairs are not split.
    while (at > 1 && /^(?:\p{M}|\u200d|[\uDC00-\uDFFF])/u.test(say.slice(at, at + 2))) at--;
    if (at <= 1) at = limit;
    if (/[\uDC00-\uDFFF]/.test(say[at]!)) at = Math.max(at - 1, 2);
  }
  const front = {
    ...token,
    say: say.slice(0, at).trimEnd(),
    breakAfter: pause > 0 && at === pause + 1 ? breakStrength.clause : breakStrength.word,
  };
  return [front, { ...token, say: say.slice(at).trimStart() }].map(({ phonemes: _, ...part }) => part) as [
    SpokenToken,
    SpokenToken,
  ];
}

/**
 * Maps indices of the chunk to code points. Indices must not decrease, because each call counts from the last index.
 */
function toSourceMap(chunk: string): SourceMap {
  let index = 0;
  let offset = 0;
  const offsetOf = (at: number): number => {
    offset += countCharsBetween(chunk, index, at);
    index = at;
    return offset;
  };
  return { startOf: offsetOf, endOf: (at) => offset + countCharsBetween(chunk, index, at + 1) };
}

function toCut(tokens: readonly SpokenToken[], source: SourceMap): Cut {
  let text = '';
  const phonemes: PhonemeRange[] = [];
  const spans = tokens.map(({ say, from, to, glued, phonemes: stated = [] }): Span => {
    if (text !== '' && !glued) text += ' ';
    const start = text.length;
    for (const each of stated) phonemes.push({ ...each, from: start + each.from, to: start + each.to });
    text += say;
    const offset = source.startOf(from);
    const span = { from: start, to: text.length, offset, length: source.endOf(to - 1) - offset };
    return source.written ? { ...span, written: source.written(from, to) } : span;
  });
  const breakAfter = toBreak(tokens.at(-1)!.breakAfter);
  return phonemes.length > 0 ? { text, spans, breakAfter, phonemes } : { text, spans, breakAfter };
}

/** Returns a function for the break after the word that ends at an index. Indices must not decrease between calls. */
export function createBreakFinder(text: string, languageCode: string): (end: number) => Break {
  const pieces = [...normalizeText(text, { languageCode, spellOut: false })];
  let next = 0;
  return (end) => {
    while (next < pieces.length && pieces[next]!.from < end) next++;
    return toBreak(pieces[next - 1]?.breakAfter ?? breakStrength.word);
  };
}

function toBreak(strength: number): Break {
  if (strength >= breakStrength.paragraph) return 'paragraph';
  if (strength === breakStrength.sentence) return 'sentence';
  return strength === breakStrength.clause ? 'clause' : 'word';
}
