// Which chapters of a book are spoken, and in which voices: the flags of `sonant book` about chapters.
import type { BookChapter, BookPart } from '../books/book.ts';
import { bookParts } from '../books/book.ts';
import { countChars } from '../text/count-chars.ts';
import { formatTable, UsageError } from './command.ts';

/** A chapter with its number in the book, from 1. */
export interface ChosenChapter extends BookChapter {
  number: number;
}

/** `skip` is a list of parts, `numbers` one of numbers and ranges; both are as they were given. */
export function chooseChapters(
  chapters: readonly BookChapter[],
  { skip, numbers }: { skip: string | undefined; numbers: string | undefined },
): ChosenChapter[] {
  const skipped = parseParts(skip);
  const wanted = numbers === undefined ? undefined : parseNumbers('--chapters', numbers, chapters.length);
  const chosen = chapters
    .map((chapter, n) => ({ ...chapter, number: n + 1 }))
    .filter(({ part, number }) => !skipped.includes(part) && (wanted === undefined || wanted.has(number)));
  if (chosen.length === 0) throw new UsageError('no chapter is left to speak; --list prints all');
  return chosen;
}

function parseParts(given: string | undefined): BookPart[] {
  return (given ?? '').split(',').flatMap((name) => {
    const part = bookParts.find((each) => each === name.trim());
    if (!part && name.trim() !== '') throw new UsageError(`--skip ${name}: must be of ${bookParts.join(', ')}`);
    return part ?? [];
  });
}

/** "3-7,9" as a set. */
function parseNumbers(flag: string, given: string, count: number): Set<number> {
  const numbers = new Set<number>();
  for (const range of given.split(',')) {
    const [, from, dash, to] = /^\s*(\d{1,5})?\s*(-)?\s*(\d{1,5})?\s*$/.exec(range) ?? [];
    if (from === undefined && to === undefined) throw new UsageError(`${flag} ${given}: give numbers, such as 3-7,9`);
    const first = Number(from ?? 1);
    const last = dash ? Number(to ?? count) : first;
    if (first < 1 || last > count || first > last)
      throw new UsageError(`${flag} ${range}: the book has chapters 1 to ${count}; --list prints them`);
    for (let number = first; number <= last; number++) numbers.add(number);
  }
  return numbers;
}

export interface ChosenVoices {
  /** Of the book; undefined for the default. */
  usual: string | undefined;
  /** By the number of a chapter. */
  ofChapter: ReadonlyMap<number, string>;
}

/** `--voice amy` is for all, `--voice 3=bob` and `--voice 5-7=bob` for some chapters. */
export function parseVoices(given: readonly string[], count: number): ChosenVoices {
  const ofChapter = new Map<number, string>();
  let usual: string | undefined;
  for (const each of given) {
    const [, numbers, voice] = /^([\d\s,-]+)=(.+)$/.exec(each) ?? [];
    if (voice === undefined) usual = each;
    else for (const number of parseNumbers('--voice', numbers!, count)) ofChapter.set(number, voice);
  }
  return { usual, ofChapter };
}

const toListed = ({ number, part, text, title }: ChosenChapter) => ({ number, part, chars: countChars(text), title });

export const listChaptersAsJson = (chapters: readonly ChosenChapter[]): string =>
  JSON.stringify(chapters.map(toListed), null, 2);

export function listChapters(chapters: readonly ChosenChapter[]): string {
  const rows = chapters.map(toListed).map(({ number, part, chars, title }) => [`${number}`, part, `${chars}`, title]);
  return formatTable([['NUMBER', 'PART', 'CHARACTERS', 'TITLE'], ...rows]);
}
