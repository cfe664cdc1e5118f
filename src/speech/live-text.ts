// The text of one turn of live speech, growing while it is spoken. The text is divided into parts that are spoken in
// order. Each part is available as soon as it is complete. Several readers can read all parts from the start.

import { countChars } from '../platform/count-chars.ts';
import { type Failure, type FieldReason, invalidField } from '../platform/errors.ts';
import type { Steps } from '../platform/runtime/steps.ts';
import { isSsml, type MarkedText, MarkupFault, type MarkupKind, PartCutter, pausesMsMax, readMarkup } from '../text.ts';
import { pausesTooLong, textLimits } from './fields.ts';

export interface LivePart {
  text: string;
  chars: number;
  /** Start of the part within the turn, in code points. */
  offset: number;
  isLast: boolean;
}

export class LiveText {
  readonly #cutter: PartCutter;
  readonly #markup: MarkupKind | undefined;
  /** The markup of the first parts, each read once. */
  readonly #marked: MarkedText[] = [];
  #pausesMs = 0;
  /** Text that is, or may become, a markup document. A document is one part. */
  #held = '';
  /** The held text without white space before it, until it is certainly a document. */
  #opening = '';
  #isDocument = false;
  readonly #parts: LivePart[] = [];
  #received = '';
  #partChars = 0;
  #chars = 0;
  #isEnded = false;
  #isQuiet = false;
  onQuiet = () => {};
  #failed: { reason: unknown } | undefined;
  /** Resolves when another part is complete or the turn has failed. */
  #changed = Promise.withResolvers<void>();

  constructor(languageCode: string, markup?: MarkupKind) {
    this.#cutter = new PartCutter(languageCode);
    this.#markup = markup;
  }

  /** All text received so far. */
  get received(): string {
    return this.#received;
  }

  /** Number of code points received so far. */
  get chars(): number {
    return this.#chars;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether the writer has paused after the last text. */
  get isQuiet(): boolean {
    return this.#isQuiet;
  }

  /** Adds text, in steps between which other work may run. */
  *append(text: string): Steps<void> {
    this.#isQuiet = false;
    this.#received += text;
    this.#chars += countChars(text);
    if (this.#markup === 'ssml' && (this.#held !== '' || this.#parts.length === 0) && !this.#cutter.hasText) {
      this.#held += text;
      if (this.#mayGoOnAsDocument(text)) return;
    }
    const rest = this.#held === '' ? text : this.#held;
    this.#held = '';
    for (const part of this.#cutter.push(rest)) {
      if (part === undefined) yield;
      else this.#add(part, false);
    }
  }

  /** Makes the pending text a part if the text ends with a complete sentence. */
  endPhrase(): void {
    const part = this.#cutter.endPhrase();
    if (part !== undefined) this.#add(part, false);
  }

  /** Call when the writer pauses. Completes a part from pending text that can be spoken regardless of later text. */
  pause(): void {
    const part = this.#cutter.pause();
    this.#isQuiet = true;
    if (part !== undefined) this.#add(part, false);
    this.onQuiet();
  }

  /** Ends the text: the pending text becomes the last part, which may be empty. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#add(this.#held + this.#cutter.flush(), true);
  }

  /** Makes all pending and later reads fail with this reason. */
  fail(reason: unknown): void {
    this.#failed ??= { reason };
    this.#changed.resolve();
  }

  hasPart(index: number): boolean {
    return index < this.#parts.length;
  }

  partAt(index: number): LivePart {
    return this.#parts[index]!;
  }

  /** Reads the markup of a part when the part is complete. Rejects if it cannot be read, or if the turn fails. */
  async part(index: number): Promise<{ marked: MarkedText; isLast: boolean }> {
    for (;;) {
      if (this.#failed) throw this.#failed.reason;
      const part = this.#parts[index];
      if (part) return { marked: this.#marked[index] ?? this.#read(part.text), isLast: part.isLast };
      await this.#changed.promise;
    }
  }

  #read(text: string): MarkedText {
    try {
      const marked = readMarkup(text, this.#markup);
      const { chunkCharsMax: limit } = textLimits;
      if (this.#markup === 'ssml' && marked.chars > limit)
        throw refused('too_long', `has ${marked.chars} characters, over the limit of ${limit} of a document`);
      if (this.#pausesMs + marked.pauseMs > pausesMsMax) throw refused('range', pausesTooLong);
      this.#pausesMs += marked.pauseMs;
      this.#marked.push(marked);
      return marked;
    } catch (error) {
      throw error instanceof MarkupFault ? refused('markup', error.message) : error;
    }
  }

  /** Whether the held text, which ends with `text`, may become a document. Reads few characters of earlier texts. */
  #mayGoOnAsDocument(text: string): boolean {
    if (this.#isDocument) return true;
    this.#opening = (this.#opening + text).replace(/^[\s\ufeff]+/, '');
    this.#isDocument = /^<[?!]/.test(this.#opening) || isSsml(this.#opening);
    return this.#isDocument || startPattern.test(this.#opening);
  }

  #add(text: string, isLast: boolean): void {
    const chars = countChars(text);
    this.#parts.push({ text, chars, offset: this.#partChars, isLast });
    this.#partChars += chars;
    this.#changed.resolve();
    if (!this.#failed) this.#changed = Promise.withResolvers();
  }
}

const refused = (reason: FieldReason, message: string): Failure => invalidField('text', reason, message);

/** No text, or an incomplete start of the root element. */
const startPattern = /^(?:<(?:(?:[^\s<>/:="']{1,40}:)?s?p?e?a?k?|[^\s<>/:="']{1,40}))?$/;
