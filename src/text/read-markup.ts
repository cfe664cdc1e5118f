// The kinds of markup and their readers.
import { type MarkedText, plainText } from './marked-text.ts';
import { readPauseTags } from './pause-tags.ts';
import { isSsml, readSsml } from './ssml.ts';

/** `ssml`: text that begins like an SSML document is SSML. `pauses`: plain text may contain pause tags. */
export type MarkupKind = 'ssml' | 'pauses';

/** Throws a MarkupFault if the markup cannot be read. */
export function readMarkup(source: string, markup: MarkupKind | undefined): MarkedText {
  if (markup === 'pauses') return readPauseTags(source);
  return markup === 'ssml' && isSsml(source) ? readSsml(source) : plainText(source);
}
