// Reads and writes W3C pronunciation lexicons (PLS 1.0, https://www.w3.org/TR/pronunciation-lexicon/). Invalid XML
// throws a MarkupFault with line and column. Only XML's five entities are expanded, and nothing is fetched. The
// preferred or else the first pronunciation of a lexeme is used. Letter case is an attribute in Sonant's namespace.
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { findPhonemeFault } from '../../platform/ipa.ts';
import { toLanguageCode } from '../../platform/language-code.ts';
import type { Steps } from '../../platform/runtime/steps.ts';
import { toXml } from '../../platform/xml.ts';
import { type LexiconEntry, MarkupFault } from '../../text.ts';

const depthMax = 16;
const plsNamespace = 'http://www.w3.org/2005/01/pronunciation-lexicon';
const ownNamespace = 'urn:sonant:lexicon';
const xmlFaultPattern = /^\d+:\d+: (.*?)\.?$/s;

interface PlsLexicon {
  /** Content of `<meta name="title">`. */
  name: string | undefined;
  entries: LexiconEntry[];
}

export const readPls = (document: string, entriesMax: number): Steps<PlsLexicon> =>
  new PlsReader(document, entriesMax).read();

/** Number of UTF-16 units to parse per step. */
const stepLength = 2048;
/** Maximum number of UTF-16 units between two tags, because the parser stores each reference until the next tag. */
const untaggedMax = 65_536;

/** Allowed content of elements, by path. Other elements, such as metadata, may contain anything and are skipped. */
const contents: Readonly<Record<string, readonly string[]>> = {
  lexicon: ['meta', 'metadata', 'lexeme'],
  'lexicon/lexeme': ['grapheme', 'phoneme', 'alias', 'example'],
  'lexicon/lexeme/grapheme': [],
  'lexicon/lexeme/phoneme': [],
  'lexicon/lexeme/alias': [],
};

interface Lexeme {
  at: number;
  case: LexiconEntry['case'];
  graphemes: string[];
  pronounced: Pronounced | undefined;
}

type Pronounced = { isPreferred: boolean } & ({ alias: string } | { phoneme: string; alphabet: string });
type Attributes = Readonly<Record<string, string>>;

class PlsReader {
  readonly #document: string;
  readonly #entriesMax: number;
  readonly #open: { name: string; at: number; attributes: Attributes }[] = [];
  readonly #entries: LexiconEntry[] = [];
  #name: string | undefined;
  #lexicon: Attributes = {};
  #lexeme: Lexeme | undefined;
  #text = '';
  /** Position at which the last tag began or ended. */
  #tagAt = 0;

  constructor(document: string, entriesMax: number) {
    this.#document = document;
    this.#entriesMax = entriesMax;
  }

