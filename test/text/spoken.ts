// What the tests of speakable text share: the whole of a text as it is spoken, and tables of what is to be spoken.
import { segmentText } from '../../src/text/segment.ts';

/** All that is spoken of a text; paragraphs are divided by " / ". */
export const spoken = (text: string, languageCode = 'en-US', spellOut = true): string =>
  [...segmentText(text, { languageCode, spellOut, segmentCharsMax: 100_000 })]
    .map((cut) => cut.text + (cut.breakAfter === 'paragraph' ? ' / ' : ' '))
    .join('')
    .replace(/[ /]+$/, '');

export interface SpokenRow {
  subject: string;
  written: string;
  /** What is right, and what is said. */
  said: string;
  saidNow: string;
}

/** Lines of "written => spoken" under their "## subject"; where something else is said, "written => right ≠ spoken". */
export function toRows(table: string): SpokenRow[] {
  let subject = '';
  return table.split('\n').flatMap((line) => {
    if (line.startsWith('## ')) subject = line.slice(3);
    const [written, said] = line.split(/ => ?/);
    if (written === undefined || said === undefined) return [];
    const [right = '', saidNow = right] = said.split(/ ≠ ?/);
    return [{ subject, written, said: right, saidNow }];
  });
}
