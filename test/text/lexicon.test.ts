// Tests which words of a text are matched by lexicons, and the resulting marked text.
import { expect, test } from 'vitest';
import { atOnce } from '../../src/platform/runtime/steps.ts';
import { applyLexicons } from '../../src/text/apply-lexicons.ts';
import { type LexiconEntry, matchLexicons } from '../../src/text/lexicon.ts';
import { type MarkedText, plainText } from '../../src/text/marked-text.ts';
import { readSsml } from '../../src/text/ssml.ts';
import { compileLexicon } from './compile-lexicon.ts';

const entriesOf = (graphemes: readonly (string | LexiconEntry)[]): LexiconEntry[] =>
  graphemes.map((each) => (typeof each === 'string' ? { grapheme: each, alias: `<${each}>` } : each));

/** The text with the replacements of matched words. */
function said(text: string, lexicons: readonly (readonly (string | LexiconEntry)[])[], languageCode = 'en-US'): string {
  const compiled = lexicons.map((entries) => compileLexicon(entriesOf(entries)));
  let out = '';
  let end = 0;
  for (const match of matchLexicons(compiled, text, languageCode)) {
    if (!match) continue;
    const { from, to, said } = match;
    out += text.slice(end, from) + (said.kind === 'alias' ? said.text : '?');
    end = to;
  }
  return out + text.slice(end);
}

const piecesOf = ({ items }: MarkedText) =>
  items.flatMap((item) => (item.kind === 'run' ? item.pieces : [])).flatMap(({ text, said: by }) => (by ? [text] : []));
const applied = (text: MarkedText, entries: readonly (string | LexiconEntry)[], languageCode = 'en-US') =>
  atOnce(applyLexicons(text, () => ({ lexicons: [compileLexicon(entriesOf(entries))], languageCode })));

test('the longest entry wins, and of the first lexicon where two are as long', () => {
  expect(said('New York City and New York', [['New York', 'New', 'New York City']])).toBe(
    '<New York City> and <New York>',
  );
  const first: LexiconEntry[] = [{ grapheme: 'SQL', alias: 'sequel' }];
  const second: LexiconEntry[] = [
    { grapheme: 'SQL', alias: 'ess queue ell' },
    { grapheme: 'SQL Server', alias: 'database' },
  ];
  expect(said('SQL and SQL Server', [first, second])).toBe('sequel and database');
  expect(said('SQL', [second, first])).toBe('ess queue ell');
});

test('only whole words match', () => {
  const entries = [['cat', '𝐀', 'don', 'Anna', 'U.S', 'C++', '.NET', 'amp', '5', '3.5', 'AT&T', 'example', 'info']];
  const left = [
    'concat cats',
    'don’t',
    "don't",
    'U.S.A',
    'a 55 b',
    '1,5',
    '5.1',
    'ASP.NET',
    'R&amp;D',
    'cafe\u0301',
    '𝐀.b',
  ];
  for (const text of [...left, 'example.com', 'info@host', 'the cat\u0301', 'snake_cat'])
    expect(said(text, entries)).toBe(text);
  expect(said('“cat”, cat-like (cat).', entries)).toBe('“<cat>”, <cat>-like (<cat>).');
  expect(said("Anna's cat; l'Anna", entries)).toBe("<Anna>'s <cat>; l'<Anna>");
  expect(said('C++ and .NET cost 3.5 or 5.', entries)).toBe('<C++> and <.NET> cost <3.5> or <5>.');
  expect(said('AT&T', entries)).toBe('<AT&T>');
});

test('letters of either case match where the entry says so', () => {
  const entries: LexiconEntry[] = [
    { grapheme: 'Polish', alias: 'polnisch' },
    { grapheme: 'gif', alias: 'jif', case: 'insensitive' },
    { grapheme: 'GIF', alias: 'exactly', case: 'sensitive' },
  ];
  expect(said('polish Polish GIF gif Gif', [entries])).toBe('polish polnisch exactly jif jif');
  expect(said('İSTANBUL istanbul', [[{ grapheme: 'Istanbul', alias: 'city', case: 'insensitive' }]])).toBe(
    'İSTANBUL city',
  );
});

