// Splits a text into parts to speak, whether the text is complete or arrives in pieces. Parts end at sentences and
// paragraphs, in long parts also at clauses, and in very long parts before any word. The parts do not depend on the
// pieces, and the joined parts are the text. Numbers, abbreviations, URLs and markup that may continue are not split.
import { cleanText } from './clean-text.ts';
import { vendorTagNames } from './inline-tags.ts';
import { hasOpenMarkup, markMarkup } from './markdown.ts';
import { readEnd } from './normalize-text.ts';
import { endsClause, mayAbbreviate, mayEndSentence } from './sentence-ends.ts';
import { breakStrength } from './tokenize.ts';

/** Minimum length of a part that ends at a clause. The first part may be shorter, so that audio starts early. */
const firstClauseCharsMin = 60;
const clauseCharsMin = 200;
/** A longer part ends after its next complete word, even inside a sentence or unfinished markup. */
const partCharsMax = 300;
/**
 * Maximum length of words, in scripts without spaces and in other scripts. Longer words are split. A part without a
 * complete word, such as "J. J. J. J.", is split at `wordCharsMax`.
 */
const unspacedCharsMax = 400;
const wordCharsMax = 2000;
/**
 * Number of characters to examine after a possible end of a sentence. They contain the next word, and if that word is a
 * number, also the word after the number.
 */
const aheadCharsMax = 40;
const aheadPattern = /^(?:\d\S*[^\S\n]+)?\S*/;
/** An abbreviation that may be read together with the next word, as in "5 ft. 3 in.", "Rs. 500" and "EE. UU." */
const shortStopPattern = /(?:(?<!\p{L})\p{Lu}|\d\s?\p{L})\p{L}{0,3}\.$/u;

/**
 * White space, or the position between a full-width mark (such as 。) and adjacent text. Longer white space is several
 * gaps, because a gap that may grow is read again.
 */
