// Tests flite's text preparation, and the assignment of its phones to the text.
import { describe, expect, test } from 'vitest';
import { toParts, toSpokenTokens } from '../../src/engines/flite/flite-text.ts';
import { parsePhones, timeWords } from '../../src/engines/flite/word-times.ts';
import { oddTexts } from '../conformance/odd-texts.ts';

const spokenOf = (text: string) => toSpokenTokens(text).map(({ spoken }) => spoken);

describe('what flite is given', () => {
  test.each([
    ['It’s “fine” — yes …', ["It's", '"fine",', 'yes.']],
    ['Hello , world !', ['Hello,', 'world!']],
    ['Äpfel, naïve façade, Łódź', ['Apfel,', 'naive', 'facade,', 'Lodz']],
    ['2½ cups at £4.50, or $19.99', ['2 1/2', 'cups', 'at', '4.50 pounds,', 'or', '$19.99']],
    ['~$5 ~£6', ['$5', '6 pounds']],
    ['R&D is 50% of 5°', ['R and D', 'is', '50 percent', 'of', '5 degrees']],
    ['and/or 12/25/2024', ['and or', '12/25/2024']],
    ['well-known x+y=z', ['well-known', 'x plus y equals z']],
    ['Доброе утро', ['Dobroe', 'utro']],
    ['done 👩‍👩‍👧‍👦 and 🇬🇧 !', ['done', 'and!']],
    ['<b>bold</b>', ['b bold b']],
    ['$$$$$$$$ ... ((((', ['dollars.']],
    ['😀 … — \u0000 !', []],
  ])('%s', (text, spoken) => {
    expect(spokenOf(text)).toEqual(spoken);
  });

  test.each(oddTexts)('is bounded, printable and in its place: %s', (_, text) => {
    let end = 0;
    for (const { from, to, spoken } of toSpokenTokens(text)) {
      expect(from).toBeGreaterThanOrEqual(end);
      expect(text.slice(from, to)).toMatch(/^\S{1,80}$/);
      expect(spoken).toMatch(/^[\x20-\x7e]{1,400}$/);
      expect(spoken).toMatch(/[a-z0-9]/i);
      expect(spoken).not.toMatch(/[^a-z0-9 ]{5}|[a-z0-9]{60}|[<>&\\`]/i);
      end = to;
    }
  });

  test('parts hold every token once, and no part is long', () => {
    const tokens = toSpokenTokens('one two three four, '.repeat(40));
    const parts = toParts(tokens);
    expect(parts.flat()).toEqual(tokens);
    for (const part of parts) expect(part.map(({ spoken }) => spoken).join(' ').length).toBeLessThanOrEqual(240);
    expect(toParts([])).toEqual([]);
  });
});

describe('word times', () => {
  const expected = (text: string, phones: string[]) =>
    toSpokenTokens(text).map((token, n) => ({ ...token, phones: phones[n]!.split(' ').filter(Boolean) }));
  const timesOf = (words: ReturnType<typeof expected>, line: string) =>
    timeWords(words, parsePhones(line)).map(({ from, startSeconds, endSeconds }) => [from, startSeconds, endSeconds]);

  test('fall on the phones of each word, pauses left out', () => {
    const words = expected('hello, my friend', ['hh ax l ow', 'm ay', 'f r eh n d']);
    const line = 'pau:0.1 hh:0.2 ax:0.3 l:0.4 ow:0.5 pau:0.7 m:0.8 ay:0.9 f:1.0 r:1.1 eh:1.2 n:1.3 d:1.4 pau:1.6';
    expect(timesOf(words, line)).toEqual([
      [0, 0.1, 0.5],
      [7, 0.7, 0.9],
      [10, 0.9, 1.4],
    ]);
  });

  test('bear phones that changed, came or went', () => {
    const words = expected('a bird sings', ['ey', 'b er d', 's ih ng z']);
    expect(timesOf(words, 'ax:0.1 b:0.2 er:0.3 s:0.4 ih:0.5 ng:0.6 g:0.7 z:0.8')).toEqual([
      [0, 0, 0.1],
      [2, 0.1, 0.3],
      [7, 0.3, 0.8],
    ]);
  });

  test('end with the utterance, at a word with a mark', () => {
    const words = expected('no. Yes, no? No', ['n ow', 'y eh s', 'n ow', 'n ow']);
    expect(timesOf(words, 'n:0.1 ow:0.2')).toHaveLength(1);
    expect(timesOf(words.slice(1), 'y:0.1 eh:0.2 s:0.3 n:0.4 ow:0.5')).toHaveLength(2);
    expect(timesOf(words.slice(3), 'n:0.1 ow:0.2')).toHaveLength(1);
  });

  test('are shared by words to which no phone fell', () => {
    const words = expected('x y z', ['eh k s', 'w ay', 'z iy']);
    expect(timesOf(words, 'eh:0.1 k:0.2 s:0.4')).toEqual([
      [0, 0, 0.4 / 3],
      [2, 0.4 / 3, 0.8 / 3],
      [4, 0.8 / 3, 0.4],
    ]);
  });
});
