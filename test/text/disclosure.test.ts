// Tests the sentence that discloses a synthetic voice, before plain text and in documents.
import { expect, test } from 'vitest';
import { withDisclosure } from '../../src/text/disclosure.ts';

const sentence = 'This voice is synthetic.';
const marked = (text: string) => withDisclosure(text, true, 'en-US');

test('it precedes plain text', () => {
  expect(withDisclosure('Hello.', false, 'en-US')).toBe(`${sentence}\n\nHello.`);
});

test('it follows the opening tag of a document, not one in a comment', () => {
  expect(marked('<!-- <speak> --><speak>Hi.</speak>')).toBe(`<!-- <speak> --><speak><p>${sentence}</p>Hi.</speak>`);
  expect(marked('<?xml version="1.0"?>\n<s:speak>Hi.</s:speak>')).toContain(`<s:speak><s:p>${sentence}</s:p>Hi.`);
});

test('it states its language if the document states another', () => {
  expect(marked('<speak xml:lang="de">Hallo.</speak>')).toContain(`<p xml:lang="en-US">${sentence}</p>`);
});

test('it is refused where it cannot be spoken', () => {
  expect(() => marked('<speak/>')).toThrow();
  expect(() => withDisclosure('Hi.', false, 'tlh')).toThrow();
});
