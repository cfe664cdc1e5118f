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

const englishTexts: readonly string[] = [
  'It was Tom. Then he left.',
  'Yes. Then we can go.',
  'No. Then we stay.',
  'Go. He is here.',
  'We met Bob. He left.',
  'It was made in the U.S. She left.',
  '“Is it you?” Ann asked. “It is.” “Good.”',
  '"Stop!" she cried. "Now!"',
  '"Really?" he said. She nodded.',
  "'I see,' said Tim. 'Go on.'",
  'Well... what now? I see… Go on.',
  'What?! No. Why not?',
  'Dr. Smith met Mrs. Jones at 5 p.m. on Monday. They talked.',
  'He came at 6 a.m. Peter came later.',
  'Ask Prof. Lee or Lt. Ray. Both know.',
  'J. R. R. Tolkien wrote it. I read it.',
  'George W. Bush and J. K. Rowling met. It was fun.',
  'Apple Inc. is in the U.S. as well. It sells phones.',
  'See e.g. Fig. 3 and pp. 12-15. Then go to No. 7.',
  'I live at 5 Main St. in St. Paul. Do you?',
  'It happened on Jan. 5, 1950. In Feb. it snowed.',
  'He is 5 ft. 3 in. tall. She is 6 ft. tall.',
  'It weighs 5 lb. 3 oz. without the box.',
  'He ran 3 mi. 2 of us stayed.',
  'It took 2 hr. 30 min. and 5 sec. to do.',
  'Pi is 3.14 or so. It costs $19.99. I have 5.',
  'He was 5. 6 people came. 7 left.',
  'Version 2.0.1 is out. See https://x.org/a.b?c=d. It works.',
  'Write to bob@example.com. He answers.',
  'On 12/25/2024 at 18:05 it was -3.5 °C. Brr.',
  'The U.S. voted 51-49. The U.K. did not.',
  '1. Mix it.\n2. Bake it.\n3. Eat it.',
  'You need:\n\n- eggs\n- milk and flour\n- salt.\n\nMix it.',
  '# Title\n\nThe first one. The second.\n\nAnother paragraph.',
  'A Title\nThen comes the text of it. It goes on.',
  'One line\nof a verse, and\nanother one. The end.',
  '**Two words. In bold.** And `code. here` too. Yes.',
  'See [the page. Here](http://x.y/z). It is good.',
  'An *open star and a sentence. It never ends. So what.',
  'Although the weather was bad, and the ferry was late again, we all went out to the old harbour, where it was quiet.',
  'It goes on and on without a stop and nobody knows when it may end or who could ever tell it to stop for once',
  `It was late, ${'and the boat went on, '.repeat(11)}until it was home. Then we slept.`,
  'Hello there! How are you? I am fine, thanks; and you? Good.',
  'Wait: there is more. Here (and only here) it ends (at last.) Bye.',
  'He said "no." Then he said "yes."',
  'Rs. 500 is a lot. I paid Rs. 20.',
  'Tom and I. She and I. That is all.',
  'iPhone sales rose. eBay fell. NASA did not.',
  'Café, naïve, 100% sure. Ünder the bridge.',
  'Great 👍! Next one 🎉. Done.',
  'Hi',
  'So. It. Is. Over.',
];

const otherTexts: readonly (readonly [languageCode: string, text: string])[] = [
  ['de', 'Dr. Meier kam am 3. Mai um 5 Uhr. Dann ging er.'],
  ['de', 'Das kostet ca. 5 Mio. Euro. „Wirklich?“, fragte sie. Ja.'],
  ['fr', 'M. Dupont est là. Mme. Durand aussi. Ça va ?'],
  ['es', '¿Qué? ¡Sí! El Sr. García llegó a las 5. Luego se fue.'],
  ['es', 'Es la pág. 12. Cuesta 5 €.'],
  ['it', "L'Ing. Neri è qui. Poi va via."],
  ['nl', 'Dhr. Jansen kwam om 5 uur. Hij ging weg.'],
  ['pl', 'To jest np. dom. Jan tu był.'],
  ['cs', 'Pan prof. Novák je tady. Dobrý den.'],
  ['ru', 'Это Том. Он ушёл. Да?'],
  ['zh', '你好。今天天气很好！当然。'],
  ['hi', 'आप कैसे हैं? मैं ठीक हूँ। धन्यवाद।'],
];

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
