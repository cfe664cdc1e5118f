// Checks random texts with random lexicons: the result equals a simple search for the longest entry, and every word has
// its position in the sent text.
import { expect } from 'vitest';
import type { LexiconEntry } from '../../src/text/lexicon.ts';
import { createRandom } from '../text/random-text.ts';
import { keepLexicons } from './kept-lexicons.ts';
import { collect, openSpeech } from './open-speech.ts';

const words = 'alpha Bravo charlie delta échelon naïve golf hotel 東京 😀india juliet'.split(' ');
const aliases = ['one', 'two three', 'four five six', 'Grün'];
type Random = () => number;
const pick = <Item>(random: Random, items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;

function writeEntries(random: Random): LexiconEntry[] {
  return Array.from({ length: 1 + Math.floor(random() * 6) }, () => {
    const grapheme = Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(random, words)).join(' ');
    const isInsensitive = random() < 0.3;
    return { grapheme, alias: pick(random, aliases), case: isInsensitive ? 'insensitive' : 'sensitive' };
  });
}

/** The longest entry that matches at word `at`. Earlier lexicons precede; within a lexicon, exact matches precede. */
function search(said: readonly string[], at: number, lexicons: readonly (readonly LexiconEntry[])[]) {
  for (let count = said.length - at; count > 0; count--) {
    const written = said.slice(at, at + count).join(' ');
    for (const entries of lexicons) {
      const found =
        entries.find((entry) => entry.case !== 'insensitive' && entry.grapheme === written) ??
        entries.find((entry) => entry.case === 'insensitive' && entry.grapheme.toLowerCase() === written.toLowerCase());
      if (found) return { count, alias: found.alias! };
    }
  }
  return { count: 1, alias: said[at]! };
}

interface RandomText {
  fields: object;
  source: string;
  said: readonly string[];
}

function writeText(random: Random): RandomText {
  const isSsml = random() < 0.5;
  const said: string[] = [];
  let source = '';
  for (let left = 1 + Math.floor(random() * 12); left > 0; left--) {
    const word = random() < 0.2 ? pick(random, words).toUpperCase() : pick(random, words);
    said.push(word);
    const written = isSsml && random() < 0.3 ? word.replace('a', '&#x61;') : word;
    source += written + (random() < 0.2 && left > 1 ? pick(random, ['\n', '  ', '\t ']) : ' ');
  }
  // These words keep the text mostly in the voice's script; a text mostly in another script is refused.
  for (const word of ['hotel', 'juliet', 'golf', 'delta', 'charlie']) {
    said.push(word);
    source += `${word} `;
  }
  if (isSsml) source = `<speak>${source}</speak>`;
  return { fields: isSsml ? { ssml: source } : { text: source }, source, said };
}

const plain = (text: string) => text.replace(/😀/gu, ' ').replace(/\s+/g, ' ').trim();

export async function checkRandomLexicons(count: number): Promise<void> {
  const random = createRandom(7);
  let matches = 0;
  for (let i = 0; i < count; i++) {
    const { fields, source, said } = writeText(random);
    const lexicons = [writeEntries(random), writeEntries(random)];
    const [first, second] = lexicons as [LexiconEntry[], LexiconEntry[]];
    const kept = keepLexicons({ first: { entries: first }, second: { entries: second } });
    const { stream, tone } = openSpeech({}, { lexicons: kept });
    const wanted: string[] = [];
    for (let at = 0; at < said.length; ) {
      const found = search(said, at, lexicons);
      if (found.alias !== said[at]) matches++;
      wanted.push(found.alias);
      at += found.count;
    }
    const where = JSON.stringify({ source, first, second });
    const events = await collect(stream({ ...fields, lexicon_ids: ['first', 'second'], timestamps: 'word' }));
    expect(plain(tone.segments.map(({ text }) => text).join(' ')), where).toBe(plain(wanted.join(' ')));
    const chars = [...source];
    let end = 0;
    for (const event of events) {
      for (const { text, offset, length } of event.type === 'timestamps' ? event.words : []) {
        const there = chars
          .slice(offset, offset + length)
          .join('')
          .replaceAll('&#x61;', 'a');
        expect(there, where).toContain(text);
        expect(offset, where).toBeGreaterThanOrEqual(end);
        end = offset + length;
      }
    }
  }
  expect(matches).toBeGreaterThan(count / 2);
}