test('signs that are alike match each other, and so do composed and decomposed letters', () => {
  expect(said('O’Neill, café, cafe\u0301', [["O'Neill", 'café']])).toBe("<O'Neill>, <café>, <café>");
  expect(said('Coca‑Cola', [['Coca-Cola']])).toBe('<Coca-Cola>');
});

test('in scripts without spaces, Han matches anywhere, and others where a word is', () => {
  expect(said('東京都へAWSを', [['東京', 'AWS']])).toBe('<東京>都へ<AWS>を');
  expect(said('アイスとアイ', [['アイ']])).toBe('アイスと<アイ>');
  expect(said('他在重庆市。', [['重庆']], 'zh-CN')).toBe('他在<重庆>市。');
  expect(said('ฉันรักภาษาไทย', [['ภาษา']], 'th-TH')).toBe('ฉันรัก<ภาษา>ไทย');
});

test('an entry of a language is for text in it', () => {
  const entries: LexiconEntry[] = [
    { grapheme: 'Paris', alias: 'Pa-ri', languageCode: 'fr' },
    { grapheme: 'Paris', alias: 'Pair iss', languageCode: 'en-GB' },
  ];
  expect(said('Paris', [entries], 'fr-CA')).toBe('Pa-ri');
  expect(said('Paris', [entries], 'en-GB')).toBe('Pair iss');
  expect(said('Paris', [entries], 'en-US')).toBe('Paris');
});

test('what Markdown and HTML do not speak is left alone', () => {
  const text =
    '**AWS** [AWS docs](https://AWS.com/AWS "AWS") <span title="AWS">AWS</span> `AWS` https://x.io/AWS _AWS_ New\n   York';
  const marked = applied(plainText(text), ['AWS', 'New York']);
  expect(piecesOf(marked)).toEqual(['AWS', 'AWS', 'AWS', 'AWS', 'AWS', 'New\n   York']);
  const [run] = marked.items;
  const joined = run?.kind === 'run' ? run.pieces.map((piece) => text.slice(piece.from, piece.to)).join('') : '';
  expect(joined).toBe(text);
});

test('in a document, words match across references, and what the caller marks stays as it is', () => {
  const source =
    '<speak>AT&amp;T, <sub alias="x">AWS</sub> <say-as interpret-as="characters">AWS</say-as> A<mark name="m"/>WS <emphasis>AWS</emphasis> &#x41;WS</speak>';
  const marked = applied(readSsml(source), [{ grapheme: 'AT&T', alias: 'phone company' }, 'AWS']);
  const pieces = marked.items.flatMap((item) => (item.kind === 'run' ? item.pieces : []));
  const aliases = pieces.flatMap((piece) =>
    piece.said?.kind === 'alias' ? [[piece.said.text, source.slice(piece.from, piece.to), piece.emphasis]] : [],
  );
  expect(aliases).toEqual([
    ['phone company', 'AT&amp;T', undefined],
    ['x', 'AWS', undefined],
    ['<AWS>', 'AWS', 'moderate'],
    ['<AWS>', '&#x41;WS', undefined],
  ]);
  expect(marked.chars).toBe([...'phone company, x AWS AWS <AWS> <AWS>'].length);
});

test('a text without any match stays the same', () => {
  const text = plainText('Nothing of it is here.');
  expect(applied(text, ['AWS'])).toBe(text);
});

test('a text is matched in a step for each word', () => {
  const lexicons = [compileLexicon(entriesOf(['b']))];
  const steps = applyLexicons(plainText('a b '.repeat(500)), () => ({ lexicons, languageCode: 'en' }));
  expect([...steps].length).toBeGreaterThanOrEqual(1_000);
});
