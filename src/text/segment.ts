// Cuts a chunk of text into stretches to be spoken one at a time: the first short, to be heard soon, the others as long
// as sounds natural, each ending where a reader would breathe. Every cut knows which words of the chunk it speaks.
// Lazy and linear: a cut is made as soon as enough text has been looked at, whatever the length of the chunk.
import { breath, type Piece } from './piece.ts';
import { type SpeakableOptions, speakablePieces } from './speakable.ts';

/** Where a stretch of spoken text came from. */
export interface Span {
  /** UTF-16 range in Cut.text: one spoken token, or the run of tokens that one token of the source is spoken as. */
  from: number;
  to: number;
  /** Code points in the caller's chunk. */
  offset: number;
  length: number;
}

/** The breath after a cut. */
export type Break = 'paragraph' | 'sentence' | 'clause' | 'word';

export interface Cut {
  text: string;
  spans: readonly Span[];
  breakAfter: Break;
}

export interface SegmentOptions extends SpeakableOptions {
  segmentCharsMax: number;
  /** The first cut is at most this long, the second at most twice. */
  firstCharsMax?: number;
}

/** A stretch shorter than this at the end of a sentence is not left to a cut of its own. */
const orphanCharsMax = 20;

export function* segmentText(chunk: string, options: SegmentOptions): Generator<Cut> {
  const { segmentCharsMax, firstCharsMax = segmentCharsMax } = options;
  const limits = [firstCharsMax, firstCharsMax * 2].map((limit) => Math.min(limit, segmentCharsMax));
  const toCut = createCutter(chunk);
  const waiting: Piece[] = [];
  let limit = limits.shift()!;
  let length = 0;
  const take = (): Cut => {
    const taken = takePieces(waiting, limit);
    length = lengthOf(waiting);
    limit = limits.shift() ?? segmentCharsMax;
    return toCut(taken);
  };
  for (const piece of speakablePieces(chunk, options)) {
    waiting.push(piece);
    length += lengthOf([piece]);
    const ends = piece.breath === breath.paragraph;
    while (waiting.length > 0 && (ends || length > limit + orphanCharsMax)) yield take();
  }
  if (waiting.length > 0) waiting.at(-1)!.breath = breath.paragraph;
  while (waiting.length > 0) yield take();
}

/** How long pieces are in a cut, with the spaces before them. */
const lengthOf = (pieces: readonly Piece[]): number =>
  pieces.reduce((sum, { say, glued }) => sum + say.length + (glued ? 0 : 1), 0);

/** Takes the pieces of the next cut from the front of `waiting`. */
function takePieces(waiting: Piece[], limit: number): Piece[] {
  const ends: number[] = [];
  for (let end = waiting[0]!.glued ? 0 : -1; ends.length < waiting.length; ) {
    end += lengthOf([waiting[ends.length]!]);
    if (end > limit) break;
    ends.push(end);
  }
  const fits = ends.length;
  if (fits === waiting.length) return waiting.splice(0);
  const room = limit - (fits > 0 ? ends[fits - 1]! + 1 : 0);
  // A piece that is longer than a whole cut is divided, and begins in this one where nothing better offers itself; so is
  // a number said in groups, where it would leave but a scrap before it.
  const { say } = waiting[fits]!;
  const breathes = waiting.slice(0, fits).some((piece) => piece.breath >= breath.clause);
  const isLong = say.length > limit && room >= limit / 4;
  const leavesScrap = room > limit * 0.75 && say.lastIndexOf(', ', room - 2) > 0;
  if (fits > 0 && (breathes || !(isLong || leavesScrap))) return waiting.splice(0, choosePlace(waiting, ends, limit));
  const [front, rest] = dividePiece(waiting[fits]!, room);
  waiting.splice(fits, 1, ...(hasWord(rest.say) ? [rest] : []));
  return [...waiting.splice(0, fits), front];
}

/** How many pieces to take, of those that fit, for the cut to end where a reader would breathe. */
function choosePlace(pieces: readonly Piece[], ends: readonly number[], limit: number): number {
  const last = (rank: number, from: number, to: number): number => {
    let i = ends.length - 1;
    while (i >= 0 && (pieces[i]!.breath < rank || ends[i]! > to)) i--;
    return i >= 0 && ends[i]! >= from ? i + 1 : 0;
  };
  const afterSentence = last(breath.sentence, 0, limit);
  if (afterSentence > 0) return afterSentence;
  // What would be left of the sentence is too little for a cut: give it more.
  const restEnd = pieces.findIndex((piece, i) => i >= ends.length && piece.breath >= breath.sentence);
  const orphan = restEnd >= 0 && lengthOf(pieces.slice(ends.length, restEnd + 1)) < orphanCharsMax;
  const to = orphan ? limit * 0.75 : limit;
  return (
    last(breath.clause, limit / 3, to) ||
    last(breath.phrase, limit / 2, to) ||
    last(breath.clause, limit / 5, to) ||
    last(breath.word, limit / 4, to) ||
    last(breath.clause, 0, limit) ||
    last(breath.word, 0, limit) ||
    ends.length
  );
}

const hasWord = (text: string): boolean => /[\p{L}\p{N}]/u.test(text);

/** Divides a piece that is longer than a cut may be: after a pause, a word, or where it must be, between letters. */
function dividePiece(piece: Piece, limit: number): [front: Piece, rest: Piece] {
  const { say } = piece;
  const pause = say.lastIndexOf(', ', limit - 1);
  const space = pause > limit / 2 ? pause + 1 : say.lastIndexOf(' ', limit);
  const spaced = space > 0 && hasWord(say.slice(0, space));
  let at = spaced ? space : limit;
  if (!spaced) {
    // A letter stays with its marks, and the halves of a surrogate pair stay together.
    while (at > 1 && /^(?:\p{M}|\u200d|[\uDC00-\uDFFF])/u.test(say.slice(at, at + 2))) at--;
    if (at <= 1) at = limit;
    if (/[\uDC00-\uDFFF]/.test(say[at]!)) at = Math.max(at - 1, 2);
  }
  const front = {
    ...piece,
    say: say.slice(0, at).trimEnd(),
    breath: pause > 0 && at === pause + 1 ? breath.clause : breath.word,
  };
  return [front, { ...piece, say: say.slice(at).trimStart() }];
}

/** Makes cuts of pieces, counting code points as it goes along the chunk. */
function createCutter(chunk: string): (pieces: readonly Piece[]) => Cut {
  let index = 0;
  let offset = 0;
  const toOffset = (at: number): number => {
    offset += countCodePoints(chunk, index, at);
    index = at;
    return offset;
  };
  return (pieces) => {
    let text = '';
    const spans = pieces.map(({ say, from, to, glued }) => {
      if (text !== '' && !glued) text += ' ';
      const start = text.length;
      text += say;
      return { from: start, to: text.length, offset: toOffset(from), length: countCodePoints(chunk, from, to) };
    });
    return { text, spans, breakAfter: toBreak(pieces.at(-1)!.breath) };
  };
}

function countCodePoints(text: string, from: number, to: number): number {
  let count = 0;
  for (let i = from; i < to; i++) {
    count++;
    if (text.codePointAt(i)! > 0xffff) i++;
  }
  return count;
}

const toBreak = (rank: number): Break =>
  rank >= breath.paragraph
    ? 'paragraph'
    : rank === breath.sentence
      ? 'sentence'
      : rank === breath.clause
        ? 'clause'
        : 'word';
