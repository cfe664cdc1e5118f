// Tests the requirements of SSML 1.1, with an embedded voice, eSpeak NG if it is installed, and the tone engine.
import { afterAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../src/engines/engine.ts';
import { openEspeakNg } from '../../src/engines/espeak-ng/espeak-ng.ts';
import { openFlite } from '../../src/engines/flite/flite.ts';
import { Failure } from '../../src/errors.ts';
import { parseSpeechRequest } from '../../src/speech/request.ts';
import { Schedule } from '../../src/speech/schedule.ts';
import { createSpeech } from '../../src/speech/synthesize.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { openTone } from '../engines/tone-engine.ts';
import { isInstalled } from '../programs.ts';
import { requirements } from './ssml-requirements.ts';

const espeak = isInstalled('espeak-ng') ? await openEspeakNg() : undefined;
const engines: Engine[] = [await openFlite({ threads: 1 }), openTone(), ...(espeak ? [espeak] : [])];
const speech = createSpeech({
  voices: createVoices(engines),
  schedule: new Schedule({ speakingMax: 1, waitingMax: 0 }),
});
afterAll(async () => {
  for (const engine of engines) await engine.close();
});
const voicePairs = [
  ['clara', 'tone-low'],
  ['tone-low', 'clara'],
  ...(espeak ? [['espeak-en-us', 'clara'] as const] : []),
] as const;
/** Two documents with the same audio may differ in length by the silence trimmed at the ends of segments. */
const sameSeconds = 0.03;

const hasTimes = (voiceId: string): boolean =>
  engines.some(({ capabilities, voices }) => capabilities.timings && voices.some((voice) => voice.voiceId === voiceId));

interface Heard {
  seconds: number;
  words: string[];
  marks: string[];
  warnings: readonly string[];
}

async function speak(voiceId: string, other: string, document: string): Promise<Heard> {
  const isWhole = /^<(?:\?xml|speak|talk)/.test(document);
  const named = document.replaceAll('OTHER', other).replaceAll('OWN', voiceId);
  const ssml = isWhole ? named : `<speak version="1.1" xml:lang="en">${named}</speak>`;
  const fields = {
    voice_id: voiceId,
    language_code: 'en',
    output_format: 'pcm',
    sample_rate: 24_000,
    timestamps: 'word',
  };
  const request = parseSpeechRequest({ ...fields, ssml });
  const heard: Heard = { seconds: 0, words: [], marks: [], warnings: [] };
  for await (const event of speech.streamSpeech(request, { callerId: 'test' }, new AbortController().signal)) {
    if (event.type === 'info') heard.warnings = event.warnings;
    else if (event.type === 'timestamps') heard.words.push(...event.words.map(({ text }) => text));
    else if (event.type === 'mark') heard.marks.push(`${event.kind} ${event.name}`);
    else if (event.type === 'done') heard.seconds = event.seconds;
  }
  return heard;
}

describe.each(voicePairs)('by %s', (voiceId, other) => {
  test.each(requirements)('$section: $requirement', async (required) => {
    const { document, words, marks, warnings = [], untimedWarnings = [], beside, refused } = required;
    const hearing = speak(voiceId, other, document);
    if (refused) {
      const failure = await hearing.then(
        () => undefined,
        (error) => error as Failure,
      );
      expect(failure).toBeInstanceOf(Failure);
      expect(JSON.stringify(failure!.facts.details)).toMatch(refused);
      return;
    }
    const heard = await hearing;
    if (words) expect(heard.words.join(' ')).toBe(words);
    const expected = marks?.map((mark) => mark.replace('OTHER', other).replace('OWN', voiceId));
    if (expected) expect(heard.marks).toEqual(expected);
    const all = [...warnings, ...(hasTimes(voiceId) ? [] : untimedWarnings)];
    expect([...heard.warnings].sort()).toEqual(all.sort());
    if (!beside || (required.needsBreath && voiceId.startsWith('tone-'))) return;
    const [relation, document2] = beside;
    const longer = heard.seconds - (await speak(voiceId, other, document2)).seconds;
    if (relation === 'longer') expect(longer).toBeGreaterThan(sameSeconds);
    else if (relation === 'shorter') expect(longer).toBeLessThan(-sameSeconds);
    else expect(Math.abs(longer - (relation === 'same' ? 0 : relation / 1000))).toBeLessThan(sameSeconds);
  });
});

test.each(voicePairs.filter(([voiceId]) => !voiceId.startsWith('tone-')))(
  '3.1.10: the phonemes of the example in the recommendation are heard in place of the text, by %s',
  async (voiceId, other) => {
    const text = 'potato and an onion';
    const example = `<phoneme alphabet="ipa" ph="təmei̥ɾou̥">${text}</phoneme>`;
    const heard = await speak(voiceId, other, `Take a ripe ${example} now.`);
    expect(heard.warnings).toEqual([]);
    const spelled = await speak(voiceId, other, `Take a ripe ${text} now.`);
    expect(spelled.seconds - heard.seconds).toBeGreaterThan(sameSeconds);
  },
);
