// Tests that faults in what is said are found, that good speech is left alone, and what the guard does with a suspect
// segment: another take while nothing was sent, then the best take; never a failure.
import { beforeAll, describe, expect, test } from 'vitest';
import type { Segment } from '../../src/engines/engine.ts';
import { createEngineGuard, createEngineGuards, type Listen, type SegmentCheck } from '../../src/engines/guard.ts';
import { createSpeechCheck } from '../../src/engines/speech-check.ts';
import { createVoiceDurations } from '../../src/engines/voice-durations.ts';
import { Failure } from '../../src/platform/errors.ts';
import { join, type Pcm } from '../../src/platform/pcm.ts';
import { noteMetrics } from '../platform/telemetry/noted-metrics.ts';
import { sentences } from '../sentences.ts';
import { openTakes, speakFlite, spoil, type TakeFault } from './takes-engine.ts';
import { openTone } from './tone-engine.ts';

const { signal } = new AbortController();
const [voice] = openTone().voices;
const segmentOf = (text: string, more: Partial<Segment> = {}): Segment => ({
  ...{ voice: voice!, text, languageCode: 'en', speakingRate: 1, timings: false, urgent: true },
  ...more,
});
const faultsOf: TakeFault[] = ['cut_off', 'held_sound', 'silence', 'repeated'];
const repeated = 'At least not before you have backed up everything, on two different disks, two different disks.';
let spoken: Pcm[];

beforeAll(async () => {
  spoken = await speakFlite([...sentences, repeated]);
}, 120_000);

function examine(text: string, { samples, sampleRateHz }: Pcm, durations = createVoiceDurations()) {
  const found = createSpeechCheck(segmentOf(text), durations);
  for (let from = 0; from < samples.length; from += 1_000)
    found.add({ samples: samples.subarray(from, from + 1_000), sampleRateHz });
  return { faults: found.end(), likelyRepeat: found.likelyRepeat };
}

const check = (...given: Parameters<typeof examine>) => examine(...given).faults;

describe('the check', () => {
  test('good sentences have no faults', () => {
    expect(sentences.filter((text, n) => check(text, spoken[n]!)!.length > 0)).toEqual([]);
  });

  test('in four good sentences of five, no words may be repeated', () => {
    const likely = sentences.filter((text, n) => examine(text, spoken[n]!).likelyRepeat !== undefined);
    expect(likely.length).toBeLessThanOrEqual(0.2 * sentences.length);
  });

  test.each(faultsOf)('%s is found in four sentences of five', (fault) => {
    const some = sentences.slice(0, 20);
    const found = some.filter((text, n) => check(text, spoil(spoken[n]!, fault))?.includes(fault));
    expect(found.length).toBeGreaterThanOrEqual(0.8 * some.length);
  });

  test('what the text itself repeats is no fault', () => {
    expect(check(repeated, spoken.at(-1)!)).toEqual([]);
    expect(check('At least not before you have backed up everything.', spoken.at(-1)!)).toContain('repeated');
  });

  test('a voice teaches how long it needs for a text', () => {
    const durations = createVoiceDurations();
    for (const [n, text] of sentences.entries()) expect(check(text, spoken[n]!, durations)).toEqual([]);
    const byLength = [...sentences.keys()].toSorted((a, b) => sentences[a]!.length - sentences[b]!.length);
    const [short, long] = [byLength[0]!, byLength.at(-1)!];
    expect(check(sentences.slice(0, 4).join(' '), spoken[short]!, durations)).toEqual(['too_short']);
    expect(check('Two words.', spoken[long]!, durations)).toEqual(['too_long']);
    expect(check(sentences[long!]!, spoken[long]!, durations)).toEqual([]);
  });

  test('a voice teaches how it ends, so that speech cut off between words is found', () => {
    const durations = createVoiceDurations();
    for (const [n, text] of sentences.entries()) check(text, spoken[n]!, durations);
    const missed = sentences.slice(0, 3).filter((text, n) => {
      const { samples, sampleRateHz } = spoken[n]!;
      const cut = samples.slice(0, Math.round(0.9 * samples.length)).fill(0, -0.02 * sampleRateHz);
      return !check(text, { samples: cut, sampleRateHz }, durations)!.includes('cut_off');
    });
    expect(missed).toEqual([]);
  });

  test('a piece of 30 ms that is played for a second is found', () => {
    const found = sentences.filter((text, n) => {
      const { samples, sampleRateHz } = spoken[n]!;
      const at = samples.length >> 1;
      const piece = samples.subarray(at, at + 0.03 * sampleRateHz);
      const held = join(Int16Array, [samples.subarray(0, at), ...Array(35).fill(piece), samples.subarray(at)]);
      return check(text, { samples: held, sampleRateHz })!.length > 0;
    });
    expect(found.length).toBeGreaterThanOrEqual(0.95 * sentences.length);
  });

  test('tones and texts without words are not judged', async () => {
    const tone = openTone();
    const pieces = await Array.fromAsync(tone.speak(segmentOf('One two unimaginable.'), signal));
    const tones = {
      samples: join(
        Int16Array,
        pieces.map(({ samples }) => samples),
      ),
      sampleRateHz: 16_000,
    };
    expect(check('One two unimaginable.', tones)).toBeUndefined();
    expect(check('...', spoken[0]!)).toBeUndefined();
  });
});

