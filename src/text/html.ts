// HTML and SSML in input text: tag names, tags that end a paragraph or a table cell, and common named entities
// (https://html.spec.whatwg.org/#named-character-references).
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

/** Pairs of an entity name and its character. */
const visibleEntities = `
  amp & lt < gt > quot " apos ' copy © reg ® trade ™ hellip … mdash — ndash – minus − lsquo ‘ rsquo ’ ldquo “
  rdquo ” sbquo ‚ bdquo „ laquo « raquo » bull • middot · deg ° plusmn ± times × divide ÷ ne ≠ le ≤ ge ≥ asymp ≈
  infin ∞ radic √ sup1 ¹ sup2 ² sup3 ³ frac12 ½ frac14 ¼ frac34 ¾ micro µ permil ‰ euro € pound £ yen ¥ cent ¢
  curren ¤ sect § para ¶ dagger † larr ← rarr → uarr ↑ darr ↓ harr ↔ iexcl ¡ iquest ¿ ordf ª ordm º agrave à
  aacute á acirc â atilde ã auml ä aring å aelig æ ccedil ç egrave è eacute é ecirc ê euml ë iacute í icirc î iuml ï
  ntilde ñ oacute ó ocirc ô otilde õ ouml ö oslash ø uacute ú ucirc û uuml ü szlig ß Auml Ä Ouml Ö Uuml Ü Eacute É
  alpha α beta β gamma γ delta δ lambda λ mu μ pi π sigma σ omega ω Delta Δ Omega Ω
`;

const entities: ReadonlyMap<string, string> = new Map([
  ['nbsp', ' '],
  ['ensp', ' '],
  ['emsp', ' '],
  ['thinsp', ' '],
  ['shy', ''],
  ['zwj', ''],
  ['zwnj', ''],
  ...visibleEntities.matchAll(/(\w+) (\S)/g).map(([, name, char]) => [name!, char!] as const),
]);

const entityPattern = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([A-Za-z]\w{1,15}));/y;

/** The entity at `at`: its character and its length in the source; undefined if no entity begins there. */
export function entityAt(text: string, at: number): { stands: string; length: number } | undefined {
  const match = matchAt(entityPattern, text, at);
  if (!match) return undefined;
  const [{ length }, decimal, hex, name] = match;
  if (name !== undefined) {
    const stands = entities.get(name);
    return stands === undefined ? undefined : { stands, length };
  }
  const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
  return { stands: code > 0x10ffff ? '' : String.fromCodePoint(code), length };
}
