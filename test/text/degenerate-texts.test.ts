// Tests that texts of one repeated mark, letter or digit cost no more than a multiple of their length in any language,
// and are read in short steps. The work is counted as the characters in which the end of a sentence is looked for: each
// text that is read passes there once.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { segmentSteps } from '../../src/text/segment.ts';

const languages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'sv', 'pl', 'ja'];
const units = {
  ...{
    stops: '.',
    'stops and spaces': '. ',
    'marks and spaces': '! ',
    dashes: '- ',
    spaces: ' ',
    lines: '.\n',
    empty: '\n',
  },
  ...{ accents: '\u0301', 'accented letters': 'e\u0301', joiners: '\u200d', emoji: '😀', surrogates: '\ud800' },
  ...{ digits: '7', 'digits and spaces': '7 ', colons: '1:', fractions: '1/2 ', circled: '①', money: '€5 ' },
  ...{ brackets: '(', closing: ') ', squares: '[', links: '[a](', tags: '<a ', comments: '<!--', fences: '```\n' },
  ...{ word: 'a', capitals: 'A', hyphens: 'a-', initials: 'J. ', titles: 'Dr. ', han: '漢', thai: 'ก', wide: '。' },
  ...{ telephone: `+${'1'.repeat(78)} `, inches: '1"', slashes: '/', ampersands: '&', quotes: '" ' },
};
/** Characters that are read for each character of the text, and between two steps. */
const readPerCharMax = 20;
const readPerStepMax = 25_000;

let read = 0;
beforeEach(() => {
  const { segment } = Intl.Segmenter.prototype;
  vi.spyOn(Intl.Segmenter.prototype, 'segment').mockImplementation(function (this: Intl.Segmenter, text) {
    read += text.length;
    return segment.call(this, text);
  });
});
afterEach(() => vi.restoreAllMocks());

/** The characters that are read for a text: in total, and at most between two steps. */
function readFor(text: string, languageCode: string): { total: number; perStep: number } {
  read = 0;
  let before = 0;
  let perStep = 0;
  for (const cut of segmentSteps(text, { languageCode, spellOut: true, segmentCharsMax: 300, firstCharsMax: 60 })) {
    expect(cut?.text.length ?? 0).toBeLessThanOrEqual(300);
    perStep = Math.max(perStep, read - before);
    before = read;
  }
  return { total: read, perStep };
}

test.each(Object.entries(units))('a text of %s', (_, unit) => {
  for (const languageCode of languages) {
    const [half, whole] = [2_500, 5_000].map((chars) =>
      readFor(unit.repeat(Math.ceil(chars / unit.length)).slice(0, chars), languageCode),
    );
    expect(whole!.total, languageCode).toBeLessThanOrEqual(Math.max(3 * half!.total, 2 * 5_000));
    expect(whole!.total, languageCode).toBeLessThanOrEqual(readPerCharMax * 5_000);
    expect(whole!.perStep, languageCode).toBeLessThanOrEqual(readPerStepMax);
  }
});
