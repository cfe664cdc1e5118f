// Adds pauses between the paragraphs of a chapter, longer pauses around headings, and the longest pauses between
// scenes. An empty line ends a paragraph, and a separate line without words, such as `* * *`, ends a scene. Pauses that
// the markup states are left unchanged.
import type { PlannedCut } from '../../speech.ts';
import { readingPausesMs } from './job-limits.ts';

interface ReadingPauseOptions {
  /** Title of the chapter. A paragraph at the start that is a part of the title is a heading. */
  title: string;
  speakingRate: number;
}

type Place = keyof typeof readingPausesMs;

/** Maximum length of a heading, in UTF-16 units. */
const headingCharsMax = 100;
const blankLine = /\n[^\S\n]*\n/;
/** A separate line without words between two paragraphs. */
const lineApart = /\n[^\S\n]*\n[^\S\n]*[^\s\p{L}\p{N}][^\n\p{L}\p{N}]*\n[^\S\n]*\n/u;
/** Marks of headings: a line under a paragraph, or number signs before the next paragraph. */
const underline = /^[^\n]*\n {0,3}(?:=+|-+)[^\S\n]*\n/;
const numberSigns = /(?:^|\n) {0,3}#{1,6}[^\S\n]+$/;
const unpunctuatedEnd = /[\p{L}\p{N}][\p{Pe}\p{Pf}"']*\s*$/u;

export async function* withReadingPauses(
  cuts: AsyncIterable<PlannedCut>,
  { title, speakingRate }: ReadingPauseOptions,
): AsyncGenerator<PlannedCut, undefined> {
  const source = new WrittenText();
  const isHeading = createHeadingCheck(title);
  let held: PlannedCut | undefined;
  let isBegun = false;
  let paragraph = '';
  for await (const cut of cuts) {
    const { gap, own } = source.read(cut);
    const isMarked = numberSigns.test(gap);
    let pauseMs = 0;
    if (own !== '') {
      const ended = paragraph + gap.split('\n', 1)[0]!;
      const place = isBegun ? placeOf(gap, isHeading, ended) : undefined;
      if (place && cut.pauseBeforeMs === 0)
        pauseMs = readingPausesMs[place === 'paragraph' && isMarked ? 'heading' : place] / speakingRate;
      const begun = isMarked ? '# ' : '';
      const before = place || !isBegun ? begun : ended;
      paragraph = before.length <= headingCharsMax ? before + own : before;
      isBegun = true;
    }
    if (held) yield held.pauseAfterMs === 0 ? { ...held, pauseAfterMs: pauseMs } : held;
    held = pauseMs > 0 ? { ...cut, pauseBeforeMs: pauseMs } : cut;
  }
  if (held) yield held;
}

/** Returns the kind of break after a paragraph; undefined if the paragraph continues. */
function placeOf(gap: string, isHeading: (paragraph: string) => boolean, paragraph: string): Place | undefined {
  const isUnderlined = underline.test(gap);
  if (!isUnderlined && !blankLine.test(gap)) return undefined;
  const heads = isHeading(paragraph);
  if (lineApart.test(gap)) return 'scene';
  if (heads || (isUnderlined && isUnpunctuated(paragraph))) return 'heading';
  return isUnderlined ? 'scene' : 'paragraph';
}

const isUnpunctuated = (paragraph: string): boolean =>
  paragraph.length <= headingCharsMax && unpunctuatedEnd.test(paragraph);

/**
 * Returns a function that recognizes headings. The function must be called for each paragraph in order, because only
 * the first paragraphs of a chapter can be headings without marks.
 */
function createHeadingCheck(title: string): (paragraph: string) => boolean {
  const toWords = (text: string) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, ' ')
      .trim();
  const known = toWords(title);
  let isAtStart = true;
  return (paragraph) => {
    if (paragraph.startsWith('# ')) return true;
    const isShort = paragraph.length <= headingCharsMax;
    isAtStart &&= isShort && (isUnpunctuated(paragraph) || known.includes(toWords(paragraph)));
    return isAtStart;
  };
}

/** Reads the text of a chapter cut by cut. */
class WrittenText {
  #chunkIndex = -1;
  #chunk = '';
  /** End of the last words, in UTF-16 units and code points. */
  #index = 0;
  #offset = 0;
  #gap = '';

  /**
   * Returns the text between the previous words and the words of the cut, and the text of the cut. Both texts are empty
   * if the cut has no words.
   */
  read({ chunkIndex, chunk, cut }: PlannedCut): { gap: string; own: string } {
    if (chunkIndex !== this.#chunkIndex) {
      this.#gap += this.#chunk.slice(this.#index);
      [this.#chunkIndex, this.#chunk, this.#index, this.#offset] = [chunkIndex, chunk, 0, 0];
    }
    const [first, last] = [cut?.spans[0], cut?.spans.at(-1)];
    if (!first || !last) return { gap: '', own: '' };
    const gap = (this.#gap + this.#readTo(first.offset)).replace(/\r\n?/g, '\n');
    this.#gap = '';
    return { gap, own: this.#readTo(last.offset + last.length) };
  }

  /** Reads up to an offset. Reads nothing before the current offset, because two cuts may share a word. */
  #readTo(offset: number): string {
    const from = this.#index;
    for (; this.#offset < offset && this.#index < this.#chunk.length; this.#offset++)
      this.#index += this.#chunk.codePointAt(this.#index)! > 0xffff ? 2 : 1;
    return this.#chunk.slice(from, this.#index);
  }
}
