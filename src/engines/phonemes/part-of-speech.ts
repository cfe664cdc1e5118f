// Tags the words of an English sentence with their parts of speech (the tags of the Penn Treebank). The tagger is an
// averaged perceptron, whose weights are read from a file: a word with one usual tag is looked up, and any other word
// gets the tag with the highest sum of weights of its features: its letters, its neighbours, and the tags before it.
import type { Table } from './sorted-table.ts';

export type Tagger = (words: readonly string[]) => string[];

const before = ['-START2-', '-START-'] as const;
const after = ['-END-', '-END2-'] as const;

/**
 * The table has the sorted tags, `tag=WORD` for words with a usual tag, `vocab=WORD` for words that features may name,
 * and for each feature pairs of a tag's number and its weight.
 */
export function createTagger(table: Table): Tagger {
  const tags = table('tags')!.split(' ');

  const predict = (features: readonly string[]): string => {
    const sums = tags.map(() => 0);
    let isKnown = false;
    for (const feature of features) {
      const weights = table(feature);
      if (weights === undefined) continue;
      isKnown = true;
      const pairs: readonly number[] = JSON.parse(weights);
      for (let i = 0; i < pairs.length; i += 2) sums[pairs[i]!]! += pairs[i + 1]!;
    }
    if (!isKnown) return 'NN';
    const best = Math.max(...sums);
    return tags.findLast((_, i) => sums[i] === best)!;
  };

  return (words) => {
    const names = [
      ...before,
      ...words.map((word) => {
        const plain = plainForm(word);
        return table(`vocab=${plain}`) === undefined ? `<${shapeOf(word)}>` : plain;
      }),
      ...after,
    ];
    let [last2, last]: string[] = [...before];
    return words.map((word, i) => {
      const tag = table(`tag=${word}`) ?? predict(featuresOf(word, i, names, last!, last2!));
      [last2, last] = [last, tag];
      return tag;
    });
  };
}

/** The names of the features, as in the file of weights. */
function featuresOf(word: string, i: number, names: readonly string[], last: string, last2: string): string[] {
  const at = (offset: number) => names[i + 2 + offset]!;
  return [
    'b',
    `s3=${word.slice(-3)}`,
    `p1=${word[0]}`,
    `w=${at(0)}`,
    `sh=${shapeOf(word)}`,
    i === 0 ? 'i0' : 'i+',
    `t-1=${last}`,
    `t-2=${last2}`,
    `t-12=${last},${last2}`,
    `w-1=${at(-1)}`,
    `s3-1=${at(-1).slice(-3)}`,
    `w-2=${at(-2)}`,
    `w+1=${at(1)}`,
    `s3+1=${at(1).slice(-3)}`,
    `w+2=${at(2)}`,
  ];
}

function plainForm(word: string): string {
  if (word.includes('-', 1)) return '!HYPHEN';
  if (/^\d{4}$/.test(word)) return '!YEAR';
  return /^\d/.test(word) ? '!DIGITS' : word.toLowerCase();
}

function shapeOf(word: string): string {
  if (/^\p{Ll}+$/u.test(word)) return 'x';
  if (/^\p{Lu}+$/u.test(word)) return word.length > 1 ? 'XX' : 'X1';
  if (/^\p{Lu}\p{Ll}+$/u.test(word)) return 'Xx';
  if (/^\p{L}+$/u.test(word)) return 'xX';
  if (/^\d+$/.test(word)) return 'd';
  return word.slice(0, 4).replace(/\d/g, 'd').replace(/\p{L}/gu, 'x');
}
