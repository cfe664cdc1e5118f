// Tests 200 texts by language models, spoken while they are written. Without pauses in the writing, the audio equals
// that of the whole text; with a pause, every word is still spoken once, completely and in the same position.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { atOnce } from '../../src/platform/runtime/steps.ts';
import { bestCasting } from '../../src/speech/cast.ts';
import { LiveText } from '../../src/speech/live-text.ts';
import { createPlan } from '../../src/speech/plan.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { openTone } from '../engines/tone-engine.ts';
import { modelTexts, toPieces } from '../model-texts.ts';
import { parseLiveStart } from '../speech/parse-request.ts';
import { createRandom } from '../text/random-text.ts';
import { openLive, soundOf, speakPieces, wordsOf } from './open-live.ts';

const languageCodes = [...new Set(modelTexts.map((text) => text.languageCode))];
const tone = openTone({ sampleRateHz: 8_000, languageCodes, capabilities: { readsNumbers: false } });
afterAll(() => tone.close());
const live = openLive(tone);
const voices = createVoices([tone]);
const start = { voice_id: 'tone-low', sample_rate: 8000, timestamps: 'word', buffer_ms: 10_000 };

test('in random pieces, all of them sound as they do whole', async () => {
  const random = createRandom(1);
  for (const { languageCode, text } of modelTexts) {
    const fields = { ...start, language_code: languageCode };
    const whole = await speakPieces(live, fields, [text]);
    const pieces = await speakPieces(live, fields, toPieces(text, random));
    expect(soundOf(pieces).equals(soundOf(whole)), text).toBe(true);
    expect(wordsOf(pieces)).toEqual(wordsOf(whole));
  }
});

test('with pauses in which what there is is spoken, no word is lost, doubled or cut', async () => {
  const random = createRandom(3);
  let early = 0;
  for (const { languageCode, text } of modelTexts.slice(0, 60)) {
    const fields = { ...start, language_code: languageCode };
    const whole = await speakPieces(live, fields, [text]);
    const paused = await speakPieces(live, { ...fields, buffer_ms: 0 }, toPieces(text, random), async () => {
      if (random() < 0.5) await sleep(4);
    });
    if (!soundOf(paused).equals(soundOf(whole))) early++;
    expect(placesOf(paused), text).toEqual(placesOf(whole));
  }
  expect(early).toBeGreaterThan(10);
});

/** A word that is split across segments is reported once for each segment. */
const placesOf = (events: Parameters<typeof wordsOf>[0]) => [...new Set(wordsOf(events).map(toPlace))];

/** Drops a final full stop, because an abbreviation and the end of a sentence sound alike. */
const toPlace = ({ offset, text }: { offset: number; text: string }) => `${offset} ${text.replace(/\.$/, '')}`;

test('wherever the writer pauses, every word is spoken once, as a whole', async () => {
  const random = createRandom(4);
  for (const { languageCode, text } of modelTexts) {
    const whole = await plannedWords(languageCode, text);
    for (let n = 0; n < 12; n++) {
      const at = 1 + Math.floor(random() * (text.length - 1));
      // The text so far may be a whole sentence or the start of an address; the two cannot be distinguished.
      const isJoined = /[.!]$/.test(text.slice(0, at)) && /^\p{L}/u.test(text.slice(at));
      if (isJoined || /^[\uDC00-\uDFFF]/.test(text.slice(at))) continue;
      expect(await plannedWords(languageCode, text, at), text.slice(0, at)).toEqual(whole);
    }
  }
});

/** The words of a turn whose writer pauses at `pauseAt`. */
async function plannedWords(languageCode: string, whole: string, pauseAt = 0): Promise<string[]> {
  const given = parseLiveStart({ ...start, language_code: languageCode });
  const plan = await createPlan(given, { callerId: 'ada', accountId: 'ada' }, { voices });
  const text = new LiveText(languageCode);
  if (pauseAt > 0) {
    atOnce(text.append(whole.slice(0, pauseAt)));
    text.pause();
  }
  atOnce(text.append(whole.slice(pauseAt)));
  text.end();
  const { cuts } = await plan.cut(bestCasting, { part: (index) => text.part(index), isDivided: true });
  const points = [...whole];
  const words = new Set<string>();
  for (let next = await cuts.next(); !next.done; next = await cuts.next()) {
    const { chunkIndex, cut } = next.value;
    const before = text.partAt(chunkIndex).offset;
    for (const { offset, length } of cut?.spans ?? []) {
      const at = before + offset;
      words.add(toPlace({ offset: at, text: points.slice(at, at + length).join('') }));
    }
  }
  return [...words];
}
