// The kinds of markup and their readers.
import { readPauseTags, readVendorTags } from './inline-tags.ts';
import { type MarkedText, plainText } from './marked-text.ts';
import { isSsml, readSsml } from './ssml.ts';

/**
 * `ssml`: text that begins like an SSML document is SSML. `pauses`: plain text may contain pause tags. `vendor`: plain
 * text may contain the tags of vendors' APIs; callers of Sonant's own API cannot ask for it.
 */
export type MarkupKind = 'ssml' | 'pauses' | 'vendor';

/** Throws a MarkupFault if the markup cannot be read. */
export function readMarkup(source: string, markup: MarkupKind | undefined): MarkedText {
  if (markup === 'pauses') return readPauseTags(source);
  if (markup === 'vendor') return readVendorTags(source);
  return markup === 'ssml' && isSsml(source) ? readSsml(source) : plainText(source);
}
