// The text that captions of a marked text show: what is written, without its markup, a line for each paragraph and pause.
import type { TimedWord } from '../speech/word-timing.ts';
import { countChars } from '../text/count-chars.ts';
import { createOffsets } from '../text/flat-text.ts';
import type { MarkedText } from '../text/marked-text.ts';
import type { CaptionedText } from './captions.ts';

/** A stretch of the source and where it is in the text, in code points. */
interface Stretch {
  from: number;
  to: number;
  at: number;
  length: number;
}

export function toCaptioned({ source, items }: MarkedText, languageCode: string): CaptionedText {
  const runs = items.filter((item) => item.kind === 'run');
  const isPlain = runs.length === items.length && runs.length === 1 && runs[0]!.pieces[0]!.to === source.length;
  if (isPlain && !runs[0]!.isLiteral) return { text: source, languageCode };
  const offsetOf = createOffsets(source);
  const stretches: Stretch[] = [];
  let text = '';
  let chars = 0;
  const put = (shown: string) => {
    text += shown;
    chars += countChars(shown);
  };
  for (const item of items) {
    if (item.kind === 'pause') {
      if (!text.endsWith('\n')) put('\n');
      continue;
    }
    for (const { text: written, from, to } of item.pieces) {
      // Line ends of a document mean nothing.
      const shown = item.isLiteral ? written.replace(/\s/g, ' ') : written;
      stretches.push({ from: offsetOf(from), to: offsetOf(to), at: chars, length: countChars(shown) });
      put(shown);
    }
    if (item.breakAfter) put(item.breakAfter === 'paragraph' ? '\n\n' : ' ');
  }
  return { text, languageCode, locate: (word) => locate(word, stretches) };
}

function locate(word: TimedWord, stretches: readonly Stretch[]): TimedWord {
  const first = stretches.find(({ from, to }) => word.offset >= from && word.offset < to);
  const end = word.offset + word.length;
  const last = stretches.findLast(({ from, to }) => end > from && end <= to) ?? first;
  if (!first || !last) return { ...word, offset: 0, length: 0 };
  const offset = first.at + Math.min(word.offset - first.from, first.length);
  return { ...word, offset, length: Math.max(0, last.at + Math.min(end - last.from, last.length) - offset) };
}
