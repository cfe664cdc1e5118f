// Builds the spoken form of one token from its words and its punctuation, and records the range of the text that the
// words stand for. Words are separated by one space; punctuation has no space before it and is never doubled.

export class Verbalization {
  say = '';
  /** Range of the text that is read as words, without the punctuation around it. */
  from = -1;
  to = -1;
  /** Separator before the next word. */
  #gap = '';

  word(say: string, from: number, to: number): void {
    if (this.from < 0) {
      this.from = from;
      // Punctuation before the first word has no effect.
      this.say = this.say.replace(/^[.,;:!? ]+/, '');
      if (this.say === '') this.#gap = '';
    }
    this.to = to;
    if (say === '') return;
    this.say += this.#gap + say;
    this.#gap = ' ';
  }

  /** Appends punctuation after a word; of several of a kind, only the first. */
  mark(say: string): void {
    const last = this.say.at(-1) ?? '';
    const doubled = say === last || (/[,;:.!?]/.test(last) && /^[,;:.]/.test(say));
    const applies = say !== ',' || last === '' || /[\p{L}\p{N}"')]/u.test(last);
    if (doubled || !applies) return;
    this.say += say;
    this.#gap = ' ';
  }

  /** Appends punctuation before a word; an empty text only separates. */
  open(say: string): void {
    if (say === '' || this.say.endsWith(say)) return;
    this.say += this.#gap + say;
    this.#gap = '';
  }

  /** Sets the separator between two parts of a word: a hyphen or a space. */
  join(say: string): void {
    this.#gap = say;
  }
}