  *read(): Steps<PlsLexicon> {
    const parser = new SaxesParser({ xmlns: false, position: true });
    parser.on('error', ({ message }) => {
      const what = xmlFaultPattern.exec(message)?.[1] ?? message;
      const isTag = /^(?:unexpected close tag|unmatched closing tag|duplicate attribute)/.test(what);
      const isUnclosed = what.startsWith('unclosed tag');
      const noticed = Math.max(0, parser.position - 1);
      const at = isUnclosed ? (this.#open.at(-1)?.at ?? 0) : isTag ? this.#document.lastIndexOf('<', noticed) : noticed;
      this.#refuse(Math.max(0, at), what);
    });
    parser.on('doctype', () =>
      this.#refuse(this.#document.indexOf('<!DOCTYPE'), 'a document type declaration is not allowed'),
    );
    parser.on('opentag', (tag) => {
      this.#tagAt = this.#document.lastIndexOf('<', parser.position - 1);
      this.#openTag(tag, this.#tagAt);
    });
    parser.on('closetag', () => {
      this.#tagAt = parser.position;
      this.#closeTag();
    });
    const take = (text: string) => {
      this.#text += text;
    };
    parser.on('text', take);
    parser.on('cdata', take);
    for (let i = 0; i < this.#document.length; i += stepLength) {
      if (i - this.#tagAt > untaggedMax)
        this.#refuse(this.#tagAt, `more than ${untaggedMax} characters follow without another tag`);
      parser.write(this.#document.slice(i, i + stepLength));
      yield;
    }
    parser.close();
    return { name: this.#name, entries: this.#entries };
  }

  #refuse(at: number, what: string): never {
    throw new MarkupFault(this.#document, at, what);
  }

  #openTag({ name: qualified, attributes }: SaxesTagPlain, at: number): void {
    const name = localName(qualified);
    if (this.#open.length === 0 && name !== 'lexicon')
      this.#refuse(at, `the document must be a lexicon element, not ${name.slice(0, 40)}`);
    if (this.#open.length >= depthMax) this.#refuse(at, `elements are nested deeper than ${depthMax}`);
    const outer = this.#open.at(-1)?.name;
    this.#checkLoose();
    if (this.#known()?.includes(name) === false) this.#refuse(at, `${name.slice(0, 40)} is not allowed in ${outer}`);
    this.#text = '';
    this.#open.push({ name, at, attributes });
    if (outer === undefined) this.#lexicon = attributes;
    else if (name === 'meta' && attributes.name === 'title') this.#name = attributes.content;
    else if (name === 'lexeme' && outer === 'lexicon') {
      const letterCase = Object.entries(attributes).find(([key]) => key.endsWith(':case'))?.[1];
      const isInsensitive = letterCase === 'insensitive';
      this.#lexeme = { at, case: isInsensitive ? 'insensitive' : undefined, graphemes: [], pronounced: undefined };
    }
  }

  #known(): readonly string[] | undefined {
    return contents[this.#open.map(({ name }) => name).join('/')];
  }

  /** Rejects text between elements, because it would be lost. */
  #checkLoose(): void {
    if (!this.#known()?.length || this.#text.trim() === '') return;
    const { name, at } = this.#open.at(-1)!;
    this.#refuse(at, `${name} has text between its elements`);
  }

  #closeTag(): void {
    this.#checkLoose();
    const { name, at, attributes } = this.#open.pop()!;
    const text = this.#text.replace(/\s+/g, ' ').trim();
    this.#text = '';
    const lexeme = this.#lexeme;
    if (!lexeme) return;
    if (name === 'lexeme') this.#endLexeme(lexeme);
    else if (this.#open.at(-1)?.name !== 'lexeme') return;
    else if (name === 'grapheme') {
      if (text === '') this.#refuse(at, 'a grapheme must not be empty');
      lexeme.graphemes.push(text);
    } else if (name === 'alias' || name === 'phoneme') {
      if (text === '') this.#refuse(at, `the ${name} must not be empty`);
      const isPreferred = attributes.prefer === 'true';
      if (lexeme.pronounced && (lexeme.pronounced.isPreferred || !isPreferred)) return;
      const how = name === 'alias' ? { alias: text } : this.#toPhoneme(text, attributes, at);
      lexeme.pronounced = { isPreferred, ...how };
    }
  }

  #toPhoneme(phoneme: string, attributes: Attributes, at: number): { phoneme: string; alphabet: string } {
    const alphabet = (attributes.alphabet ?? this.#lexicon.alphabet ?? 'ipa').toLowerCase();
    if (alphabet !== 'ipa') this.#refuse(at, 'the alphabet must be ipa');
    const fault = findPhonemeFault(phoneme);
    if (fault !== undefined) this.#refuse(at, `the phoneme ${fault}`);
    return { phoneme, alphabet };
  }

  #endLexeme({ at, graphemes, pronounced, case: letterCase }: Lexeme): void {
    this.#lexeme = undefined;
    if (graphemes.length === 0) this.#refuse(at, 'a lexeme must have a grapheme');
    if (!pronounced) return;
    const { isPreferred: _, ...how } = pronounced;
    const language = this.#lexicon['xml:lang'];
    const languageCode = language === undefined ? undefined : toLanguageCode(language);
    if (language !== undefined && languageCode === undefined)
      this.#refuse(this.#document.indexOf('xml:lang'), 'xml:lang must be a BCP-47 language code such as en-US');
    for (const grapheme of graphemes) {
      if (this.#entries.length >= this.#entriesMax) this.#refuse(at, `more than ${this.#entriesMax} entries`);
      this.#entries.push({
        grapheme,
        ...how,
        ...(languageCode !== undefined && { languageCode }),
        ...(letterCase && { case: letterCase }),
      });
    }
  }
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

/**
 * Writes a document with the entries of one language, or the entries without a language. A PLS document has a single
 * language for all entries.
 */
export function writePls(name: string, entries: readonly LexiconEntry[], languageCode: string | undefined): string {
  const lexemes = entries.map(({ grapheme, alias, phoneme, alphabet, case: letterCase }) => {
    const attribute = letterCase === 'insensitive' ? ' sonant:case="insensitive"' : '';
    const stated = alphabet && alphabet !== 'ipa' ? ` alphabet="${alphabet}"` : '';
    const how =
      phoneme === undefined ? `<alias>${toXml(alias ?? '')}</alias>` : `<phoneme${stated}>${toXml(phoneme)}</phoneme>`;
    return `  <lexeme${attribute}><grapheme>${toXml(grapheme)}</grapheme>${how}</lexeme>\n`;
  });
  const language = languageCode === undefined ? '' : ` xml:lang="${toXml(languageCode)}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<lexicon version="1.0" xmlns="${plsNamespace}" xmlns:sonant="${ownNamespace}" alphabet="ipa"${language}>
  <meta name="title" content="${toXml(name)}"/>
${lexemes.join('')}</lexicon>
`;
}
