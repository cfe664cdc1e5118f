// Tests how live text with markup is divided into parts while it arrives.
import { expect, onTestFinished, test, vi } from 'vitest';
import { atOnce } from '../../src/platform/runtime/steps.ts';
import { LiveText } from '../../src/speech/live-text.ts';

function partsOf(pieces: Iterable<string>): string[] {
  const text = new LiveText('en-US', 'ssml');
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
  ['blank', ' '],
  ['a comment', '<!--'],
  ['a document', '<speak>'],
])('text in small pieces is read a bounded number of times: %s', (_, first) => {
  const pieces = 4000;
  const charsRead = countCharsRead();
  partsOf([first, ...Array.from({ length: pieces }, () => ' ')]);
  expect(charsRead()).toBeLessThan(20 * pieces);
});

/** Counts the characters that patterns may read. */
function countCharsRead(): () => number {
  const { exec } = RegExp.prototype;
  let chars = 0;
  const spy = vi.spyOn(RegExp.prototype, 'exec').mockImplementation(function (this: RegExp, text: string) {
    chars += text.length - (this.global || this.sticky ? this.lastIndex : 0);
    return exec.call(this, text);
  });
  onTestFinished(() => spy.mockRestore());
  return () => chars;
}
