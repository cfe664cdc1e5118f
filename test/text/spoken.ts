// What the tests of speakable text share: the whole of a text as it is spoken, and tables of what is to be spoken.
import { segmentText } from '../../src/text/segment.ts';

/** All that is spoken of a text; paragraphs are divided by " / ". */
export const spoken = (text: string, languageCode = 'en-US', spellOut = true): string =>
  [...segmentText(text, { languageCode, spellOut, segmentCharsMax: 100_000 })].map((cut) => cut.text).join(' / ');

/** Lines of "written => spoken" under their "## subject". */
export function toRows(table: string): { subject: string; written: string; said: string }[] {
  let subject = '';
  return table.split('\n').flatMap((line) => {
    if (line.startsWith('## ')) subject = line.slice(3);
    const [written, said] = line.split(/ => ?/);
    return written === undefined || said === undefined ? [] : [{ subject, written, said }];
  });
}