describe('the guard', () => {
  const text = sentences[0]!;
  const take = async () => ({ end() {}, retryIn() {} });
  async function hear(takes: (Pcm | Error)[], more: Partial<Segment> = {}, capabilities = {}) {
    const engine = openTakes(takes, capabilities);
    const results: string[] = [];
    const metrics = noteMetrics((name, labels) => {
      if (name === 'sonant_speech_checks_total') results.push(`${labels.voice} ${labels.result}`);
    });
    const guard = createEngineGuard(engine, metrics);
    let checked: SegmentCheck | undefined;
    const onChecked = (check: SegmentCheck) => {
      checked = check;
    };
    const segment = segmentOf(text, { isHeld: true, ...more });
    const pieces = await Array.fromAsync(guard.speak(segment, signal, { take, onChecked }));
    const samples = join(
      Int16Array,
      pieces.map((piece) => piece.samples),
    );
    const heard = takes.findIndex(
      (take) => !(take instanceof Error) && Buffer.from(take.samples).equals(Buffer.from(samples)),
    );
    const { faults, takes: told, seed } = checked!;
    return { heard, faults, told, seed, asked: engine.segments, results };
  }

  test('a suspect segment that nobody has heard is spoken again', async () => {
    const { heard, faults, asked, results } = await hear([spoil(spoken[0]!, 'cut_off'), spoken[0]!]);
    expect({ heard, faults }).toEqual({ heard: 1, faults: [] });
    expect(asked.map(({ isAgain = false }) => isAgain)).toEqual([false, true]);
    expect(results).toEqual(['tone-low cut_off', 'tone-low good']);
  });

  test('a recognizer is told where words may be spoken again', async () => {
    const [twice] = await speakFlite(['Keep this medicine out of of the reach of children.']);
    const said = segmentOf('Keep this medicine out of the reach of children.', { isHeld: true });
    const places: unknown[] = [];
    const listen: Listen = async ({ likelyRepeat }) => void places.push(likelyRepeat);
    await Array.fromAsync(createEngineGuards()(openTakes([twice!], {})).speak(said, signal, { take, listen }));
    expect(places).toEqual([expect.closeTo(1.6, 1)]);
  });

  test('each take has another seed, unless the caller states one', async () => {
    const bad = spoil(spoken[0]!, 'silence');
    const seeds = async (more: Partial<Segment>) =>
      (await hear([bad], more, { seed: true })).asked.map(({ seed }) => seed);
    expect(await seeds({})).toEqual([undefined, 2, 3]);
    expect(await seeds({ seed: 2 ** 32 - 1 })).toEqual([2 ** 32 - 1]);
  });

  test('a segment is spoken three times at most, also if its first audio was refused', async () => {
    const { sampleRateHz } = spoken[0]!;
    const clipped = { samples: new Int16Array(2 * sampleRateHz).fill(32_767), sampleRateHz };
    const bad = spoil(spoken[0]!, 'silence');
    expect((await hear([clipped, bad, bad, spoken[0]!])).asked).toHaveLength(3);
  });

  test('the number of takes and the seed of the take that was sent are reported', async () => {
    const bad = spoil(spoken[0]!, 'silence');
    const told = async (takes: Pcm[], more: Partial<Segment> = {}) => {
      const { told, seed } = await hear(takes, more, { seed: true });
      return { told, seed };
    };
    expect(await told([spoken[0]!])).toEqual({ told: 1, seed: undefined });
    expect(await told([bad, spoken[0]!])).toEqual({ told: 2, seed: 2 });
    expect(await told([bad, bad, bad])).toEqual({ told: 3, seed: undefined });
    expect(await told([bad], { seed: 7 })).toEqual({ told: 1, seed: 7 });
  });

  test('after two more takes, the best is sent, with its faults', async () => {
    const worst = spoil(spoil(spoken[0]!, 'held_sound'), 'silence');
    const { heard, faults, asked } = await hear([worst, spoil(spoken[0]!, 'cut_off'), worst]);
    expect({ heard, faults, count: asked.length }).toEqual({ heard: 1, faults: ['cut_off'], count: 3 });
  });

  test('if another take fails, the take before it is sent', async () => {
    const { heard, faults } = await hear([spoil(spoken[0]!, 'silence'), new Failure('engine_error')]);
    expect({ heard, faults }).toEqual({ heard: 0, faults: ['silence'] });
  });

  test('a segment that is sent as it is spoken is only reported', async () => {
    const { heard, faults, asked } = await hear([spoil(spoken[0]!, 'silence'), spoken[0]!], { isHeld: false });
    expect({ heard, faults, count: asked.length }).toEqual({ heard: 0, faults: ['silence'], count: 1 });
  });

  test('an engine that would speak it the same way is not asked again', async () => {
    const { faults, asked } = await hear([spoil(spoken[0]!, 'silence')], {}, { isRepeatable: true });
    expect({ faults, count: asked.length }).toEqual({ faults: ['silence'], count: 1 });
  });
});
