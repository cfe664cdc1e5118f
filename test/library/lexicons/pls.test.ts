// Tests pronunciation lexicons in the W3C format: reading, writing, and refusals with line and column.
import { expect, test } from 'vitest';
import { readPls, writePls } from '../../../src/library/lexicons/pls.ts';
import { atOnce } from '../../../src/platform/runtime/steps.ts';
import type { LexiconEntry } from '../../../src/text/lexicon.ts';

const head =
  '<?xml version="1.0" encoding="UTF-8"?>\n<lexicon version="1.0" xmlns="http://www.w3.org/2005/01/pronunciation-lexicon" alphabet="ipa" xml:lang="en-US">\n';
const entriesOf = (body: string) => atOnce(readPls(`${head}${body}</lexicon>`, 100)).entries;

test('the examples of the specification are read', () => {
  const entries = entriesOf(`
  <lexeme><grapheme>La vita è bella</grapheme><phoneme>ˈlɑ ˈviːɾə ˈʔeɪ ˈbɛlə</phoneme></lexeme>
  <lexeme><grapheme>Newton</grapheme><phoneme>ˈnutən</phoneme><phoneme prefer="true">ˈnjutən</phoneme></lexeme>
  <lexeme><grapheme>color</grapheme><grapheme>colour</grapheme><phoneme>ˈkʌlər</phoneme></lexeme>
  <lexeme><grapheme>W3C</grapheme><alias>World Wide Web Consortium</alias></lexeme>
  <lexeme><!-- none --><grapheme>R&amp;D</grapheme><alias>research &#x26; <![CDATA[development]]></alias><example>R</example></lexeme>
  <lexeme><grapheme>silent</grapheme></lexeme>`);
  const languageCode = 'en-US';
  const alphabet = 'ipa';
  expect(entries).toEqual([
    { grapheme: 'La vita è bella', phoneme: 'ˈlɑ ˈviːɾə ˈʔeɪ ˈbɛlə', alphabet, languageCode },
    { grapheme: 'Newton', phoneme: 'ˈnjutən', alphabet, languageCode },
    { grapheme: 'color', phoneme: 'ˈkʌlər', alphabet, languageCode },
    { grapheme: 'colour', phoneme: 'ˈkʌlər', alphabet, languageCode },
    { grapheme: 'W3C', alias: 'World Wide Web Consortium', languageCode },
    { grapheme: 'R&D', alias: 'research & development', languageCode },
  ]);
});

test('metadata may hold anything', () => {
  const own = '<metadata>All <own:lexeme xmlns:own="urn:own">of it<x/></own:lexeme></metadata>';
  const entries = entriesOf(
    `${own}<lexeme><grapheme>a</grapheme><alias>b</alias><example>A <i>b</i>.</example></lexeme>`,
  );
  expect(entries).toEqual([{ grapheme: 'a', alias: 'b', languageCode: 'en-US' }]);
});

test('what is written is read as it was', () => {
  const entries: LexiconEntry[] = [
    { grapheme: 'A<B> & "C"', alias: 'a & b', languageCode: 'de-DE' },
    { grapheme: 'gif', phoneme: 'dʒɪf', alphabet: 'ipa', case: 'insensitive', languageCode: 'de-DE' },
    { grapheme: 'tomato', phoneme: 'təˈmɑːtəʊ', alphabet: 'ipa', languageCode: 'de-DE' },
  ];
  expect(atOnce(readPls(writePls('My <own> "names"', entries, 'de-DE'), 10))).toEqual({
    name: 'My <own> "names"',
    entries,
  });
});

test.each([
  ['not closed', '<lexeme><grapheme>a</grapheme>', 'line 3, column 31: unexpected close tag'],
  ['closed wrongly', '<lexeme>\n <grapheme>a</alias></lexeme>', 'line 4, column 13: unexpected close tag'],
  ['a bare ampersand', '<lexeme><grapheme>a & b</grapheme></lexeme>', 'line 3, column'],
  ['an unknown entity', '<lexeme><grapheme>&lol9;</grapheme></lexeme>', 'line 3, column'],
  [
    'a lexeme without a grapheme',
    '<lexeme><alias>a</alias></lexeme>',
    'line 3, column 1: a lexeme must have a grapheme',
  ],
  ['an empty grapheme', '<lexeme><grapheme> </grapheme></lexeme>', 'line 3, column 9: a grapheme must not be empty'],
  [
    'another alphabet',
    '<lexeme><grapheme>a</grapheme>\n<phoneme alphabet="x-own">a</phoneme></lexeme>',
    'line 4, column 1: the alphabet must be ipa',
  ],
  [
    'what is no IPA',
    '<lexeme><grapheme>a</grapheme><phoneme>123</phoneme></lexeme>',
    'line 3, column 31: the phoneme is not written in ipa, which has no 1 2 3',
  ],
  ['a misspelt lexeme', '<lexem><grapheme>a</grapheme></lexem>', 'line 3, column 1: lexem is not allowed in lexicon'],
  [
    'a misspelt pronunciation',
    '<lexeme><grapheme>a</grapheme><phonem>a</phonem></lexeme>',
    'line 3, column 31: phonem is not allowed in lexeme',
  ],
  [
    'an element in a grapheme',
    '<lexeme><grapheme>a<b>b</b></grapheme></lexeme>',
    'column 20: b is not allowed in grapheme',
  ],
  ['a lexicon in a lexicon', '<lexicon/>', 'line 3, column 1: lexicon is not allowed in lexicon'],
  ['loose text', '<lexeme>tomato<alias>a</alias></lexeme>', 'line 3, column 1: lexeme has text between its elements'],
  ['loose text at the end', '<meta/> tomato', 'line 2, column 1: lexicon has text between its elements'],
  ['too deep', `<metadata>${'<a>'.repeat(20)}`, 'line 3, column 53: elements are nested deeper than 16'],
])('%s is refused with its place', (_, body, message) => {
  expect(() => entriesOf(body)).toThrow(message);
});

test('entity bombs, other documents and too many entries are refused', () => {
  const bomb = `<?xml version="1.0"?>\n<!DOCTYPE lexicon [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>\n<lexicon><lexeme><grapheme>&b;</grapheme></lexeme></lexicon>`;
  expect(() => atOnce(readPls(bomb, 10))).toThrow('line 2, column 1: a document type declaration is not allowed');
  expect(() => atOnce(readPls('<speak>Hello</speak>', 10))).toThrow(
    'line 1, column 1: the document must be a lexicon element',
  );
  expect(() => atOnce(readPls('Hello', 10))).toThrow('line 1');
  expect(() => atOnce(readPls(`${head}<lexeme>`, 10))).toThrow('line 3, column 1: unclosed tag');
  const lexeme = '<lexeme><grapheme>a</grapheme><alias>b</alias></lexeme>\n';
  expect(() => entriesOf(lexeme.repeat(101))).toThrow('line 103, column 1: more than 100 entries');
});

test('what follows without another tag is limited: the parser holds each of its references', () => {
  const metadata = (text: string) => `<metadata>${text}</metadata>`;
  const lexeme = '<lexeme><grapheme>a</grapheme><alias>b</alias></lexeme>';
  expect(entriesOf(`${metadata('&amp;'.repeat(13_000))}${lexeme}`)).toHaveLength(1);
  const refused = 'line 3, column 1: more than 65536 characters follow without another tag';
  for (const text of ['&amp;'.repeat(14_000), '&amp;<!---->'.repeat(6_000), `<!--${'-<'.repeat(40_000)}-->`])
    expect(() => entriesOf(`${metadata(text)}${lexeme}`)).toThrow(refused);
});
