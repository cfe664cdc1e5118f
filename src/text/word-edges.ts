// Where words begin and end in a text, for what matches whole words. A word is a run of letters, digits and their marks; a
// full stop, a comma or an apostrophe inside it does not end it (U.S., 3.5, don't). In scripts without spaces, a Han
// character is a word by itself, since compounds are read part by part; elsewhere Intl.Segmenter tells the words.
import { segmenterFor } from './intl-segmenters.ts';

const other = 1;
const word = 2;
const mark = 3;
const han = 4;
/** Each script without spaces is a class of its own, from this one on. */
const unspacedFirst = 5;
const unspacedScripts = [
  /\p{Script=Hiragana}/u,
  /[\p{Script=Katakana}\u30fc\uff70]/u,
  /\p{Script=Thai}/u,
  /\p{Script=Lao}/u,
  /\p{Script=Khmer}/u,
  /\p{Script=Myanmar}/u,
  /\p{Script=Tibetan}/u,
  /\p{Script=Yi}/u,
];

/** Classes of the characters of one UTF-16 unit, as they are asked for. */
const known = new Uint8Array(0x10000);

function classify(char: string): number {
  if (/\p{M}/u.test(char)) return mark;
  if (/\p{Script=Han}/u.test(char)) return han;
  const script = unspacedScripts.findIndex((pattern) => pattern.test(char));
  if (script >= 0) return unspacedFirst + script;
  return /[\p{L}\p{N}\p{Pc}]/u.test(char) ? word : other;
}

/** The class of the character that the unit at the index is of. */
function classAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  const isSecondHalf = (code & 0xfc00) === 0xdc00 && index > 0;
  if ((code & 0xf800) === 0xd800) return classify(String.fromCodePoint(text.codePointAt(index - +isSecondHalf)!));
  if (known[code] === 0) known[code] = classify(text[index]!);
  return known[code]!;
}

export class WordEdges {
  readonly #text: string;
  readonly #languageCode: string;
  #segments: Set<number> | undefined;

  constructor(text: string, languageCode: string) {
    this.#text = text;
    this.#languageCode = languageCode;
  }

  /** Where the token ends that begins at the index: letters without a word's edge between them, or one character. */
  tokenEnd(from: number): number {
    const text = this.#text;
    let to = from + ((text.codePointAt(from) ?? 0) > 0xffff ? 2 : 1);
    const isWord = classAt(text, from) === word;
    for (; to < text.length; to++) {
      const kind = classAt(text, to);
      if (kind !== mark && !(isWord && kind === word)) break;
    }
    return to;
  }

  /** Whether a word may begin or end before the unit at the index. */
  isAt(index: number): boolean {
    const text = this.#text;
    if (index <= 0 || index >= text.length) return true;
    const after = classAt(text, index);
    if (after === mark || (text.charCodeAt(index) & 0xfc00) === 0xdc00) return false;
    let last = index - 1;
    while (last > 0 && classAt(text, last) === mark) last--;
    const before = classAt(text, last);
    if (before === other || after === other) return !this.#joins(index);
    if (before === han || after === han) return true;
    if (before !== after) return true;
    return before >= unspacedFirst ? this.#isSegment(index) : false;
  }

  /** Whether the sign on one side of the index holds the letters or digits around it together. */
  #joins(index: number): boolean {
    return this.#holds(index) || this.#holds(index - 1);
  }

  /** Whether the unit at the index is a sign inside a word. */
  #holds(index: number): boolean {
    const text = this.#text;
    const sign = text[index]!;
    if (!".,:@'&".includes(sign) || index === 0 || index + 1 >= text.length) return false;
    const [before, after] = [classAt(text, index - 1), classAt(text, index + 1)];
    if (sign === '&') return /^&#?\w{2,31};/.test(text.slice(index, index + 34));
    if (before === other || after === other) return false;
    if (sign === "'") return /^'t(?![\p{L}\p{N}])/iu.test(text.slice(index, index + 4));
    return sign === '.' || sign === '@' || (/\d/.test(text[index - 1]!) && /\d/.test(text[index + 1]!));
  }

  #isSegment(index: number): boolean {
    if (!this.#segments) {
      const segments = segmenterFor(this.#languageCode, 'word').segment(this.#text);
      this.#segments = new Set(Array.from(segments, (segment) => segment.index));
    }
    return this.#segments.has(index);
  }
}
