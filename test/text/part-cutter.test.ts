// Tests that a text that arrives in pieces is split at pauses for breath, whatever its pieces are.
import { describe, expect, test } from 'vitest';
import { PartCutter } from '../../src/text/part-cutter.ts';
import { createRandom, createText } from './random-text.ts';

const partsIn = (steps: Iterable<string | undefined>) => [...steps].filter((part) => part !== undefined);

/** The parts of a text that arrives in pieces with these end positions; the last part is the result of `flush`. */
function cut(text: string, ends: readonly number[] = [], languageCode = 'en-US'): string[] {
  const cutter = new PartCutter(languageCode);
  const parts: string[] = [];
  let at = 0;
  for (const end of [...ends, text.length]) {
    parts.push(...partsIn(cutter.push(text.slice(at, end))));
    at = end;
  }
  return [...parts, cutter.flush()];
}

test.each([
  ['sentences', ['Hello there. ', 'How are you? ', 'Fine!']],
  ['an abbreviation', ['Dr. Smith came. ', 'He left at 5 p.m. today.']],
  ['initials', ['It is by J. R. R. Tolkien. ', 'Read it.']],
  ['a number', ['It is 3.14 or so. ', '10 of them.']],
  ['a URL', ['See https://x.org/a.b?c=d. ', 'Then go on.']],
  ['a quotation', ['“Stop!” ', 'He ran.']],
  ['emphasis', ['**Two words. In bold.** And `code. here` too. ', 'Yes.']],
  ['a link', ['[One. Two](http://x.y/z) works. ', 'Good.']],
  ['a tag', ['It is <b title="a. B">bold</b> here. ', 'Good.']],
  ['paragraphs', ['A title\n\n', 'Then text\n\n', '- one\n- two\n\n', 'The end']],
  ['code', ['Look.\n\n', '```js\na. B\n\nc. D\n```\n\n', 'Done.']],
  ['a long sentence', [`${'So it goes on and on, '.repeat(3)}`, 'and then it ends.']],
  ['Chinese', ['你好。', '今天天气很好！', '当然。']],
])('%s', (_, parts) => {
  expect(cut(parts.join(''))).toEqual(parts);
});

test('a part never grows without end', () => {
  const unfinished = ['J. ', '. ', '1 2 3 ', 'p. 12 '].map((piece) => piece.repeat(2000));
  const endless = ['word '.repeat(500), 'x'.repeat(9000), '天'.repeat(2000), `**${'bold. '.repeat(400)}`];
  for (const text of [...endless, ...unfinished]) {
    const parts = cut(text);
    expect(parts.join('')).toBe(text);
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(2100);
  }
});

test('where a text is split does not depend on its pieces, and nothing of it is lost', () => {
  const random = createRandom(16);
  for (let i = 0; i < 300; i++) {
    const text = `${createText(random)}. ${createText(random)}\n\n${createText(random)}`;
    const whole = cut(text);
    expect(whole.join('')).toBe(text);
    const ends: number[] = [];
    for (let at = 0; at < text.length; at += 1 + Math.floor(random() * 40)) ends.push(at);
    expect(cut(text, ends)).toEqual(whole);
    expect(
      cut(
        text,
        Array.from(text, (_, at) => at),
      ),
    ).toEqual(whole);
  }
});

describe('a text that does not go on is spoken as far as it is certain', () => {
  test.each([
    ['Hello there.', 'Hello there.', ''],
    ['Hello the', 'Hello ', 'the'],
    ['I have 3 ', 'I have ', '3 '],
    ['I met Dr. ', 'I met ', 'Dr. '],
    ['Number 3.', 'Number ', '3.'],
    ['See www.exa', 'See ', 'www.exa'],
    ['Say **bold te', 'Say ', '**bold te'],
    ['Well, ', 'Well, ', ''],
    ['你好', undefined, '你好'],
    ['你好，世', '你好，', '世'],
    ["I think that'", 'I think ', "that'"],
    ['It is well-', 'It is ', 'well-'],
    ['See https:', 'See ', 'https:'],
    ['See www.', 'See ', 'www.'],
    ['So if x ', 'So if ', 'x '],
    ['3.', undefined, '3.'],
    [' ', undefined, ' '],
  ])('%s', (text, spoken, rest) => {
    const cutter = new PartCutter('en-US');
    expect(partsIn(cutter.push(text))).toEqual([]);
    expect(cutter.pause()).toBe(spoken);
    expect(cutter.flush()).toBe(rest);
  });
});

test('a text without certain ends of sentences is read in a step for each word', () => {
  expect([...new PartCutter('en-US').push('J. '.repeat(1_000))].length).toBeGreaterThan(990);
});
