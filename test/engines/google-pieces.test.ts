// Tests that text is cut within Google's limits, and that none of it is lost.
import { describe, expect, test } from 'vitest';
import { cutText } from '../../src/engines/google/google-speech.ts';

const usual = { bytesMax: 4_800, sentenceBytesMax: 500 };
const bytesOf = (text: string) => Buffer.byteLength(text);
const cut = (text: string, limits = usual) => {
  const pieces = cutText(text, limits);
  expect(pieces.join('')).toBe(text);
  for (const piece of pieces) expect(bytesOf(piece)).toBeLessThanOrEqual(limits.bytesMax);
  return pieces;
};

describe('text is cut', () => {
  test('not at all where it fits', () => {
    expect(cut('')).toEqual([]);
    expect(cut('One. Two.')).toEqual(['One. Two.']);
    expect(cut(`${'word '.repeat(95)}end.`)).toHaveLength(1);
  });

  test('between sentences, as few pieces as will do', () => {
    const sentence = 'The boat left the harbour early. ';
    const pieces = cut(sentence.repeat(300));
    expect(pieces).toHaveLength(3);
    for (const piece of pieces) expect(piece).toMatch(/^The .*early\. $/s);
    expect(cut('天还没亮，那条船就早早地离开了港口。'.repeat(100)).every((piece) => piece.endsWith('。'))).toBe(true);
  });

  test('within a sentence that is too long, at its clauses; one with what comes before it, apart from its rest', () => {
    const long = `${'and so it went, as it had gone before, '.repeat(14)}until it ended.`;
    const pieces = cut(`Listen. ${long} Then rest.`);
    expect(pieces).toHaveLength(2);
    expect(pieces[0]).toMatch(/^Listen\. and .*, $/);
    expect(pieces[1]).toMatch(/^as it had .*ended\. Then rest\.$/);
  });

  test('between words where there is no clause, and in a word where there is none', () => {
    for (const piece of cut('word '.repeat(500)).slice(0, -1)) expect(piece).toMatch(/^word .*word $/);
    expect(cut('a'.repeat(1_200)).map(bytesOf)).toEqual([500, 500, 200]);
    // Thai has words, but no spaces between them.
    const thai = cut('เรือออกจากท่าแต่เช้า'.repeat(100), { bytesMax: 120, sentenceBytesMax: 120 });
    const words = [...new Intl.Segmenter('th', { granularity: 'word' }).segment('เรือออกจากท่าแต่เช้า')];
    const starts = words.map(({ segment }) => segment);
    for (const piece of thai) expect(starts.some((word) => piece.startsWith(word))).toBe(true);
  });

  test('never in what a reader sees as one character, while that fits', () => {
    const family = '👩‍👩‍👧‍👦';
    for (const piece of cut(family.repeat(100), { bytesMax: 60, sentenceBytesMax: 60 }))
      expect(piece).toBe(family.repeat(2));
    const accents = `Z${'\u0301'.repeat(300)}`;
    expect(cut(accents).every((piece) => piece.isWellFormed())).toBe(true);
  });
});

describe('nothing is lost of', () => {
  const letters = Array.from({ length: 5_000 }, (_, n) => String.fromCharCode(97 + ((n * 7) % 26))).join('');
  test.each([
    ['5000 code points of CJK', Array.from({ length: 5_000 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join('')],
    ['5000 rare ones', Array.from({ length: 5_000 }, (_, n) => String.fromCodePoint(0x20000 + n)).join('')],
    ['5000 emoji', Array.from({ length: 5_000 }, (_, n) => String.fromCodePoint(0x1f400 + (n % 200))).join('')],
    ['one word of 5000 letters', letters],
    ['5000 letters with a space here and there', letters.replaceAll('q', ' ')],
    ['5000 spaces', ' '.repeat(5_000)],
    ['5000 new lines', '\n'.repeat(5_000)],
    ['5000 full stops', '.'.repeat(5_000)],
    ['lone surrogates', '\ud800x\udc00'.repeat(1_000)],
    ['mixed scripts', 'Good morning. Доброе утро! 早上好。 สวัสดี 👋🏽 '.repeat(150)],
  ])('%s', (_, text) => {
    for (const bytesMax of [4_800, 500, 200, 61]) {
      const pieces = cut(text, { bytesMax, sentenceBytesMax: Math.min(500, bytesMax) });
      if (text.isWellFormed()) expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
      expect(pieces.every((piece) => piece !== '')).toBe(true);
    }
  });

  test.each([496, 497, 498, 499, 500])('a surrogate pair that begins at byte %i of 500', (before) => {
    const pieces = cut(`${'a'.repeat(before)}😀${'b'.repeat(50)}`);
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
    expect(pieces).toHaveLength(2);
  });
});
