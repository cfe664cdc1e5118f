// Reads markup into marked text: SSML 1.1 (https://www.w3.org/TR/speech-synthesis11/) here, pause tags and vendors' tags
// in inline-tags.ts. Invalid XML is a fault with line and column. Unknown elements are spoken plainly and reported. Only
// character references and XML's five entities are expanded, and nothing is fetched. The caller must limit the length of
// the document.
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { createPauses, readPauseTags, readVendorTags } from './inline-tags.ts';
import {
  type Emphasis,
  type MarkedText,
  MarkedTextBuilder,
  MarkupFault,
  plainStyle,
  plainText,
  type RunStyle,
  type Said,
} from './marked-text.ts';
import { matchAt } from './rule.ts';
import {
  checkKnown,
  type Element,
  isUnspoken,
  readBreak,
  readEmphasis,
  readSaid,
  readStyle,
  ssmlNamespace,
} from './ssml-elements.ts';

const depthMax = 32;
const elementsMax = 5_000;
/** Maximum number of ignored markup names to report, and maximum length of a name. */
const ignoredMax = 20;
const ignoredNameCharsMax = 60;

/** Text that may precede the root element. */
const prologPattern = /\s+|\ufeff|<\?.*?\?>|<!--.*?-->/sy;
const documentPattern = /<(?:(?:[^\s<>/:="']{1,40}:)?speak[\s/>]|!DOCTYPE\s)/y;
const xmlFaultPattern = /^\d+:\d+: (.*?)\.?$/s;
const referencePattern = /&(?:#x([\da-fA-F]+)|#(\d+)|(amp|lt|gt|quot|apos));/g;
/** An ampersand that does not begin a reference, and the name after it. */
const badReferencePattern = /&(?!(?:#x[\da-fA-F]{1,8}|#\d{1,8}|amp|lt|gt|quot|apos);)[\w#-]{0,20};?/;
const [cdataStart, cdataEnd] = ['<![CDATA[', ']]>'] as const;
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Whether a text begins like an SSML document. */
export const isSsml = (text: string): boolean => matchAt(documentPattern, text, prologEnd(text)) !== null;

/** The end of the text that may precede the root element. */
export function prologEnd(text: string): number {
  let at = 0;
  for (let found = matchAt(prologPattern, text, 0); found; found = matchAt(prologPattern, text, at))
    at += found[0].length;
  return at;
}

/** Reads a document. Throws a MarkupFault if the document cannot be read. */
export const readSsml = (document: string): MarkedText => new SsmlReader(document).read();

/** An open element. */
interface Open {
  name: string;
  /** Start of the element's tag. */
  at: number;
  attributes: Readonly<Record<string, string>>;
  style: RunStyle;
  emphasis: Emphasis | undefined;
  isUnspoken: boolean;
  /** Set inside an element whose text is replaced in speech. */
  said: SaidText | undefined;
}

interface SaidText {
  said: Said;
  text: string;
  /** Start of the text, or of the tag if there is no text. */
  from: number;
  to: number;
}

class SsmlReader {
  readonly #document: string;
  readonly #builder: MarkedTextBuilder;
  readonly #addPause: (ms: number, at: number) => void;
  readonly #ignored = new Set<string>();
  readonly #open: Open[] = [];
  #elements = 0;
  /** Namespace of the root element. Any namespace is accepted as SSML. */
  #namespace: string | undefined;
  /** End of the last markup before the current text. */
  #end = 0;

  constructor(document: string) {
    this.#document = document;
    this.#builder = new MarkedTextBuilder(document, { isLiteral: true });
    this.#addPause = createPauses(document, (ms) => this.#builder.pause(ms));
  }

  read(): MarkedText {
    const parser = new SaxesParser({ xmlns: false, position: true });
    parser.on('error', ({ message }) => {
      throw this.#toFault(xmlFaultPattern.exec(message)?.[1] ?? message, parser.position);
    });
    parser.on('doctype', () => {
      const at = this.#document.indexOf('<!DOCTYPE');
      throw new MarkupFault(this.#document, at, 'a document type declaration is not allowed');
    });
    parser.on('opentag', (tag) => this.#openTag(tag, parser.position));
    parser.on('closetag', () => this.#closeTag(parser.position));
    parser.on('text', () => this.#text(this.#end, parser.position - 1));
    parser.on('cdata', () => this.#cdata(parser.position));
    const skip = () => {
      this.#end = this.#document.indexOf('>', parser.position - 1) + 1;
    };
    parser.on('comment', skip);
    parser.on('processinginstruction', skip);
    parser.write(this.#document).close();
    return this.#builder.build([...this.#ignored]);
  }

  /** Creates a fault at its real position. The parser may notice a fault at a later position. */
  #toFault(what: string, noticedAt: number): MarkupFault {
    const pending = this.#document.slice(this.#end, noticedAt);
    const bare = badReferencePattern.exec(pending);
    if (bare)
      return new MarkupFault(this.#document, this.#end + bare.index, `${bare[0]} is not a reference; write &amp;`);
    if (what.startsWith('unclosed tag')) return new MarkupFault(this.#document, this.#open.at(-1)?.at ?? 0, what);
    const isTag = /^(?:unexpected close tag|unmatched closing tag|duplicate attribute)/.test(what);
    const at = isTag ? this.#document.lastIndexOf('<', noticedAt - 1) : noticedAt - 1;
    return new MarkupFault(this.#document, Math.max(0, at), what);
  }

  readonly #report = (what: string): void => {
    const name = what.replace(/[^\w:.-]/g, '?').slice(0, ignoredNameCharsMax);
    if (this.#ignored.size < ignoredMax) this.#ignored.add(name);
  };

  /** Removes the prefix from a name if the prefix stands for the namespace of SSML or of the root element. */
  #nameOf(written: string, attributes: Element['attributes']): string {
    const [, prefix, local = written] = /^([^:]+):(.+)$/su.exec(written) ?? [];
    const scopes = [...this.#open.map((open) => open.attributes), attributes];
    const namespace =
      prefix === undefined ? ssmlNamespace : scopes.findLast((each) => each[`xmlns:${prefix}`])?.[`xmlns:${prefix}`];
    if (this.#open.length === 0) this.#namespace = namespace;
    if (this.#open.length === 0 && namespace !== ssmlNamespace) this.#report('speak.xmlns');
    return namespace === ssmlNamespace || namespace === this.#namespace ? local : written;
  }

  #openTag({ name: written, attributes }: SaxesTagPlain, end: number): void {
    const at = this.#document.lastIndexOf('<', end - 1);
    const outer = this.#open.at(-1);
    const refuse = (what: string): never => {
      throw new MarkupFault(this.#document, at, what);
    };
    const name = this.#nameOf(written, attributes);
    if (!outer && name !== 'speak') refuse(`the document must be a speak element, not ${name.slice(0, 40)}`);
    if (this.#open.length >= depthMax) refuse(`elements are nested deeper than ${depthMax}`);
    if (++this.#elements > elementsMax) refuse(`more than ${elementsMax} elements`);
    this.#end = end;
    const inner: Open = outer
      ? { ...outer, name, at, attributes }
      : { name, at, attributes, style: plainStyle, emphasis: undefined, isUnspoken: false, said: undefined };
    this.#open.push(inner);
    const element = { name, attributes, at };
    if (!inner.isUnspoken) this.#begin(element, inner);
  }

  #begin(element: Element, inner: Open): void {
    const { name, at } = element;
    checkKnown(element, this.#report);
    inner.isUnspoken = isUnspoken(name);
    // Text that is replaced in speech cannot contain elements other than marks.
    if (inner.said) {
      if (name !== 'mark') this.#report(name);
      else this.#mark(element);
      return;
    }
    inner.style = readStyle(element, inner.style, this.#report);
    this.#builder.setStyle(inner.style);
    if (name === 'p') this.#builder.end('paragraph');
    else if (name === 's') this.#builder.end('sentence');
    else if (name === 'mark') this.#mark(element);
    else if (name === 'emphasis') inner.emphasis = readEmphasis(element, this.#report);
    else if (name === 'break') {
      const ms = readBreak(element, this.#report);
      if (ms > 0) this.#addPause(ms, at);
    } else if (name === 'sub' || name === 'say-as' || name === 'phoneme') {
      const said = readSaid(element, this.#report);
      if (said) inner.said = { said, text: '', from: at, to: this.#end };
    }
  }

  #mark({ attributes: { name }, at }: Element): void {
    if (!name) this.#report('mark');
    else this.#builder.add({ text: '', from: at, to: at, mark: name });
  }

  #closeTag(end: number): void {
    const { name, said } = this.#open.pop()!;
    const outer = this.#open.at(-1);
    this.#end = end;
    if (said && outer?.said !== said) this.#endSaid(name, said, outer?.emphasis);
    if (outer?.said || outer?.isUnspoken) return;
    if (name === 'p') this.#builder.end('paragraph');
    if (name === 's') this.#builder.end('sentence');
    this.#builder.setStyle(outer?.style ?? plainStyle);
  }

  #endSaid(name: string, { said, text, from, to }: SaidText, emphasis: Emphasis | undefined): void {
    const hasText = text.trim() !== '';
    if (hasText || said.kind === 'alias') this.#builder.add({ text, from, to, said, ...(emphasis && { emphasis }) });
    else this.#report(name);
  }

  /** Adds the text between two tags, which may contain references. */
  #text(from: number, to: number): void {
    let at = from;
    const raw = this.#document.slice(from, to);
    for (const { 0: reference, 1: hex, 2: decimal, 3: entity, index } of raw.matchAll(referencePattern)) {
      this.#add(this.#document.slice(at, from + index), at, from + index);
      at = from + index + reference.length;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      this.#add(entity === undefined ? String.fromCodePoint(code) : entities[entity]!, at - reference.length, at);
    }
    this.#add(this.#document.slice(at, to), at, to);
    this.#end = to;
  }

  #cdata(end: number): void {
    const from = this.#document.indexOf(cdataStart, this.#end) + cdataStart.length;
    const to = end - cdataEnd.length;
    this.#add(this.#document.slice(from, to), from, to);
    this.#end = end;
  }

  #add(text: string, from: number, to: number): void {
    const within = this.#open.at(-1);
    if (text === '' || !within || within.isUnspoken) return;
    const { said, emphasis } = within;
    if (!said) this.#builder.add({ text, from, to, ...(emphasis && { emphasis }) });
    else {
      if (said.text === '') said.from = from;
      said.text += text;
      said.to = to;
    }
  }
}

/**
 * `document`: the text is an SSML document. `ssml`: text that begins like an SSML document is SSML. `pauses`: plain text
 * may contain pause tags. `vendor`: plain text may contain the tags of vendors' APIs; callers of Sonant's own API cannot
 * ask for it.
 */
export type MarkupKind = 'document' | 'ssml' | 'pauses' | 'vendor';

/** Throws a MarkupFault if the markup cannot be read. */
export function readMarkup(source: string, markup: MarkupKind | undefined): MarkedText {
  if (markup === 'pauses') return readPauseTags(source);
  if (markup === 'vendor') return readVendorTags(source);
  return markup === 'document' || (markup === 'ssml' && isSsml(source)) ? readSsml(source) : plainText(source);
}
