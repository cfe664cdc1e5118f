// Tests the text of a chapter in parts: joined parts equal the text, and each part ends where a reader would stop.
import { expect, test } from 'vitest';
import { divideText } from '../../../src/clips/jobs/job-request.ts';

const joined = (text: string, charsMax: number) => [...divideText(text, charsMax)].map((part) => part.text).join('');

test('parts end with a paragraph, else with a sentence, a line or a word', () => {
  const parts = (text: string) => [...divideText(text, 40)].map((part) => part.text);
  expect(parts('A short text.')).toEqual(['A short text.']);
  expect(parts('The first paragraph is here.\n\nThe second one. It is longer.')).toEqual([
    ...['The first paragraph is here.\n\n', 'The second one. It is longer.'],
  ]);
  expect(parts('The first sentence is here. The second one is here too.')).toEqual([
    ...['The first sentence is here. ', 'The second one is here too.'],
  ]);
  expect(parts('words without any end that go on and on and on')).toEqual([
    ...['words without any end that go on and on ', 'and on'],
  ]);
});

test('no part is blank, and offsets are code points', () => {
  const odd = ['😀', ' \n\n', 'Wort. ', 'ノベル。', '\r\n\r\n', 'x'.repeat(50), ' '.repeat(70), '“Ja!” '];
  for (let seed = 1; seed <= 200; seed++) {
    const text = `A${Array.from({ length: 30 }, (_, i) => odd[(seed * (i + 3) * 7919) % odd.length]).join('')}`;
    expect(joined(text, 64)).toBe(text);
    let offset = 0;
    for (const part of divideText(text, 64)) {
      expect(part.offset).toBe(offset);
      expect(part.text.trim()).not.toBe('');
      expect(part.text.isWellFormed()).toBe(true);
      offset += [...part.text].length;
    }
  }
});
