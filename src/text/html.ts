// HTML and SSML in input text: tag names, tags that end a paragraph or a table cell, and entities.
import { decodeHTMLStrict } from 'entities/decode';
import { matchAt, wordSet } from './rule.ts';

/** Tags that end a paragraph. */
export const blockTags = wordSet(`
  address article aside blockquote dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header
  hr li main nav ol option p paragraph pre section select summary table tbody tfoot thead title tr ul
`);

/** Tags that become a pause. */
export const cellTags = wordSet('td th break');

/** Other known tags. An unknown name in angle brackets is a word, as in "Dear <name>". */
export const inlineTags = wordSet(`
  a abbr acronym area audio b base bdi bdo big body br button canvas caption center cite code col colgroup data datalist
  del dfn dialog em embed emphasis font frame frameset head html i iframe img input ins kbd label legend lexicon link
  mark map meta meter noscript object output param phoneme picture progress prosody q rp rt ruby s samp say-as script
  sentence slot small source span speak strike strong style sub sup svg template textarea time tt u var video voice w wbr
`);

const entityPattern = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([A-Za-z]\w{1,31}));/y;

/** The entity at `at`: its character and its length in the source; undefined if no entity begins there. */
export function entityAt(text: string, at: number): { stands: string; length: number } | undefined {
  const match = matchAt(entityPattern, text, at);
  if (!match) return undefined;
  const [{ length }, decimal, hex, name] = match;
  if (name !== undefined) {
    const stands = decodeHTMLStrict(match[0]);
    return stands === match[0] ? undefined : { stands: /^[\u00ad\u200c\u200d]$/.test(stands) ? '' : stands, length };
  }
  const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
  return { stands: code > 0x10ffff ? '' : String.fromCodePoint(code), length };
}
