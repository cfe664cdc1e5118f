// Tests where text is cut, and to which words of the caller's chunk each cut maps.
import { expect, test } from 'vitest';
import { readParagraph, windowCharsMax } from '../../src/text/paragraphs.ts';
import { type Cut, type SegmentOptions, segmentText } from '../../src/text/segment.ts';

const cut = (text: string, options: Partial<SegmentOptions> = {}): Cut[] => [
  ...segmentText(text, { languageCode: 'en-US', spellOut: true, segmentCharsMax: 240, ...options }),
];
const texts = (text: string, options: Partial<SegmentOptions> = {}): string[] =>
  cut(text, options).map(({ text }) => text);
/** The caller's text of each span, by code points. */
const sources = (text: string, cuts: readonly Cut[]): string[] => {
  const chars = [...text];
  return cuts.flatMap(({ spans }) => spans.map(({ offset, length }) => chars.slice(offset, offset + length).join('')));
};

const prose =
  'The harbour was quiet when Margaret arrived, carrying two heavy suitcases and a letter she had not yet opened. ' +
  'Grey clouds moved slowly over the water, and somewhere behind the warehouses a dog barked three times. ' +
  'She checked her watch; it was twenty past six, which meant the ferry was already late.';

test('the first cut is short and ends at a breath, the second is at most twice that, the others are sentences', () => {
  const cuts = cut(`${prose} ${prose}`, { firstCharsMax: 60 });
  expect(cuts[0]).toMatchObject({ text: 'The harbour was quiet when Margaret arrived,', breakAfter: 'clause' });
  expect(cuts[1]!.text.length).toBeLessThanOrEqual(120);
  expect(cuts[1]!.breakAfter).toBe('sentence');
  expect(cuts[2]!.text).toMatch(/^Grey clouds .* times\.$/);
  for (const { text } of cuts) expect(text.length).toBeLessThanOrEqual(240);
  expect(cuts).toHaveLength(7);
});

test.each([
  'It was Tom.|Then he left.',
  'Yes.|Then we go.',
  'No.|Then we stay.',
  'Go.|He is here.',
  'We met Bob.|He left.',
  'It was made in the U.S.|She left.',
  'Hi.|How are you?|I am fine.|And you?|Good.',
])('each sentence is a cut: %s', (text) => {
  const whole = text.replaceAll('|', ' ');
  expect(texts(whole, { spellOut: false })).toEqual(text.split('|'));
  expect(texts(whole)).toHaveLength(text.split('|').length);
});

test.each([
  'He is 5 ft. 3 in. tall.|She is not.',
  'It weighs 5 lb. 3 oz. now.|It is heavy.',
  'He ran 3 mi.|2 of us stayed.',
  'Rs. 500 is a lot.|I paid Rs. 20.',
])('a measure is not divided: %s', (text) => {
  const starts = cut(text.replace('|', ' ')).map(({ spans: [first] }) => first!.offset);
  expect(starts).toEqual([0, text.indexOf('|') + 1]);
});

test('a sentence that is too long is cut at its breaths', () => {
  const long = `${'and the boat went on, '.repeat(19)}and then it was home.`;
  const cuts = texts(`${long} Good.`, { segmentCharsMax: 300 });
  expect(cuts.join(' ')).toBe(`${long} Good.`);
  expect(cuts.at(-1)).toBe('Good.');
  for (const text of cuts) expect(text.length).toBeLessThanOrEqual(300);
  // The first cuts are always short, so that audio starts soon.
  const [first, second] = texts(long, { segmentCharsMax: 300, firstCharsMax: 20 });
  expect(first!.length).toBeLessThanOrEqual(20);
  expect(second!.length).toBeLessThanOrEqual(40);
});

test('where there is no punctuation, a cut comes before a conjunction, and not after an article', () => {
  const text =
    'In the beginning was the word and the word was with the people who had come from the far side of the mountains';
  expect(texts(text, { segmentCharsMax: 45 })).toEqual([
    'In the beginning was the word',
    'and the word was with the people who had come',
    'from the far side of the mountains',
  ]);
  expect(texts('He walked along beside the river until nobody could see him', { segmentCharsMax: 26 })).toEqual([
    'He walked along beside',
    'the river',
    'until nobody could see him',
  ]);
});

