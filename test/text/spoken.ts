// Provides, for the tests of spoken text, the complete spoken form of a text, and tables of expected results.
import { segmentText } from '../../src/text/segment.ts';

/** The complete spoken form of a text; paragraphs are separated by " / ". */
export const spoken = (text: string, languageCode = 'en-US', spellOut = true): string =>
  [...segmentText(text, { languageCode, spellOut, segmentCharsMax: 100_000 })]
    .map((cut) => cut.text + (cut.breakAfter === 'paragraph' ? ' / ' : ' '))
    .join('')
    .replace(/[ /]+$/, '');

export interface SpokenRow {
  subject: string;
  written: string;
  /** The correct spoken form, and the actual spoken form. */
  said: string;
  saidNow: string;
}

/** Lines of "written => spoken" under their "## subject"; a known deviation is "written => right ≠ spoken". */
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
