// Tests the tags in plain text for vendors' APIs.
import { expect, test } from 'vitest';
import { withoutVendorTags } from '../../src/text/inline-tags.ts';
import { PartCutter } from '../../src/text/part-cutter.ts';
import { readMarkup } from '../../src/text/ssml.ts';

const read = (text: string) => {
  const { items, ignored, chars } = readMarkup(text, 'vendor');
  const parts = items.map((item) =>
    item.kind === 'pause'
      ? item.ms
      : item.pieces.map(({ text, said }) => (said ? [text, said.kind === 'phonemes' ? said.ipa : said.kind] : text)),
  );
  return { parts, ignored, chars };
};

test.each([
  ['One.<break time="1.5s"/> Two.', [['One.'], 1500, [' Two.']], []],
  ["One.<break time='300ms' > Two.", [['One.'], 300, [' Two.']], []],
  ['One.<break/>Two.', [['One.'], 500, ['Two.']], []],
  ['<spell>A4B</spell> is it', [[['A4B', 'say-as'], ' is it']], []],
  ['I have <<m|ɛ|t>> her.', [['I have ', ['mɛt', 'mɛt'], ' her.']], []],
  ['<phoneme alphabet="ipa" ph="təˈmeɪtoʊ">tomato</phoneme> soup', [[['tomato', 'təˈmeɪtoʊ'], ' soup']], []],
  ['<phoneme alphabet="cmu-arpabet" ph="T AH">tomato</phoneme> soup', [['tomato', ' soup']], ['phoneme']],
  [
    '<emotion value="sad"/>So <speed ratio="1.5"/>it <volume ratio="0.5"/>is.',
    [['So ', 'it ', 'is.']],
    ['emotion', 'speed', 'volume'],
  ],
  ['<<Bonjour>>', [['<<Bonjour>>']], []],
  ['a < b, <i>c</i>, 3 << 2 and x>>y', [['a < b, <i>c</i>, 3 << 2 and x>>y']], []],
])('%s', (text, parts, ignored) => {
  expect(read(text)).toMatchObject({ parts, ignored });
});

test.each([
  ['say <spell>pl</spell>, p.', 'pl, p.', 11],
  ['<phoneme ph="tə">o</phoneme>x', 'ox', 17],
  ['<<m|ɛ|t>>', 'mɛt', 2],
])('%s: the text inside a tag keeps its place', (text, written, from) => {
  const { items } = readMarkup(text, 'vendor');
  const said = items.flatMap((item) => (item.kind === 'run' ? item.pieces : [])).find((piece) => piece.said);
  expect(said!.from).toBe(from);
  expect(withoutVendorTags(text).join('')).toContain(written);
  expect(withoutVendorTags(text)).toHaveLength([...text].length);
});

test.each([
  ['between spaces', ' <break time="0s"/>'],
  ['without spaces', '<break time="0s"/>'],
])('a part of a text that is spoken as it arrives does not end inside a tag, %s', (_, tag) => {
  const text = `${tag.repeat(150)} One. `.repeat(10);
  const cutter = new PartCutter('en');
  const parts = [...cutter.push(text), cutter.flush()].filter((part) => part !== undefined);
  expect(parts.join('')).toBe(text);
  expect(parts.length).toBeGreaterThan(5);
  expect(parts.filter((part) => /<break\s*$|^\s*time=/.test(part))).toEqual([]);
});

test('charges what is spoken, not the tags', () => {
  expect(read('One.<break time="1s"/>Two <spell>AB</spell>.').chars).toBe('One.Two AB.'.length);
});

test.each([
  ['long phonemes', '<phoneme ph="təˈmeɪtoʊ">a</phoneme>.', 'təˈmeɪtoʊ.'],
  ['a long text', '<phoneme ph="tə">tomato</phoneme>.', 'tomato.'],
  ['each tag', '<<t|ə>> <phoneme ph="təˈmeɪtoʊ">a</phoneme> <phoneme ph="tə">tomato</phoneme>', 'tə təˈmeɪtoʊ tomato'],
])('charges the longer of phonemes and their text: %s', (_, text, charged) => {
  expect(read(text).chars).toBe([...charged].length);
  expect(readMarkup(`<speak>${text.replace('<<t|ə>>', 'tə')}</speak>`, 'ssml').chars).toBe([...charged].length);
});

test('spaces around a text do not hide its phonemes', () => {
  const document = `<speak><phoneme ph="təˈmeɪtoʊ">a${' '.repeat(50)}</phoneme></speak>`;
  expect(readMarkup(document, 'ssml').chars).toBe('təˈmeɪtoʊ'.length);
});

test('refuses a pause that is too long', () => {
  expect(() => read('One.<break time="30s"/>')).toThrow('a pause can last at most 20 s');
});

test('reads hostile text in linear time', () => {
  const steps = (count: number) => {
    const text = '<break '.repeat(count) + '<phoneme a="'.repeat(count) + '<<'.repeat(count);
    return read(text).chars;
  };
  expect(steps(20_000)).toBe(20_000 * 21);
});
