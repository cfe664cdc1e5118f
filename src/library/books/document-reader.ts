// Reads the text of an HTML or XHTML document in one pass, even if the document is malformed. The text excludes
// navigation, scripts, page numbers and references to notes. Only the base text of ruby is read.
import { Parser } from 'htmlparser2';
import type { Block, TextDocument } from './block.ts';
import type { BookPart } from './book.ts';
import { BookFault, elementDepthMax } from './book.ts';
import {
  blockTags,
  headingLevelOf,
  isHidden,
  isMainTag,
  isNoteBox,
  isPageFurniture,
  partOfAttributes,
  statesFormula,
  statesNoteReference,
} from './document-tags.ts';

/** A web page has navigation and other parts around its content; a document of a book does not. */
type DocumentKind = 'page' | 'chapter';

const anchorsMax = 100_000;

export function readDocument(source: string, kind: DocumentKind): TextDocument {
  const reader = new DocumentReader(kind);
  const parser = new Parser(
    {
      onopentag: (name, attributes) => reader.open(name, attributes),
      onclosetag: (name) => reader.close(name),
      ontext: (text) => reader.add(text),
    },
    { recognizeSelfClosing: kind === 'chapter', recognizeCDATA: kind === 'chapter' },
  );
  parser.end(source);
  return reader.end();
}

type Attributes = Readonly<Record<string, string>>;

interface Element {
  name: string;
  isSkipped: boolean;
  part: BookPart | undefined;
  isNote: boolean;
  isMain: boolean;
  isVerbatim: boolean;
  isRaised: boolean;
  /** Number of text pieces before the element, if it is a link or a superscript. */
  piecesBefore: number;
  isReference: boolean;
  hasFragment: boolean;
}

/** The table row that is being read. */
interface Row {
  element: Element;
  cells: string[];
}

const root: Element = {
  name: '',
  isSkipped: false,
  part: undefined,
  isNote: false,
  isMain: false,
  isVerbatim: false,
  isRaised: false,
  piecesBefore: 0,
  isReference: false,
  hasFragment: false,
};

const lineBreak = '\u2028';

class DocumentReader {
  #kind: DocumentKind;
  #stack: Element[] = [root];
  #pieces: string[] = [];
  /** Heading level of the current paragraph. */
  #level = 0;
  #isCode = false;
  #listed = '';
  #counters: (number | undefined)[] = [];
  /** Open table rows, innermost last, because a cell may contain a table. */
  #rows: Row[] = [];
  #title: string[] = [];
  #language = '';
  #meta = new Map<string, string>();
  #blocks: Block[] = [];
  #anchors = new Map<string, number>();

  constructor(kind: DocumentKind) {
    this.#kind = kind;
  }

