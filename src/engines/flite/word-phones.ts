// The phones of words spoken alone, from which word times are found. flite lists them: one run for all words not known yet,
// each in a paragraph and so in a line of its own, with the fastest voice at the highest speed. The most recent words are
// cached.
import type { FliteProgram } from './flite-program.ts';

const knownWordsMax = 4096;
const args = ['-voice', 'kal16', '--setf', 'duration_stretch=0.2', '-ps'];
const silence = 'pau';

export class WordPhones {
  readonly #program: FliteProgram;
  /** The least recently used comes first. */
  readonly #known = new Map<string, readonly string[]>();

  constructor(program: FliteProgram) {
    this.#program = program;
  }

  /** For each of what is spoken, its phones: at least one. */
  of(spoken: readonly string[]): (readonly string[])[] {
    const words = spoken.map(toBareWord);
    const unknown = [...new Set(words)].filter((word) => !this.#known.has(word));
    for (const [n, phones] of this.#phonesOf(unknown).entries()) this.#known.set(unknown[n]!, phones);
    const answer = words.map((word) => this.#recall(word));
    for (const word of [...this.#known.keys()].slice(0, Math.max(0, this.#known.size - knownWordsMax))) {
      this.#known.delete(word);
    }
    return answer;
  }

  #recall(word: string): readonly string[] {
    const phones = this.#known.get(word)!;
    this.#known.delete(word);
    this.#known.set(word, phones);
    return phones;
  }

  #phonesOf(words: readonly string[]): (readonly string[])[] {
    if (words.length === 0) return [];
    const lines: string[] = [];
    this.#program.run({ args, text: words.join('\n\n'), onLine: (line) => lines.push(line) });
    // Where lines and words do not pair, letters stand in for phones: only their number counts then.
    if (lines.length !== words.length) return words.map((word) => [...word]);
    return lines.map((line, n) => {
      const phones = line.split(' ').filter((phone) => phone !== silence && phone !== '');
      return phones.length > 0 ? phones : [...words[n]!];
    });
  }
}

/** Without marks at its edges, or within where they would end an utterance. */
const toBareWord = (spoken: string): string =>
  spoken
    .replace(/[^a-z0-9]+(?= |$)/gi, '')
    .replace(/^[^a-z0-9$]+/i, '')
    .replace(/ +/g, ' ');
