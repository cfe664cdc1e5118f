// What is said for one token, put together from its words and its punctuation, and which stretch of the text the words
// stand for. Words have one space between them, marks none before them, and no mark is heard twice.

export class SpelledToken {
  say = '';
  /** The stretch of text that is said as words; all of the token's punctuation is outside it. */
  from = -1;
  to = -1;
  /** What comes between what there is and the next word. */
  #gap = '';

  word(say: string, from: number, to: number): void {
    if (this.from < 0) {
      this.from = from;
      // Marks before the first word colour nothing.
      this.say = this.say.replace(/^[.,;:!? ]+/, '');
      if (this.say === '') this.#gap = '';
    }
    this.to = to;
    if (say === '') return;
    this.say += this.#gap + say;
    this.#gap = ' ';
  }

  /** Punctuation after a word; of several, the first of a kind. */
  mark(say: string): void {
    const last = this.say.at(-1) ?? '';
    const doubled = say === last || (/[,;:.!?]/.test(last) && /^[,;:.]/.test(say));
    const colours = say !== ',' || last === '' || /[\p{L}\p{N}"')]/u.test(last);
    if (doubled || !colours) return;
    this.say += say;
    this.#gap = ' ';
  }

  /** Punctuation before a word; nothing but a division where it is empty. */
  open(say: string): void {
    if (say === '' || this.say.endsWith(say)) return;
    this.say += this.#gap + say;
    this.#gap = '';
  }

  /** A hyphen, or a space, between two parts of a word. */
  join(say: string): void {
    this.#gap = say;
  }
}