test('the end of a sentence is not left to a cut of its own', () => {
  const cuts = texts('The old ferry that had carried them over the water so many times was finally gone.', {
    segmentCharsMax: 76,
  });
  expect(cuts).toHaveLength(2);
  expect(cuts[1]!.length).toBeGreaterThan(20);
});

test.each([
  'Dr. Smith met Mr. J. R. R. Tolkien.|They talked.',
  'It was made by Apple Inc. in the U.S. for them.|It works.',
  'See e.g. Paris or p. 5 of No. 7.|Then go.',
  'We left at 5 p.m. on Monday.|We were late.',
  'She came at 5 p.m.|Peter left.',
  'It happened in Jan. 1950.|He was born then.',
  'It is 3.14 exactly.|See https://x.com/a.b?c=d for more.',
  'He waited... and waited…|Then he left.',
  '"Really?" he said.|"Yes!" she cried.',
  'He said "Stop."|Then (it was late.)|She slept.',
  'He was 5.|6 people came.',
  'Come in.|Peter is here.',
  'He left.|iPhone sales rose.',
  'What?!|No.|Why not?',
])('sentences: %s', (text) => {
  const parts = text.split('|');
  const joined = parts.join(' ');
  const max = Math.max(...parts.map((part) => part.length));
  // With the longest sentence as the limit, every cut ends with a sentence.
  const cuts = cut(joined, { spellOut: false, segmentCharsMax: max });
  const ends = cuts.filter(({ breakAfter }) => breakAfter === 'sentence' || breakAfter === 'paragraph');
  expect(ends).toHaveLength(cuts.length);
  expect(cuts.map(({ text }) => text).join(' ')).toBe(joined);
  for (const { text } of cuts) expect(parts.some((part) => text.endsWith(part))).toBe(true);
});

test('a number of a list stays with its item', () => {
  expect(texts('1. First we go out and look around.', { segmentCharsMax: 20, spellOut: false })[0]).toMatch(
    /^1\. First/,
  );
});

test.each([
  ['ja-JP', ['今日は天気がいいですね。', '明日も晴れるでしょう！', '「はい」と言いました。']],
  ['zh-CN', ['你好，我叫小明。', '你今年多大了？']],
  ['ar', ['هل أنت هنا؟', 'نعم، أنا هنا منذ الصباح.']],
  ['hi', ['आप कैसे हैं?', 'मैं ठीक हूँ, धन्यवाद।', 'आज मौसम बहुत अच्छा है।']],
  ['he', ['מה שלומך?', 'אני בסדר, תודה.']],
  ['el', ['Πού είσαι;', 'Είμαι εδώ.']],
])('sentences in %s', (languageCode, parts) => {
  const glue = languageCode === 'ja-JP' || languageCode === 'zh-CN' ? '' : ' ';
  const text = parts.join(glue);
  const cuts = texts(text, { languageCode, spellOut: false, segmentCharsMax: Math.max(...parts.map((p) => p.length)) });
  expect(cuts.join(glue)).toBe(text);
  if (languageCode !== 'el') expect(cuts).toEqual(parts);
});

test('Thai is cut between words, at its spaces where it can be', () => {
  const text = 'สวัสดีครับผมชื่อสมชาย ยินดีที่ได้รู้จักครับ วันนี้อากาศดีมากเราไปเที่ยวกันไหมครับ';
  const cuts = cut(text, { languageCode: 'th', spellOut: false, segmentCharsMax: 30 });
  expect(cuts[0]).toMatchObject({ text: 'สวัสดีครับผมชื่อสมชาย', breakAfter: 'clause' });
  const words = [...new Intl.Segmenter('th', { granularity: 'word' }).segment(text)].map(({ index }) => index);
  for (const { spans } of cuts) expect(words).toContain(spans[0]!.offset);
});