const gapPattern = /\s{1,200}|(?<=[。！？｡、，；：]\p{Pe}{0,3})(?=[^\s\p{Pe}。！？｡、，；：])/gu;
const blankLinePattern = /^[^\S\n]*\n[^\S\n]*\n/;
const fencePattern = /^ {0,3}(?:`{3,}|~{3,})/gm;
const unspacedPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;
/**
 * A complete word, which further text cannot change: letters and a mark, or letters before a space. A single letter is
 * excluded, because it may be a variable.
 */
const finishedPattern = /^[^\p{L}\p{N}]*(?!www\.?$)\p{L}[\p{L}\p{M}]+(?:['’-]+[\p{L}\p{M}]+)*[.!?…,;:)"'”’]*$/u;
/** Marks that end a word even if no space follows. Apostrophes, hyphens and colons may be inside a word. */
const endingMarkPattern = /[.!?…,;)"”。！？｡、，；：\p{Pe}]$/u;

/**
 * The definite end of a sentence, unlike "Wait..." and '"Really?"'. The text `wouldGoOn` would continue the sentence
 * after "5 ft." or "Rs."
 */
const phraseEndPattern = /(?<![.!?…])[.!?]$|[。！？｡]$/u;
const wouldGoOn = ' 5 in. ';

/** A tag in a text for a vendor's API that is still open. */
const openTagPattern = new RegExp(String.raw`<(?:${vendorTagNames})\b[^<>]{0,250}$`, 'i');

/** The gap between two words: end of the first word and start of the second word. */
interface Gap {
  from: number;
  to: number;
}

export class PartCutter {
  readonly #languageCode: string;
  #text = '';
  /** Gaps before this index do not end a part. */
  #at = 0;
  /** Length of the white space before the first word, as far as it was read. */
  #blank = 0;
  #isInFence = false;
  #clauseCharsMin: number;

  /** `opens` states whether the text is the first text to speak. */
  constructor(languageCode: string, opens = true) {
    this.#languageCode = languageCode;
    this.#clauseCharsMin = opens ? firstClauseCharsMin : clauseCharsMin;
  }

  /** Whether there is text that no part has returned yet. */
  get hasText(): boolean {
    return this.#text !== '';
  }

  /** Adds text and yields the complete parts, and `undefined` after each word without an end. */
  *push(text: string): Generator<string | undefined, undefined> {
    this.#text += text;
    for (let gap = this.#nextGap(); gap; gap = this.#nextGap()) {
      const end = this.#endAt(gap);
      if (end === 'wait') return;
      if (end === undefined) this.#at = Math.max(gap.to, gap.from + 1);
      yield end === undefined ? undefined : this.#take(end);
    }
  }

  /** Call this when the writer pauses. Returns the text that can be spoken now, and keeps the rest. */
  pause(): string | undefined {
    const text = this.#text;
    gapPattern.lastIndex = 0;
    const ends = [...text.matchAll(gapPattern)].map(({ 0: { length }, index }) => ({
      from: index,
      to: index + length,
    }));
    if (endingMarkPattern.test(text)) ends.push({ from: text.length, to: text.length });
    const end = ends.findLast(({ from }) => from > 0 && this.#isFinished(text.slice(0, from)));
    return end && /[\p{L}\p{N}]/u.test(text.slice(0, end.from)) ? this.#take(end.to) : undefined;
  }

  /** Call this when the writer ends a phrase. Returns all pending text if a sentence certainly ends there. */
  endPhrase(): string | undefined {
    const before = this.#text.trimEnd();
    const lastWord = /\S{1,40}$/.exec(before)?.[0] ?? '';
    if (!phraseEndPattern.test(lastWord) || mayAbbreviate(lastWord, this.#languageCode)) return undefined;
    if (hasOpenMarkup(before) || this.#endsInFence(before)) return undefined;
    return this.#endsBefore(before + wouldGoOn, before.length, true) ? this.#take(this.#text.length) : undefined;
  }

  /** Returns all pending text. */
  flush(): string {
    const rest = this.#text;
    this.#text = '';
    this.#at = 0;
    this.#blank = 0;
    this.#isInFence = false;
    return rest;
  }

  #take(end: number): string {
    const part = this.#text.slice(0, end);
    for (const _ of part.matchAll(fencePattern)) this.#isInFence = !this.#isInFence;
    this.#text = this.#text.slice(end);
    this.#at = 0;
    this.#blank = 0;
    if (/[\p{L}\p{N}]/u.test(part)) this.#clauseCharsMin = clauseCharsMin;
    return part;
  }

  #nextGap(): Gap | undefined {
    const text = this.#text;
    gapPattern.lastIndex = this.#at;
    const match = gapPattern.exec(text);
    const wordEnd = match?.index ?? text.length;
    const charsMax = unspacedPattern.test(text[this.#at] ?? '') ? unspacedCharsMax : wordCharsMax;
    if (wordEnd - this.#at > charsMax) {
      const isPair = /[\uD800-\uDBFF]/.test(text[this.#at + charsMax - 1]!);
      const at = this.#at + charsMax - (isPair ? 1 : 0);
      return { from: at, to: at };
    }
    return match ? { from: match.index, to: match.index + match[0].length } : undefined;
  }

  /** End of the part at the gap; undefined if no part ends there; 'wait' if later text decides. */
  #endAt({ from, to }: Gap): number | undefined | 'wait' {
    if (this.#text.slice(this.#blank, from).trim() === '') {
      this.#blank = to;
      return undefined;
    }
    const before = this.#text.slice(0, from);
    const space = this.#text.slice(from, to);
    const isInFence = this.#endsInFence(before);
    const blankLine = blankLinePattern.exec(space);
    if (blankLine && !isInFence) return from + blankLine[0].length;
    // More white space may follow.
    if (to === this.#text.length) return 'wait';
    const line = space.indexOf('\n') + 1;
    const next = from + (line || Math.min(1, to - from));
    if (isInFence) return from >= (line > 0 ? this.#clauseCharsMin : wordCharsMax) ? next : undefined;
    if (from >= partCharsMax) {
      const tag = openTagPattern.exec(before);
      if (tag) return from >= wordCharsMax ? tag.index : undefined;
      const isEnd = line > 0 || endsClause(before) || from >= wordCharsMax || this.#isFinished(before);
      return isEnd ? next : undefined;
    }
    if (hasOpenMarkup(before)) return undefined;
    const ends = mayEndSentence(before) ? this.#endsSentence({ from, to }) : false;
    if (ends === 'wait') return 'wait';
    if (ends) return to;
    // (really?) ends a clause, and looks like the end of a sentence.
    const isClause = line > 0 || (endsClause(before) && !mayEndSentence(before));
    return from >= this.#clauseCharsMin && isClause ? next : undefined;
  }

  #endsInFence(before: string): boolean {
    const fences = [...before.matchAll(fencePattern)].length;
    return (fences % 2 === 1) !== this.#isInFence;
  }

  /** Whether a sentence ends at the gap. Reads only as far as necessary, so pieces of any size give the same result. */
  #endsSentence({ from, to }: Gap): boolean | 'wait' {
    const text = this.#text;
    const ahead = aheadPattern.exec(text.slice(to, to + aheadCharsMax))![0];
    const isWhole = to + ahead.length < text.length || ahead.length === aheadCharsMax;
    const first = /[\p{L}\p{N}]/u.exec(ahead);
    const before = text.slice(0, from);
    const lastWord = /\S{1,40}$/.exec(before)?.[0] ?? '';
    const abbreviates = mayAbbreviate(lastWord, this.#languageCode);
    if (abbreviates === 'always') return false;
    const mayGoOn = abbreviates || shortStopPattern.test(before.slice(-lastWord.length - 10));
    const isClear = first !== null && !/\p{Ll}/u.test(first[0]) && !mayGoOn;
    if (!isClear && !isWhole) return 'wait';
    // Marks between which there is no word end one part, not a part each.
    if (first === null && !/[\p{L}\p{N}]/u.test(before)) return false;
    const end = to + (isClear ? first.index + first[0].length : ahead.length);
    return this.#endsBefore(text.slice(0, end), from, mayGoOn);
  }

  /** Whether a sentence ends before this index. `mayGoOn` states whether the next word may be read with the last one. */
  #endsBefore(text: string, from: number, mayGoOn: boolean): boolean {
    const lineStart = text.lastIndexOf('\n', from - 1) + 1;
    const raw = text.slice(lineStart);
    const clean = cleanText(raw, 0, raw.length, markMarkup(raw, false), true);
    const tokens = readEnd(clean.text, this.#languageCode, mayGoOn);
    const last = tokens.findLast((token) => clean.from[token.from]! < from - lineStart);
    if (last === undefined || last === tokens.at(-1)) return false;
    return last.breakAfter >= breakStrength.sentence && clean.to[last.to - 1]! <= from - lineStart;
  }

  /** Whether the last word is complete, so that a part may end after it. */
  #isFinished(before: string): boolean {
    const word = /\S{1,80}$/.exec(before)?.[0] ?? '';
    if (before.length < partCharsMax && hasOpenMarkup(before)) return false;
    if (unspacedPattern.test(word.at(-1) ?? '') || /[。！？｡、，；：]$/.test(word)) return true;
    return finishedPattern.test(word) && !mayAbbreviate(word, this.#languageCode);
  }
}