  get #current(): Element {
    return this.#stack.at(-1)!;
  }

  open(name: string, attributes: Attributes): void {
    if (this.#stack.length > elementDepthMax)
      throw new BookFault('too_deep', `has elements nested more than ${elementDepthMax} levels deep`);
    const parent = this.#current;
    if (name === 'html' || name === 'body') this.#language ||= attributes['xml:lang'] ?? attributes.lang ?? '';
    if (name === 'meta') this.#readMeta(attributes);
    const isSkipped = parent.isSkipped || isHidden(name, attributes) || this.#isFurniture(name, attributes);
    if (blockTags.has(name) && !parent.isSkipped)
      isSkipped ? this.#endBlock(parent) : this.#startBlock(name, attributes);
    else if (isCell(name) && !parent.isSkipped) this.#endCell(parent);
    this.#anchor(name, attributes);
    const part = partOfAttributes(name, attributes) ?? parent.part;
    this.#stack.push({
      name,
      isSkipped,
      part,
      isNote: parent.isNote || isNoteBox(name, attributes),
      isMain: parent.isMain || isMainTag(name, attributes),
      isVerbatim: parent.isVerbatim || name === 'pre',
      isRaised: parent.isRaised || name === 'sup',
      piecesBefore: this.#pieces.length,
      isReference: name === 'a' && statesNoteReference(attributes),
      hasFragment: name === 'a' && (attributes.href ?? '').includes('#'),
    });
    if (this.#current.isSkipped) return;
    if (name === 'tr') this.#rows.push({ element: this.#current, cells: [] });
    else if (name === 'br') this.#pieces.push(lineBreak);
    else if (name === 'code' && parent.name === 'pre') this.#isCode = true;
    else if (name === 'img' && /^\p{L}$/u.test(attributes.alt ?? '')) this.#pieces.push(attributes.alt!);
    else if (statesFormula(name, attributes)) {
      this.#pieces.push(` ${attributes.alttext} `);
      this.#current.isSkipped = true;
    }
  }

  close(name: string): void {
    const element = this.#stack.length > 1 ? this.#stack.pop()! : root;
    if (element.isSkipped) return;
    if (name === 'a' || name === 'sup') this.#endReference(element);
    if (isCell(name)) this.#endCell(element);
    else if (name === 'tr') this.#endRow(element);
    else if (blockTags.has(name)) this.#endBlock(element);
    if (name === 'ol' || name === 'ul') this.#counters.pop();
    else if (name === 'li') this.#listed = '';
  }

  add(text: string): void {
    const element = this.#current;
    const isTitle = element.name === 'title' && !/^(svg|symbol|g)$/.test(this.#stack.at(-2)!.name);
    if (isTitle && this.#title.length < 20) this.#title.push(text);
    if (!element.isSkipped) this.#pieces.push(element.isVerbatim ? text.replace(/\r\n?|\n/g, lineBreak) : text);
  }

  end(): TextDocument {
    while (this.#stack.length > 1) this.close(this.#current.name);
    this.#endBlock(root);
    const title = this.#title.join('').replace(/\s+/g, ' ').trim();
    return { title, language: this.#language, meta: this.#meta, blocks: this.#blocks, anchors: this.#anchors };
  }

  #readMeta({ name, property, content }: Attributes): void {
    const key = (name ?? property ?? '').toLowerCase();
    if (key !== '' && content !== undefined && this.#meta.size < 200 && !this.#meta.has(key))
      this.#meta.set(key, content);
  }

  #isFurniture(name: string, attributes: Attributes): boolean {
    return isPageFurniture(name, attributes, {
      isPage: this.#kind === 'page',
      isInMain: this.#stack.some(({ isMain }) => isMain),
    });
  }

  #anchor(tag: string, { id, name }: Attributes): void {
    for (const anchor of [id, tag === 'a' ? name : undefined])
      if (anchor !== undefined && this.#anchors.size < anchorsMax && !this.#anchors.has(anchor))
        this.#anchors.set(anchor, this.#blocks.length);
  }

  #startBlock(name: string, attributes: Attributes): void {
    this.#endBlock(this.#current);
    this.#level = headingLevelOf(name, attributes);
    if (name === 'hr' || name === 'tr') this.#putRow();
    if (name === 'hr') this.#blocks.push(this.#toBlock('break', '', this.#current));
    else if (name === 'ol') this.#counters.push(isUnnumbered(attributes) ? undefined : Number(attributes.start ?? 1));
    else if (name === 'ul') this.#counters.push(undefined);
    else if (name === 'li') this.#listed = this.#nextNumber(attributes);
  }

  #nextNumber({ value }: Attributes): string {
    const number = value === undefined ? this.#counters.at(-1) : Number(value);
    if (number === undefined || !Number.isSafeInteger(number)) return '';
    this.#counters[this.#counters.length - 1] = number + 1;
    return `${number}. `;
  }

  /** Removes the text of a link or superscript that refers to a note. */
  #endReference({ name, piecesBefore, isReference, hasFragment, isRaised }: Element): void {
    const pieces = this.#pieces.slice(piecesBefore);
    const text = pieces.join('');
    if (text.length > 20 && !isReference) return;
    const before = this.#pieces.slice(Math.max(0, piecesBefore - 4), piecesBefore).join('');
    const raised = isRaised || isReference;
    const isOne = name === 'a' ? isNoteReference({ text, hasFragment, isRaised: raised, before }) : false;
    const isLoose = name === 'sup' && isRaisedReference(text, before);
    if (isReference || isOne || isLoose) this.#pieces.length = piecesBefore;
  }

  /** Ends a cell. A cell outside a row is a paragraph. */
  #endCell(element: Element): void {
    const row = this.#rows.at(-1);
    if (row) {
      const text = this.#takeText();
      if (text !== '') row.cells.push(text);
    } else this.#endBlock(element);
  }

  #endRow(element: Element): void {
    this.#endCell(element);
    this.#putRow();
    this.#rows.pop();
  }

  /** Emits the row read so far. Later cells start a new row. */
  #putRow(): void {
    const row = this.#rows.at(-1);
    if (!row || row.cells.length === 0) return;
    const { element, cells } = row;
    row.cells = [];
    const text = cells.length === 1 ? cells[0]! : `| ${cells.map((cell) => cell.replaceAll('\n', ' ')).join(' | ')} |`;
    this.#blocks.push(this.#toBlock('text', text, element));
  }

  #endBlock(element: Element): void {
    const isCode = this.#isCode;
    const text = isCode ? this.#takeVerbatim() : this.#takeText();
    const level = this.#level;
    this.#level = 0;
    this.#isCode = false;
    if (text === '') return;
    this.#putRow();
    const numbered = `${this.#listed}${text}`;
    this.#listed = '';
    const kind = isCode ? 'code' : level > 0 ? 'heading' : 'text';
    this.#blocks.push(this.#toBlock(kind, numbered, element, level));
  }

  #toBlock(kind: Block['kind'], text: string, { part, isNote, isMain }: Element, level = 0): Block {
    return { kind, level, text, part, isNote, isMain };
  }

  #takeText(): string {
    const joined = this.#takePieces();
    if (!/\S/.test(joined)) return '';
    return joined
      .replace(/[\u00ad\u200b\ufeff]/g, '')
      .replace(/[^\S\u2028]+/g, ' ')
      .replace(/ ?\u2028 ?/g, '\n')
      .replace(/\n{2,}/g, '\n')
      .replace(/(?<! ) +([,.])(?=\s|$)/g, '$1')
      .trim();
  }

  #takeVerbatim(): string {
    return this.#takePieces().replaceAll(lineBreak, '\n').replace(/^\n+/, '').trimEnd();
  }

  #takePieces(): string {
    const joined = this.#pieces.join('');
    this.#pieces = [];
    return joined;
  }
}

