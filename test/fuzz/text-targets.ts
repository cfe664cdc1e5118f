// Calls the parsers for texts: markup, plain text and live text, and phonemes.

import { normalizeIpa } from '../../src/platform/ipa.ts';
import { MarkupFault } from '../../src/text/marked-text.ts';
import { PartCutter } from '../../src/text/part-cutter.ts';
import { segmentText } from '../../src/text/segment.ts';
import { readMarkup } from '../../src/text/ssml.ts';
import { writeDocument } from '../text/malformed-ssml.ts';
import { createRandom, createText } from '../text/random-text.ts';
import { expectRefusal, type OpenTarget } from './target.ts';

const random = createRandom(1);
const some = <T>(make: () => T): T[] => Array.from({ length: 20 }, make);
const texts = some(() => Buffer.from(createText(random)));

const ssmlWords = [
  ...[
    '<break time="1s"/>',
    '<break strength="weak"/>',
    '<!DOCTYPE speak [<!ENTITY a "b">]>',
    '&a;',
    '&amp;',
    '<![CDATA[',
    ']]>',
  ],
  ...[
    '<voice name="a">',
    '</voice>',
    '<phoneme alphabet="ipa" ph="a">',
    '<sub alias="b">',
    '<mark name="m"/>',
    '<speak',
  ],
  ...[
    '<say-as interpret-as="date" format="dmy">',
    '<prosody rate="200%" pitch="+2st" volume="-6dB">',
    'xml:lang="de"',
    '\u0000',
    '\ud83d',
  ],
];
const markup = (kind: 'ssml' | 'pauses', seeds: Buffer[], words: string[]): OpenTarget => {
  return () => ({
    name: kind === 'ssml' ? 'SSML' : 'pause tags',
    seeds,
    words,
    run: (input) =>
      expectRefusal(
        () => readMarkup(input.toString('utf8'), kind),
        (error) => error instanceof MarkupFault,
      ),
  });
};

const languages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'sv', 'pl', 'ja'];
const normalization: OpenTarget = () => ({
  name: 'texts',
  seeds: texts,
  words: ['1/2', '3:45pm', '$1.2M', '12.04.2024', '1e9', '٣', '😀', '\u0301', '://', '²', 'MCMXC', '<b>', '**', '\n\n'],
  run(input) {
    const chunk = input.toString('utf8');
    for (const languageCode of languages) {
      let length = 0;
      for (const { text } of segmentText(chunk, { languageCode, spellOut: true, segmentCharsMax: 400 })) {
        if (text.length > 400) throw new Error(`a segment of ${text.length} characters`);
        length += text.length;
      }
      if (length > 4000 + 200 * chunk.length) throw new Error(`${chunk.length} characters became ${length}`);
    }
  },
});

const liveTexts: OpenTarget = () => ({
  name: 'live texts',
  seeds: texts,
  words: ['J. ', '. ', 'e.g. ', 'p. 12 ', '1 2 3 ', '```\n', '**a ', '[x](', '<a ', '\n\n', '天', '"', '\u0301'],
  run(input) {
    const text = input.toString('utf8').toWellFormed();
    for (const pieceChars of [text.length + 1, 700]) {
      const cutter = new PartCutter('en-US');
      let parts = '';
      for (let at = 0; at < text.length; at += pieceChars) {
        parts += [...cutter.push(text.slice(at, at + pieceChars))].join('');
        if (at % 3 === 2) parts += cutter.endPhrase() ?? '';
        if (at % 3 === 1) parts += cutter.pause() ?? '';
      }
      if (parts + cutter.flush() !== text) throw new Error('the parts are not the text');
    }
  },
});

const phonemes: OpenTarget = () => ({
  name: 'phonemes',
  seeds: ['həˈləʊ', 't͡ʃɪp', 'bʌtn̩'].map((each) => Buffer.from(each)),
  words: ['_', '\\', '"', '%', 'ː', '\u0361', '{', '}', '@', '😀'],
  run: (input) => expectRefusal(() => normalizeIpa(input.toString('utf8'))),
});

export const textTargets: readonly OpenTarget[] = [
  markup(
    'ssml',
    some(() => Buffer.from(writeDocument(random, 6))),
    ssmlWords,
  ),
  markup('pauses', texts, ['[pause:1s]', '[pause:250ms]', '[pause:', ']', '[pause:1e9s]', '[pause:-1s]']),
  normalization,
  liveTexts,
  phonemes,
];
