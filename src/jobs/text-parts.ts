// Divides the text of a chapter into parts that are stored and planned one by one, so that memory does not grow with the
// text. A part ends with a paragraph, else with a sentence, a line or a word; spaces stay with the part before them. The
// parts together are the text.
import { countChars, cutText } from '../text/count-chars.ts';
import { partCharsMax } from './limits.ts';

export interface TextPart {
  /** Where it is in the text, in code points. */
  offset: number;
  text: string;
}

/** Ends of a part, the best first; each matches up to where the next part begins. */
const ends = [/\r?\n[^\S\n]*\r?\n\s*/g, /[.!?…。！？][\p{Pe}\p{Pf}"']*\s+/gu, /\n\s*/g, /\s+/g];
const written = /\S/g;

/** The index of the next character that is no space, or the end of the text. */
function nextWritten(text: string, from: number): number {
  written.lastIndex = from;
  return written.exec(text)?.index ?? text.length;
}

export function* divideText(text: string, charsMax: number = partCharsMax): Generator<TextPart> {
  let offset = 0;
  for (let from = 0; from < text.length; ) {
    // Neither a part nor what is left may be blank: a blank text cannot be spoken.
    const begin = nextWritten(text, from);
    const end = endOfPart(text, begin, charsMax);
    const to = nextWritten(text, end) === text.length ? text.length : end;
    const part = text.slice(from, to);
    yield { offset, text: part };
    offset += countChars(part);
    from = to;
  }
}

function endOfPart(text: string, from: number, charsMax: number): number {
  if (text.length - from <= charsMax) return text.length;
  const window = text.slice(from, from + charsMax);
  for (const end of ends) {
    const at = [...window.matchAll(end)].at(-1);
    const length = at ? at.index + at[0].length : 0;
    if (length > charsMax / 2 && length < charsMax) return from + length;
  }
  return from + cutText(window, charsMax).length;
}
