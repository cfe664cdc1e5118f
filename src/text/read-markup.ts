// The kinds of markup that a text may have, and how each is read.
import { type MarkedText, plainText } from './marked-text.ts';
import { readPauseTags } from './pause-tags.ts';
import { isSsml, readSsml } from './ssml.ts';

/** `ssml`: a text that begins as a document does is one; `pauses`: pause tags in plain text. */
export type MarkupKind = 'ssml' | 'pauses';

/** A MarkupFault where it cannot be read. */
export function readMarkup(source: string, markup: MarkupKind | undefined): MarkedText {
  if (markup === 'pauses') return readPauseTags(source);
  return markup === 'ssml' && isSsml(source) ? readSsml(source) : plainText(source);
}
