// Tests how live text with markup is divided into parts while it arrives.
import { expect, onTestFinished, test, vi } from 'vitest';
import { atOnce } from '../../src/platform/runtime/steps.ts';
import { LiveText } from '../../src/speech/live-text.ts';

function partsOf(pieces: Iterable<string>, markup: 'ssml' | 'none' = 'ssml'): string[] {
  const text = new LiveText('en-US', markup === 'ssml' ? markup : undefined);
  for (const piece of pieces) atOnce(text.append(piece));
  text.end();
  const parts: string[] = [];
  while (text.hasPart(parts.length)) parts.push(text.partAt(parts.length).text);
  return parts;
}

const rest = 'One two. Three four.\n\nFive six.\n\nSeven.';

test.each([
  `<speak>${rest}</speak>`,
  ` \n\ufeff <speak version="1.1">${rest}</speak>`,
  `<ssml:speak xmlns:ssml="x">${rest}</ssml:speak>`,
  `<?xml version="1.0"?> <!-- ${rest} --> <speak>${rest}</speak>`,
  `<!DOCTYPE speak><speak>${rest}</speak>`,
])('a document is one part, in whatever pieces it arrives: %j', (document) => {
  expect(partsOf([document])).toEqual([document]);
  expect(partsOf(document)).toEqual([document]);
});

test.each([
  rest,
  `   ${rest}`,
  `<speaker>${rest}`,
  `<b>${rest}</b>`,
  ` <a:b>${rest}`,
  `<${'s'.repeat(50)}>${rest}`,
  `x <speak>${rest}`,
])('other text is several parts, in whatever pieces it arrives: %j', (text) => {
  expect(partsOf([text]).length).toBeGreaterThan(1);
  expect(partsOf(text)).toEqual(partsOf([text]));
  expect(partsOf(text).join('')).toBe(text);
});

test.each(['', '  ', '<', ' <spea', '<ssml:'])('what never becomes a document is spoken at the end: %j', (text) => {
  expect(partsOf(text)).toEqual([text]);
});

test.each([
  ['ssml', ''],
  ['ssml', '<!--'],
  ['ssml', '<speak>'],
  ['none', ''],
  ['none', 'One'],
  ['none', 'One.'],
  ['none', '```\n'],
] as const)('white space in small pieces is read a bounded number of times: %s, %j', (markup, first) => {
  for (const space of [' ', '\n']) {
    const readTimes = (pieces: number) => {
      const charsRead = countCharsRead();
      expect(partsOf([first, ...space.repeat(pieces)], markup).join('')).toBe(first + space.repeat(pieces));
      return charsRead() / pieces;
    };
    expect(readTimes(16_000)).toBeLessThan(1.5 * readTimes(8000));
  }
});

/** Counts the characters that patterns, and removals of white space, may read. */
function countCharsRead(): () => number {
  const { exec } = RegExp.prototype;
  const { trim } = String.prototype;
  let chars = 0;
  const spies = [
    vi.spyOn(RegExp.prototype, 'exec').mockImplementation(function (this: RegExp, text: string) {
      chars += text.length - (this.global || this.sticky ? this.lastIndex : 0);
      return exec.call(this, text);
    }),
    vi.spyOn(String.prototype, 'trim').mockImplementation(function (this: string) {
      chars += this.length;
      return trim.call(this);
    }),
  ];
  const restore = () => {
    for (const spy of spies) spy.mockRestore();
  };
  onTestFinished(restore);
  return () => {
    restore();
    return chars;
  };
}
