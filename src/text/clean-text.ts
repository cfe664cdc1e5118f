// Removes markup, emoji, control characters, terminal escape sequences (ECMA-48) and lone surrogates from a paragraph,
// and collapses white space. Every UTF-16 unit of the result maps to a range of the source. If `fold` is true,
// compatibility forms (NFKC), quotes, and the digits and punctuation of every script become ASCII.
import anyAscii from 'any-ascii';
import { entityAt } from './html.ts';
import { symbols } from './language-table.ts';
import { readFormula } from './latex.ts';
import { mark } from './markdown.ts';
import { matchAt } from './rule.ts';

interface CleanText {
  /** Words separated by one space, or by a line feed where the markup ends a paragraph. */
  text: string;
  /** For each unit of `text`, the start of its range in the source. */
  from: readonly number[];
  to: readonly number[];
}

/** Maximum number of repetitions of a symbol. Further repetitions are dropped. */
const symbolRunMax = 3;

const pausePattern = /[\p{P}\n]\s*$/u;
const letterPattern = /[\p{L}\p{M}]/u;
const plainPattern = /[\p{L}\p{N}\s]/u;
const emojiPattern = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]/u;
/** Characters that Unicode classifies as pictographs, but that are used as text. */
const textualPattern = /[©®™‼⁉ℹ↔-↙↩↪♩-♯]/u;
/** What may follow a closing mark with a space before it. */
const closingPattern = /^[\s»›"”)\]!?.,;]?$/u;
const markPattern = /\p{M}/u;
const joinerPattern = /[\u200c\u200d]/;
const keycapPattern = /[0-9#*]\ufe0f?\u20e3/y;
/** A terminal control sequence, such as a colour change. */
const terminalPattern = /\u001b\[[0-?]{0,40}[ -/]{0,4}[@-~]/y;

/** Cleans the range of `chunk` from `from` to `to`; `marks` classifies its markup. */
export function cleanText(chunk: string, from: number, to: number, marks: Uint8Array | undefined, fold: boolean) {
  const clean = new CleanTextBuilder();
  for (let at = from; at < to; ) {
    const kind = marks?.[at - from] ?? mark.keep;
    const code = chunk.charCodeAt(at);
    let next = at + 1;
    if (kind === mark.space) clean.put(' ', at, next);
    else if (kind === mark.paragraph) clean.put('\n', at, next);
    else if (kind === mark.comma) clean.pause(at, next);
    else if (kind === mark.formula) {
      while (next < to && marks![next - from] === mark.formula) next++;
      for (const char of readFormula(chunk.slice(at, next))) clean.put(fold ? char : char.replace('⁄', '/'), at, next);
    } else if (kind !== mark.silent) {
      if (clean.last === ' ' && /[»›!?;]/.test(chunk[at]!) && closingPattern.test(chunk.slice(next, next + 1)))
        clean.closeGap(chunk[at]!);
      if (code < 0x80) next = putAscii(clean, chunk, at, kind === mark.literal, fold);
      else next = putOther(clean, chunk, at, fold);
      // The space inside « quotation marks ».
      if (code >= 0x80 && /[«‹]/.test(chunk[at]!) && /^[(\s]?$/.test(chunk.slice(Math.max(from, at - 1), at)))
        while (next < to && /[^\S\n]/.test(chunk[next]!)) next++;
    }
    at = next;
  }
  return clean.end();
}

function putAscii(clean: CleanTextBuilder, chunk: string, at: number, literal: boolean, fold: boolean): number {
  const char = chunk[at]!;
  const afterCode = chunk.charCodeAt(at + 1);
  if (afterCode === 0xfe0f || afterCode === 0x20e3) {
    const keycap = matchAt(keycapPattern, chunk, at);
    if (keycap) {
      const end = at + keycap[0].length;
      if (char >= '0' && char <= '9') clean.put(char, at, end);
      clean.put(' ', end, end);
      return end;
    }
  }
  if (char === '&' && !literal) {
    const entity = entityAt(chunk, at);
    if (entity) {
      const end = at + entity.length;
      for (const stands of entity.stands) clean.put(replaced(stands, fold), at, end);
      return end;
    }
  }
  if (char === '\u001b') return at + (matchAt(terminalPattern, chunk, at)?.[0].length ?? 1);
  if (char > ' ' && char !== '\u007f') clean.put(char, at, at + 1);
  else if (/\s/.test(char)) clean.put(' ', at, at + 1);
  return at + 1;
}

function putOther(clean: CleanTextBuilder, chunk: string, at: number, fold: boolean): number {
  const char = String.fromCodePoint(chunk.codePointAt(at)!);
  let end = at + char.length;
  if (joinerPattern.test(char)) {
    // A joiner between letters shapes the word in many scripts; any other joiner is noise.
    const between = !fold && letterPattern.test(clean.last) && letterPattern.test(chunk[end] ?? '');
    if (between) clean.put(char, at, end);
    return end;
  }
  if (markPattern.test(char) && clean.compose(char, end)) return end;
  const isEmoji = chunk[end] === '\ufe0f' && emojiPattern.test(char);
  if (chunk[end] === '\ufe0f') end++;
  clean.put(isEmoji ? ' ' : replaced(char, fold), at, end);
  return end;
}

const folded = new Map<string, string>();
const unfolded = new Map<string, string>();
/** Maximum number of characters in each cache. */
const cachedCharsMax = 20_000;

/** The replacement of `char` in clean text: itself, other characters, or nothing. */
function replaced(char: string, fold: boolean): string {
  const known = fold ? folded : unfolded;
  let stands = known.get(char);
  if (stands === undefined) {
    stands = replace(char, fold);
    if (known.size >= cachedCharsMax) known.clear();
    known.set(char, stands);
  }
  return stands;
}

function replace(char: string, fold: boolean): string {
  if (/[\p{Z}\s\u0085]/u.test(char)) return ' ';
  if (/[\p{C}\p{Variation_Selector}\ufffc\ufffd]|\u20e3/u.test(char)) return '';
  if (emojiPattern.test(char) && !textualPattern.test(char)) return ' ';
  if (fold) return foldings.get(char) ?? foldByKind(char);
  // Styled letters and digits become plain for every engine. Other characters are unchanged.
  const plain = /[\p{L}\p{Nd}]/u.test(char) ? char.normalize('NFKC') : char;
  return plain.startsWith(' ') ? char : plain;
}

function foldByKind(char: string): string {
  if (/\p{Nd}/u.test(char)) return anyAscii(char);
  // Numerals of other scripts, such as ፴ and 𐄍.
  if (/[\p{Nl}\p{No}]/u.test(char) && char.normalize('NFKC') === char) return ` ${anyAscii(char) || 'number'} `;
  if (/[\p{L}\p{N}\p{So}\p{Sc}\p{P}\p{Sm}]/u.test(char) && !/[ªº¹²³⁰-⁻ⁿ¼-¾⅐-⅟↉©®™℠]/u.test(char)) {
    const plain = char.normalize('NFKC');
    // A circled number is a separate word.
    return plain.startsWith(' ') ? char : /(?![₀-₉])\p{No}/u.test(char) ? `${plain} ` : plain;
  }
  return char;
}

/** Punctuation of other scripts and its ASCII form. */
const foldings = new Map(symbols.foldings.flatMap(([chars, stands]) => [...chars].map((char) => [char, stands])));

class CleanTextBuilder {
  #text = '';
  #last = '';
  #run = 0;
  readonly #from: number[] = [];
  readonly #to: number[] = [];

  /** The last character that was written. */
  get last(): string {
    return this.#last;
  }

  put(chars: string, from: number, to: number): void {
    if (chars.length > 1 && !/[\uD800-\uDBFF]/.test(chars)) {
      for (const char of chars) this.#putOne(char, from, to);
    } else if (chars !== '') this.#putOne(chars, from, to);
  }

  /**
   * Composes the last character and a combining mark into one character (NFC). Returns false if there is no composed
   * form.
   */
  compose(sign: string, to: number): boolean {
    const composed = (this.#last + sign).normalize('NFC');
    if (this.#last.length !== 1 || composed.length !== 1) return false;
    this.#text = this.#text.slice(0, -1) + composed;
    this.#to[this.#to.length - 1] = to;
    this.#last = composed;
    return true;
  }

  /** Removes the space before a closing mark, as in "Quoi ?" */
  closeGap(mark: string): void {
    if (this.#last === ' ' && (/[»›]/.test(mark) || /[\p{L}\p{N}"')]$/u.test(this.#text.slice(0, -1)))) this.#unput();
  }

  /** Writes a pause, unless the text already ends with a pause. */
  pause(from: number, to: number): void {
    if (this.#text !== '' && !pausePattern.test(this.#text.slice(-2))) {
      if (this.#last === ' ') this.#unput();
      this.#putOne(',', from, to);
    }
    this.#putOne(' ', from, to);
  }

  end(): CleanText {
    return { text: this.#text, from: this.#from, to: this.#to };
  }

  #putOne(char: string, from: number, to: number): void {
    if (char === ' ' || char === '\n') {
      if (this.#text === '' || this.#last === '\n' || (char === ' ' && this.#last === ' ')) return;
      if (this.#last === ' ') this.#unput();
    }
    this.#run = char === this.#last ? this.#run + 1 : 1;
    if (this.#run > symbolRunMax && !plainPattern.test(char)) return;
    this.#last = char;
    this.#text += char;
    for (let i = 0; i < char.length; i++) {
      this.#from.push(from);
      this.#to.push(to);
    }
  }

  #unput(): void {
    this.#text = this.#text.slice(0, -1);
    this.#from.pop();
    this.#to.pop();
    this.#last = this.#text.at(-1) ?? '';
    this.#run = 1;
  }
}