const isCell = (name: string): boolean => name === 'td' || name === 'th';

const isUnnumbered = ({ style = '', class: classes = '' }: Attributes): boolean =>
  /list-style[^;]{0,200}none/i.test(style) || /\b(none|nonumber|toc|plain|no-?list)\b/i.test(classes);

const bracketedPattern = /^[[({]\s*(?:\d{1,4}|[*†‡§¶]{1,3}|[a-z]|[ivxlc]{1,7})\s*[\])}]$/iu;
const barePattern = /^(?:\d{1,4}|[*†‡§¶]{1,3}|[a-z]|[ivxlc]{1,7})[.)]?$/iu;
const signPattern = /^[*†‡§¶]{1,3}$/u;
const backPattern = /^[[(]?[↩↵⤴⬆↑^←⏎]{1,2}[\ufe0e\ufe0f]?[\])]?$/u;

interface LinkText {
  text: string;
  /** Whether the link's URL has a fragment. */
  hasFragment: boolean;
  isRaised: boolean;
  /** The paragraph's text before the link. */
  before: string;
}

/**
 * Whether a link leads to a note or back from a note. A linked number at the start of a paragraph numbers the paragraph
 * and is not such a link.
 */
function isNoteReference({ text, hasFragment, isRaised, before }: LinkText): boolean {
  const marker = text.trim();
  if (!hasFragment || marker === '') return false;
  if (backPattern.test(marker)) return true;
  if (before.trim() === '') return false;
  if (bracketedPattern.test(marker) || signPattern.test(marker)) return true;
  if (!barePattern.test(marker)) return false;
  return isRaised || (/^\d/.test(marker) && /\S$/.test(before));
}

/** Whether a superscript without a link refers to a note. */
const isRaisedReference = (text: string, before: string): boolean =>
  before.trim() !== '' && (bracketedPattern.test(text.trim()) || signPattern.test(text.trim()));
