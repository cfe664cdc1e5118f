// Finds where chapters begin by the headings of a document: at the level that has chapters, not at that of the book's title
// or of sections in a chapter.
import { type Block, charsOf } from './block.ts';
import { bookChaptersMax } from './book-limits.ts';
import { isBareNumber, isChapterTitle } from './chapter-titles.ts';
import type { ChapterStart } from './chapters.ts';

/** A title page has a name or two below its title. */
const titlePageCharsMax = 200;
const sentenceEnd = /[.!?…。！？][\p{Pe}\p{Pf}"']*\s*$/u;

interface Heading {
  at: number;
  level: number;
  text: string;
}

export function startsByHeadings(blocks: readonly Block[]): ChapterStart[] {
  const headings = blocks.flatMap(({ kind, level, text, isNote }, at): Heading[] =>
    kind === 'heading' && !isNote ? [{ at, level, text }] : [],
  );
  let depth = chooseDepth(headings);
  while (depth > 1 && countTo(headings, depth) > bookChaptersMax) depth--;
  const chosen = headings.filter(({ level }) => level <= depth).slice(0, bookChaptersMax);
  return chosen.map(({ at }, n) => ({ at, title: '', part: n === 0 ? partOfFirst(blocks, chosen) : undefined }));
}

const countTo = (headings: readonly Heading[], depth: number): number =>
  headings.filter(({ level }) => level <= depth).length;

function chooseDepth(headings: readonly Heading[]): number {
  for (let level = 6; level >= 1; level--) {
    const own = headings.filter((heading) => heading.level === level);
    const chapters = own.filter(({ text }) => isChapterTitle(text) || isBareNumber(text)).length;
    if (chapters >= 2 && chapters * 2 >= own.length) return level;
  }
  for (let level = 1; level <= 6; level++) if (countTo(headings, level) >= 2) return level;
  return headings.length > 0 ? 6 : 0;
}

/** The one heading above all others, with a name or two below it and no sentence, is a title page. */
function partOfFirst(blocks: readonly Block[], [first, second, ...more]: readonly Heading[]): ChapterStart['part'] {
  if (!first || !second || [second, ...more].some(({ level }) => level <= first.level)) return undefined;
  const below = blocks.slice(first.at + 1, second.at);
  const isTitlePage = charsOf(below) < titlePageCharsMax && !below.some(({ text }) => sentenceEnd.test(text));
  return isTitlePage ? 'front' : undefined;
}
