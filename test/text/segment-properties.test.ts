// Tests the properties of every segmented text: no letter or digit is lost, spans are in order and in range, limits are
// kept, and the result can be spoken. The texts are deterministic, made of awkward fragments.
import { expect, test } from 'vitest';
import { segmentText } from '../../src/text/segment.ts';
import { createRandom, createText } from './random-text.ts';

const speakable = /[\p{L}\p{N}]/u;

/** Faults in the cuts of a text, as sentences; empty if there are none. */
function findFaults(text: string, languageCode: string, spellOut: boolean, limits: [number, number]): string[] {
  const faults: string[] = [];
  const [firstCharsMax, segmentCharsMax] = limits;
  const chars = [...text];
  const covered = new Uint8Array(chars.length);
  let offset = 0;
  const cuts = segmentText(text, { languageCode, spellOut, segmentCharsMax, firstCharsMax });
  for (const [i, cut] of [...cuts].entries()) {
    const limit = Math.min(firstCharsMax * [1, 2][i]! || segmentCharsMax, segmentCharsMax);
    if (cut.text.length > limit) faults.push(`longer than ${limit}: ${cut.text}`);
    if (cut.text !== cut.text.trim() || !speakable.test(cut.text)) faults.push(`nothing said: "${cut.text}"`);
    if (!cut.text.isWellFormed() || /[\p{Cc}\u200b\u00ad\u{1F000}-\u{1FAFF}]/u.test(cut.text))
      faults.push(`noise: ${cut.text}`);
    if (spellOut && /[^A-Za-zÀ-ɏ ,.;:!?"'()-]/.test(cut.text)) faults.push(`not spelled out: ${cut.text}`);
    let end = 0;
    for (const span of cut.spans) {
      const between = cut.text.slice(end, span.from);
      if (span.from < end || span.to > cut.text.length || between.trim() !== '')
        faults.push(`a span astray: ${cut.text}`);
      if (span.offset < offset || span.offset + span.length > chars.length) faults.push(`a source astray: ${cut.text}`);
      if (!speakable.test(cut.text.slice(span.from, span.to)) || span.length < 1)
        faults.push(`a mute span: ${cut.text}`);
      covered.fill(1, span.offset, span.offset + span.length);
      end = span.to;
      offset = span.offset;
    }
    if (end !== cut.text.length) faults.push(`text after the last span: ${cut.text}`);
  }
  chars.forEach((char, i) => {
    if (speakable.test(char) && covered[i] === 0)
      faults.push(`lost ${char} near ${chars.slice(i - 10, i + 10).join('')}`);
  });
  return faults;
}

test.each([
  ['en-US', true],
  ['de-DE', true],
  ['fr-FR', true],
  ['es-MX', true],
  ['it-IT', true],
  ['pt-PT', true],
  ['nl-NL', true],
  ['sv-SE', true],
  ['pl-PL', true],
  ['da-DK', true],
  ['en-GB', false],
  ['ja-JP', false],
  ['th', false],
] as const)('nothing is lost and everything is in order: %s, spelled out %s', (languageCode, spellOut) => {
  for (let seed = 1; seed <= 500; seed++) {
    const random = createRandom(seed);
    const text = createText(random);
    const limits: [number, number] = [20 + Math.floor(random() * 60), 40 + Math.floor(random() * 200)];
    expect(findFaults(text, languageCode, spellOut, limits), JSON.stringify(text)).toEqual([]);
  }
});

test('plain words come out as they went in, whatever stands around them', () => {
  const nouns = 'harbour lantern mountain river window garden letter winter sailor morning'.split(' ');
  for (let seed = 1; seed <= 300; seed++) {
    const random = createRandom(seed);
    const words = Array.from({ length: 30 }, () => nouns[Math.floor(random() * nouns.length)]!);
    const dress = (word: string): string => {
      const clothes = ['', '', '**', '*', '_', '__', '`', '"', '~~', '***'];
      const cloth = clothes[Math.floor(random() * clothes.length)]!;
      const breaks = [
        ' ',
        ' ',
        ' ',
        '\n',
        '\n\n',
        '\n- ',
        '\n\n# ',
        ', ',
        '. ',
        ' — ',
        '\n> ',
        ' <b>',
        ' <br> ',
        ' 😀 ',
        '\n\n1. ',
      ];
      const link = random() < 0.1 ? `[${word}](https://example.com/x "title")` : word;
      return `${cloth}${link}${cloth}${breaks[Math.floor(random() * breaks.length)]}`;
    };
    const text = words.map(dress).join('');
    const said = [...segmentText(text, { languageCode: 'en', spellOut: true, segmentCharsMax: 200 })];
    const heard = said.flatMap(({ text }) => text.match(/[a-z]+/g) ?? []).filter((word) => nouns.includes(word));
    expect(heard, JSON.stringify(text)).toEqual(words);
  }
});

const adversaries = [
  ...'a 1 . , ( [ * _ ` < ! - / @ # $ & 北 ก 😀 ½ a. 1, 1- 1/ 1: 1. 1x a@ a@b. ]( []( [a](b **a <!-- &# http:// (1'.split(
    ' ',
  ),
  ...'``a` <b> Ab a\' a— 日本。 ~~ "a |-|\n'.split(' '),
  ...[' ', '\ud800', '\u0300', '\n', '<a ', '+1 ', '- \n', '> ', '# \n', '| ', 'IV ', '9 9', 'e.g. ', 'J. '],
];

test.each(adversaries)('10,000 characters of %j keep to the limits', (fragment) => {
  const text = fragment.repeat(10_000 / fragment.length);
  for (const [languageCode, spellOut] of [
    ['en', true],
    ['en', false],
    ['de', true],
    ['fr', true],
  ] as const) {
    for (const cut of segmentText(text, { languageCode, spellOut, segmentCharsMax: 240, firstCharsMax: 60 })) {
      if (cut.text.length > 240) expect.fail(`a cut of ${cut.text.length} characters`);
    }
  }
});
