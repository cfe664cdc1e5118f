// Finds what a writer marked in a paragraph: Markdown (https://spec.commonmark.org/0.31.2/, section 6) and HTML tags.
// ssml.ts reads the markup that controls speech. Each UTF-16 unit is kept, silent or a pause. Delimiters, link targets,
// tag names and attributes, comments and footnote marks are silent. A scan takes one pass, because the length of every
// construct is bounded.
import { blockTags, cellTags, inlineTags } from './html.ts';
import { formulaEnd } from './latex.ts';
import { matchAt } from './rule.ts';

/** Treatment of a unit. `literal` units are kept without decoding entities. */
export const mark = Object.freeze({ keep: 0, silent: 1, space: 2, comma: 3, paragraph: 4, literal: 5, formula: 6 });

const specialPattern = /[\\`<[\]*_~|$【¹²³⁴-⁹]/;
const nextSpecialPattern = /[\\`<[\]*_~|$【¹²³⁴-⁹]/g;
/** A web address, up to a sign of markup. */
export const addressPattern = /(?:\bhttps?:\/\/|\bwww\.)[^\s<>"`*\]|]+/gi;
/** An attribute must have a value or a known boolean name, so <i am> is not a tag. */
const attributeSource = String.raw`\s+(?:[\w:@.-]{1,60}\s{0,3}=\s{0,3}(?:"[^"<]{0,1000}"|'[^'<]{0,1000}'|[^\s"'<>=]{1,1000})|(?:async|autoplay|checked|controls|defer|disabled|hidden|loop|muted|open|readonly|required|selected)(?=[\s/>]))`;
const tagPattern = new RegExp(`<(/?)([A-Za-z][\\w:-]{0,40})((?:${attributeSource}){0,40})\\s{0,3}(/?)>`, 'y');
const autolinkPattern = /<(?:[A-Za-z][\w+.-]{1,30}:[^\s<>]{1,2000}|[\w.+-]{1,64}@[\w.-]{1,255})>/y;
const targetPattern =
  /\([ \t]{0,3}(?:<[^<>\n]{0,1000}>|[^\s()<>]{0,1000}(?:\([^\s()]{0,500}\)[^\s()]{0,500}){0,4})(?:\s{1,3}(?:"[^"]{0,500}"|'[^']{0,500}'))?[ \t]{0,3}\)/y;
const referencePattern = /\[[^\][]{0,200}\]/y;
const footnotePattern = /\[\^[^\]\s]{1,40}\]:?/y;
/** Marks of sources: [1], [2, 3], 【4†source】, and ¹ after a mark. */
const sourcePattern =
  /\[\d{1,3}(?:(?:, ?|[-–])\d{1,3}){0,5}\](?![({:])|【\d[^】\n]{0,80}】|(?<=[.,;:!?…"”»])[¹²³⁴-⁹][⁰¹²³⁴-⁹]?(?=\s|$)/y;
const wordPattern = /[\p{L}\p{N}]/u;

interface Delimiters {
  at: number;
  count: number;
}

/** Returns one mark per unit of `raw`; undefined if `raw` has no markup. */
export function markMarkup(raw: string, table: boolean): Uint8Array | undefined {
  return specialPattern.test(raw) ? new MarkupScan(raw, table).run() : undefined;
}

/** An HTML tag that has not been closed. */
const openTagPattern = /<\/?[A-Za-z][^<>]{0,500}$/;

/** Whether `raw` ends inside markup that further text may continue. */
export function hasOpenMarkup(raw: string): boolean {
  if (!specialPattern.test(raw)) return false;
  const comment = raw.lastIndexOf('<!--');
  if (openTagPattern.test(raw) || (comment >= 0 && !raw.includes('-->', comment + 4))) return true;
  const scan = new MarkupScan(raw, false);
  scan.run();
  return scan.isOpen;
}

/** Scans one paragraph. */
class MarkupScan {
  readonly #raw: string;
  readonly #table: boolean;
  readonly #marks: Uint8Array;
  readonly #brackets: number[] = [];
  readonly #open: Record<string, Delimiters[]> = { '*': [], _: [], '~': [] };
  /** Lengths of backquote runs that no later run closes. */
  readonly #unclosed = new Set<number>();

  constructor(raw: string, table: boolean) {
    this.#raw = raw;
    this.#table = table;
    this.#marks = new Uint8Array(raw.length);
  }

  /** Whether code, a link or emphasis is still open after `run`. */
  get isOpen(): boolean {
    const delimiters = Object.values(this.#open).some((open) => open.length > 0);
    return delimiters || this.#unclosed.size > 0 || this.#brackets.length > 0;
  }

  run(): Uint8Array {
    // Underscores and tildes in a URL are not markup.
    for (const { 0: address, index } of this.#raw.matchAll(addressPattern)) {
      this.#set(index, index + address.length, mark.literal);
    }
    for (let at = 0; ; ) {
      nextSpecialPattern.lastIndex = at;
      const special = nextSpecialPattern.exec(this.#raw);
      if (!special) return this.#marks;
      at = this.#marks[special.index] === mark.keep ? this.#read(special.index) : special.index + 1;
    }
  }

  /** Reads the construct at `at`, and returns the index after it. */
  #read(at: number): number {
    if (this.#raw[at]! > '~') return this.#source(at) ?? at + 1;
    switch (this.#raw[at]) {
      case '\\':
        return this.#formula(at) ?? this.#escape(at);
      case '$':
        return this.#formula(at) ?? at + 1;
      case '`':
        return this.#code(at);
      case '<':
        return this.#tag(at);
      case '[':
        return this.#openBracket(at);
      case ']':
        return this.#closeBracket(at);
      case '|':
        if (this.#table) this.#marks[at] = this.#raw.slice(at + 1).trim() === '' ? mark.silent : mark.comma;
        return at + 1;
      default:
        return this.#emphasis(at);
    }
  }

  #formula(at: number): number | undefined {
    const end = formulaEnd(this.#raw, at);
    if (end !== undefined) this.#set(at, end, mark.formula);
    return end;
  }

  /** A mark of a source follows a space, a mark or a whole word, unlike the index in a[1]. */
  #source(at: number): number | undefined {
    const source = matchAt(sourcePattern, this.#raw, at);
    const before = this.#raw.slice(Math.max(0, at - 3), at);
    const isMark = /[^\p{L}\p{N}]$|(?:^|[\s\p{L}])\p{L}\p{Ll}$/u.test(before);
    if (!source || !isMark || !/\S/.test(this.#raw.slice(0, at))) return undefined;
    if (before.endsWith('^')) at--;
    const end = source.index + source[0].length;
    this.#set(at, end, mark.silent);
    return end;
  }

  #escape(at: number): number {
    if (!/[!-/:-@[-`{-~]/.test(this.#raw[at + 1] ?? '')) return at + 1;
    this.#marks[at] = mark.silent;
    this.#marks[at + 1] = mark.literal;
    return at + 2;
  }

  #code(at: number): number {
    const length = this.#runLength(at);
    if (this.#unclosed.has(length)) return at + length;
    for (let close = at + length; ; ) {
      close = this.#raw.indexOf('`', close);
      if (close < 0) break;
      const closeLength = this.#runLength(close);
      if (closeLength === length) {
        this.#set(at, at + length, mark.silent);
        this.#set(at + length, close, mark.literal);
        this.#set(close, close + length, mark.silent);
        return close + length;
      }
      close += closeLength;
    }
    this.#unclosed.add(length);
    return at + length;
  }

  #tag(at: number): number {
    if (this.#raw.startsWith('<!--', at)) {
      const end = this.#raw.indexOf('-->', at + 4);
      if (end < 0) return at + 4;
      this.#set(at, end + 3, mark.silent);
      return end + 3;
    }
    const autolink = matchAt(autolinkPattern, this.#raw, at);
    if (autolink) {
      const end = at + autolink[0].length;
      this.#set(at, end, mark.literal);
      this.#marks[at] = this.#marks[end - 1] = mark.space;
      return end;
    }
    const tag = matchAt(tagPattern, this.#raw, at);
    if (!tag) return at + 1;
    const [{ length }, closing, name, attributes, closed] = tag;
    const known = name!.toLowerCase();
    const block = blockTags.has(known);
    const cell = cellTags.has(known);
    if (!block && !cell && !inlineTags.has(known) && !closing && !closed && !attributes!.includes('=')) return at + 1;
    this.#set(at, at + length, mark.silent);
    if (block) this.#marks[at] = mark.paragraph;
    else if (cell) this.#marks[at] = mark.comma;
    else if (known === 'br') this.#marks[at] = mark.space;
    return at + length;
  }

  #openBracket(at: number): number {
    const footnote = matchAt(footnotePattern, this.#raw, at);
    if (footnote) {
      this.#set(at, at + footnote[0].length, mark.silent);
      return at + footnote[0].length;
    }
    const source = this.#source(at);
    if (source !== undefined) return source;
    this.#brackets.push(at);
    return at + 1;
  }

  #closeBracket(at: number): number {
    const open = this.#brackets.pop();
    // A bracket after a letter or digit is an index, as in a[1](x), not a link.
    if (open === undefined || (open > 0 && wordPattern.test(this.#raw[open - 1]!))) return at + 1;
    const target =
      matchAt(targetPattern, this.#raw, at + 1) ??
      (/\p{L}/u.test(this.#raw.slice(open, Math.min(at, open + 200)))
        ? matchAt(referencePattern, this.#raw, at + 1)
        : null);
    if (!target) return at + 1;
    if (this.#raw[open - 1] === '!') this.#marks[open - 1] = mark.silent;
    const end = at + 1 + target[0].length;
    this.#marks[open] = mark.silent;
    this.#set(at, end, mark.silent);
    return end;
  }

  /**
   * Emphasis opens before a word and closes after a word. A delimiter between letters or digits is an operator or part
   * of a name.
   */
  #emphasis(at: number): number {
    const char = this.#raw[at]!;
    const length = this.#runLength(at);
    const end = at + length;
    if (length > 3 || (char === '~' && length !== 2)) return end;
    const before = this.#raw[at - 1] ?? ' ';
    const after = this.#raw[end] ?? ' ';
    const open = this.#open[char]!;
    const opener = open.at(-1);
    const inWord = wordPattern.test(before) && wordPattern.test(after) && (char === '_' || length === 1);
    if (opener && !/\s/.test(before) && !inWord) {
      const count = Math.min(opener.count, length);
      this.#set(opener.at + opener.count - count, opener.at + opener.count, mark.silent);
      this.#set(at, at + count, mark.silent);
      opener.count -= count;
      if (opener.count === 0) open.pop();
    } else if (!/\s/.test(after) && !wordPattern.test(before)) {
      open.push({ at, count: length });
    }
    return end;
  }

  #runLength(at: number): number {
    let end = at + 1;
    while (this.#raw[end] === this.#raw[at]) end++;
    return end - at;
  }

  #set(from: number, to: number, value: number): void {
    this.#marks.fill(value, from, to);
  }
}