test('paragraphs, headings and items of lists end a cut', () => {
  const cuts = cut('# One\nTwo three.\n\n- four\n- five\n\nSix.');
  expect(cuts.map(({ text }) => text)).toEqual(['One', 'Two three.', 'four', 'five', 'Six.']);
  for (const { breakAfter } of cuts.slice(0, -1)) expect(breakAfter).toBe('paragraph');
});

test('what has no space is broken, and nothing of it is lost', () => {
  const cuts = cut('a'.repeat(5000), { firstCharsMax: 60 });
  expect(cuts.map(({ text }) => text.length).slice(0, 3)).toEqual([60, 120, 240]);
  expect(cuts.map(({ text }) => text).join('')).toBe('a'.repeat(5000));
});

test('a long number or address is divided between its words only', () => {
  for (const text of [
    `The number is ${'1234567890'.repeat(40)}.`,
    `Visit https://example.com/${'path/'.repeat(60)}now.`,
  ]) {
    const whole = texts(text, { segmentCharsMax: 100_000 }).join(' ');
    const cuts = texts(text, { firstCharsMax: 60 });
    expect(cuts.join(' ')).toBe(whole);
    for (const part of cuts) expect(part.length).toBeLessThanOrEqual(240);
  }
});

test('spans are the words of the source, in code points', () => {
  const text = '😀 “Hello,” she paid $19.99 on Dec. 25, 2024 — 𝐰𝐨𝐰 (£3 billion)!';
  const cuts = cut(text);
  expect(sources(text, cuts)).toEqual([
    'Hello',
    'she',
    'paid',
    '$19.99',
    'on',
    'Dec.',
    '25',
    '2024',
    '𝐰𝐨𝐰',
    '£3 billion',
  ]);
  const [{ text: said, spans }] = cuts as [Cut];
  expect(spans.map(({ from, to }) => said.slice(from, to))).toEqual([
    ...['"Hello,"', 'she', 'paid', 'nineteen dollars and ninety nine cents', 'on', 'December', 'twenty fifth,'],
    ...['twenty twenty four,', 'wow', '(three billion pounds)!'],
  ]);
});

test('the colours of a terminal are not spoken, and the words after them keep their place', () => {
  const text = '\u001b[31mRed\u001b[0m and \u001b[1mbold\u001b[0m.';
  const cuts = cut(text);
  expect(cuts.map((each) => each.text)).toEqual(['Red and bold.']);
  expect(sources(text, cuts)).toEqual(['Red', 'and', 'bold']);
});

test('spans of scripts without spaces are their words', () => {
  const text = '😀東京は大きい。';
  expect(sources(text, cut(text, { languageCode: 'ja', spellOut: false }))).toEqual(['東京', 'は', '大きい']);
});

test('a paragraph longer than a window reads like its parts', () => {
  const long = `${prose} `.repeat(40);
  const said = texts(long, { segmentCharsMax: 100_000 });
  expect(said.join(' ')).toBe(`${prose} `.repeat(40).trim());
  expect(said).toHaveLength(120);
  expect(sources(long, cut(long)).join(' ')).toBe(long.match(/[\w']+/g)!.join(' '));
});

test('a text is looked at one window at a time', () => {
  const long = 'word '.repeat(100_000);
  const state = { fence: '', within: false };
  const first = readParagraph(long, 0, state)!;
  expect(first.to - first.from).toBeLessThanOrEqual(windowCharsMax);
  expect(first.whole).toBe(false);
  const cuts = segmentText(long, { languageCode: 'en', spellOut: true, segmentCharsMax: 240, firstCharsMax: 60 });
  expect(cuts.next().value).toMatchObject({ text: 'word '.repeat(12).trim() });
});

test.each([
  ['50 headings', '# a\n'.repeat(50), 50],
  ['50 000 characters of ranges', '1–2'.repeat(50_000 / 3), 25],
])('%s are read in many steps', (_name, text, steps) => {
  const places = new Set(cut(text).map(({ spans: [first] }) => first!.offset));
  expect(places.size).toBeGreaterThanOrEqual(steps);
});

test('text in which nothing can be said has no cuts', () => {
  for (const text of ['', ' \n\n ', '😀', '... !!! ---', '\u0000\u200b', '```\n```']) expect(cut(text)).toEqual([]);
});
