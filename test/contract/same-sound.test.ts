// Tests that a text has the same samples however it is requested: complete or while it is written, in any pieces. A
// table with one line per text is written to the file that SONANT_SOUND_TABLE names.
import { hash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Engine } from '../../src/engines/engine.ts';
import { openEspeakNg } from '../../src/engines/espeak-ng/espeak-ng.ts';
import { openFlite } from '../../src/engines/flite/flite.ts';
import { openNatural } from '../engines/natural-engine.ts';
import { openTone } from '../engines/tone-engine.ts';
import { isLongRun } from '../long/run-length.ts';
import { oddPieces, openWays, wholeText, wordByWord } from './open-ways.ts';
import { englishTexts, otherTexts } from './same-texts.ts';

/** Selects every third text, or all texts in the long run and for the table. */
const isOfThisRun = (_: unknown, i: number) => isLongRun || process.env.SONANT_SOUND_TABLE !== undefined || i % 3 === 0;
const english = englishTexts.map((text) => ['en-US', text] as const).filter(isOfThisRun);
const flite = await openFlite({ threads: availableParallelism() });
const espeakNg = await openEspeakNg();
const natural = await openNatural();

const sentences = [
  ...['It was Tom.', 'Then he left.', 'Yes.', 'Then we can go.', 'No.', 'Then we stay.', 'Go.', 'He is here.'],
  ...['We met Bob.', 'He left.', 'It was made in the U.S.', 'She left.', 'Dr. Smith came at 5 p.m. on Monday.'],
  ...['He is 5 ft. 3 in. tall.', 'He was 5.', '6 people came.', '"Really?" he said.', 'What?!', 'Why not?', 'Come in.'],
];

test.each(['REST, buffer', 'say', 'job'])('an engine is given each sentence in its own segment: %s', async (way) => {
  const tone = openTone();
  const ways = await openWays(tone, onTestFinished);
  const asked = { voiceId: 'tone-low', languageCode: 'en', text: sentences.join(' ') };
  await (way === 'job' ? ways.speakChapters([asked]) : ways.whole[way]!(asked));
  expect(tone.segments.map(({ text }) => text)).toEqual(sentences);
});

describeWays(flite, english);
if (natural) describeWays(natural, english);
if (espeakNg) describeWays(espeakNg, [...english, ...otherTexts.filter(isOfThisRun)]);

function describeWays(engine: Engine, texts: readonly (readonly [languageCode: string, text: string])[]) {
  describe(engine.name, () => {
    let ways: Awaited<ReturnType<typeof openWays>>;
    /**
     * Audio of each text as a chapter. It differs from other audio, because a job adds reading pauses between
     * paragraphs.
     */
    const chapters = new Map<string, Buffer>();
    const table: string[] = [];

    beforeAll(async () => {
      ways = await openWays(engine, afterAll);
      const asked = texts.filter(([, text]) => !/\n\n/.test(text)).map(([code, text]) => askedOf(code, text));
      for (const [i, sound] of (await ways.speakChapters(asked)).entries()) chapters.set(asked[i]!.text, sound);
    }, 240_000);
    afterAll(() => {
      const { SONANT_SOUND_TABLE: file } = process.env;
      if (file) appendFileSync(file, table.join(''));
    });

    const askedOf = (languageCode: string, text: string) => {
      const speaks = ways.voices.filter(({ languageCodes }) => languageCodes.includes(languageCode));
      const { voiceId } = speaks.find(({ languageCodes }) => languageCodes[0] === languageCode) ?? speaks[0]!;
      return { voiceId, languageCode, text };
    };

    test.each(texts)('%s: %s', async (languageCode, text) => {
      const asked = askedOf(languageCode, text);
      const waysOf = new Map<string, string[]>();
      const note = async (way: string, asking: Promise<Buffer>) => {
        const sound = await asking;
        const told = `${sound.length / 2} samples, ${hash('sha256', sound).slice(0, 12)}`;
        waysOf.set(told, [...(waysOf.get(told) ?? []), way]);
      };
      const notes = Object.entries(ways.whole).map(([way, ask]) => note(way, ask(asked)));
      for (const [way, ask] of Object.entries(ways.live)) {
        for (const [name, pieces] of Object.entries({ wholeText, wordByWord, oddPieces })) {
          // In auto mode, each message ends with a word.
          if (way.includes('auto_mode') && pieces === oddPieces) continue;
          notes.push(note(`${way}, ${name}`, ask(asked, pieces)));
        }
      }
      const chapter = chapters.get(text);
      if (chapter) notes.push(note('job', Promise.resolve(chapter)));
      await Promise.all(notes);
      const [told] = [...waysOf.keys()];
      table.push(`${engine.name} | ${languageCode} | ${told} | ${JSON.stringify(text)}\n`);
      expect([...waysOf].slice(1), told).toEqual([]);
    });
  });
}
