// Cuts text into pieces that Google takes: it counts bytes of UTF-8, and refuses sentences that it finds too long. A piece
// ends with a sentence where it can; a sentence over its own limit is cut at a clause, else between words, else between
// what a reader sees as one character, else between code points. Joined again, the pieces are the text, unit for unit.

export interface PieceLimits {
  /** Of a piece; room enough for any one character. */
  bytesMax: number;
  /** Of a sentence, or of what is left of one, within a piece. */
  sentenceBytesMax: number;
}

type Cut = (text: string) => Iterable<string>;

const bytesOf = (text: string): number => Buffer.byteLength(text);

/** A lone surrogate is none of these, and passes as a character of its own. */
const clauses: Cut = (text) =>
  text.match(/.*?(?:[,;:\u2013\u2014\u2026)\]]+\s+|[\u060c\u061b\u3001\uff0c\uff1a\uff1b]|\n|$)/gsu) ?? [];
const words: Cut = (text) => text.match(/\S+\s*|\s+/gu) ?? [];

const segments = (granularity: 'sentence' | 'word' | 'grapheme'): Cut => {
  // Made on first use: its data takes a while to load.
  let segmenter: Intl.Segmenter | undefined;
  return (text) => {
    // What language a text is in hardly matters to where it may be cut; dictionaries are chosen by script.
    segmenter ??= new Intl.Segmenter('en', { granularity });
    return Iterator.from(segmenter.segment(text)).map(({ segment }) => segment);
  };
};
const sentences = segments('sentence');
/** From rough to fine; words without spaces between them, as in Thai or Chinese, are found by dictionary. */
const withinSentences: readonly Cut[] = [clauses, words, segments('word'), segments('grapheme'), (text) => text];

export function cutText(text: string, { bytesMax, sentenceBytesMax }: PieceLimits): string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const sentence of sentences(text)) {
    for (const [index, part] of cutWithin(sentence, Math.min(sentenceBytesMax, bytesMax)).entries()) {
      // Two parts of one sentence in one piece would be that sentence again.
      if (piece !== '' && (index > 0 || bytesOf(piece) + bytesOf(part) > bytesMax)) {
        pieces.push(piece);
        piece = '';
      }
      piece += part;
    }
  }
  return piece === '' ? pieces : [...pieces, piece];
}

/** The text in as few parts as the first cut that suffices gives. */
function cutWithin(text: string, bytesMax: number, [cut, ...finer] = withinSentences): string[] {
  if (bytesOf(text) <= bytesMax || cut === undefined) return [text];
  const parts: string[] = [];
  let part = '';
  let bytes = 0;
  for (const unit of cut(text)) {
    const more = bytesOf(unit);
    if (bytes + more > bytesMax) {
      if (part !== '') parts.push(part);
      const within = cutWithin(unit, bytesMax, finer);
      part = within.pop()!;
      bytes = bytesOf(part);
      parts.push(...within);
    } else {
      part += unit;
      bytes += more;
    }
  }
  return part === '' ? parts : [...parts, part];
}
