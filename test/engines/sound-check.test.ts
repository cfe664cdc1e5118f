// Tests that faults in the audio of a segment are found before it is sent: the segment is repeated once, and a second
// fault ends the request. Good audio is never considered faulty.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine, EngineCapabilities, SpokenPcm } from '../../src/engines/engine.ts';
import { openFlite } from '../../src/engines/flite/flite.ts';
import { createSoundCheck } from '../../src/engines/sound-check.ts';
import { isLongRun } from '../long/run-length.ts';
import { noteMetrics } from '../platform/telemetry/noted-metrics.ts';
import { sentences } from '../sentences.ts';
import { joinPcm, openGuard, segmentOf } from './open-guard.ts';
import { openTone, type ToneFault, type ToneTrouble } from './tone-engine.ts';

const { signal } = new AbortController();
const count = isLongRun ? 100 : 20;
const textOf = (n: number): string => `${sentences[n % sentences.length]} ${sentences[(n * 7 + 3) % sentences.length]}`;

/** The received audio of a text, and how it ends. */
async function hear(trouble: ToneTrouble, text: string) {
  const tone = openTone({ trouble });
  const heard: SpokenPcm[] = [];
  let failure: unknown;
  try {
    for await (const piece of openGuard(tone).speak(segmentOf(tone, { text }), 'caller', signal)) heard.push(piece);
  } catch (error) {
    failure = error;
  }
  const samples = joinPcm(heard);
  return {
    samples,
    failure,
    begun: tone.counts.begun,
    isAgain: tone.segments.map((segment) => segment.isAgain ?? false),
  };
}

const isClipped = (samples: Int16Array): boolean => samples.filter((sample) => Math.abs(sample) >= 32_766).length > 800;

describe('faults of an engine that sends a segment in one piece', { timeout: 120_000 }, () => {
  test.each<ToneFault>(['clipped', 'NaN', 'silent', 'short', 'endless'])(
    '%s: all are found, none is heard',
    async (fault) => {
      let found = 0;
      let mended = 0;
      for (let n = 0; n < count; n++) {
        const text = textOf(n);
        const good = await hear({ sendsWhole: true }, text);
        const once = await hear({ sendsWhole: true, fault, faultySegments: 1 }, text);
        const always = await hear({ sendsWhole: true, fault }, text);
        if (Buffer.from(once.samples.buffer).equals(Buffer.from(good.samples.buffer)) && once.begun === 2) mended++;
        const isFound =
          (always.failure as { reason?: string }).reason === 'engine_error' && always.samples.length === 0;
        if (isFound && always.begun === 2) found++;
        expect(once.isAgain).toEqual([false, true]);
      }
      expect([found, mended]).toEqual([count, count]);
    },
  );
});

describe('faults of an engine that sends a segment as it speaks it', { timeout: 120_000 }, () => {
  test.each<ToneFault>(['clipped', 'NaN', 'silent', 'short', 'endless'])('%s: all are found', async (fault) => {
    let found = 0;
    for (let n = 0; n < count; n++) {
      const { failure, samples } = await hear({ fault }, textOf(n));
      expect(isClipped(samples)).toBe(false);
      if ((failure as { reason?: string } | undefined)?.reason === 'engine_error') found++;
    }
    expect(found).toBe(count);
  });

  test('what was heard is not spoken again', async () => {
    const late = await hear({ fault: 'clipped' }, textOf(1));
    expect(late.begun).toBe(1);
    expect(late.samples.length).toBeGreaterThan(8_000);
    // None of this audio is sent.
    for (const fault of ['silent', 'short'] as const) {
      const { begun, samples } = await hear({ fault }, textOf(1));
      expect([begun, samples.length]).toEqual([2, 0]);
    }
  });

  test('the segment is spoken again from another seed', async () => {
    const tone = openTone({ trouble: { fault: 'silent' } });
    const speaking = openGuard(tone).speak(segmentOf(tone, { text: textOf(1), seed: 2 ** 32 - 1 }), 'caller', signal);
    await expect(Array.fromAsync(speaking)).rejects.toMatchObject({ reason: 'engine_error' });
    expect(tone.segments.map(({ seed }) => seed)).toEqual([2 ** 32 - 1, 0]);
  });

  test('its first sound waits for one further piece at most', () => {
    const tone = openTone();
    const check = createSoundCheck(segmentOf(tone, { text: textOf(2) }));
    const loud = { samples: new Int16Array(1_600).fill(5_000), sampleRateHz: 16_000 };
    const quiet = { samples: new Int16Array(1_600), sampleRateHz: 16_000 };
    expect(check.add(quiet)).toEqual([]);
    expect(check.add(quiet)).toEqual([]);
    expect(check.add(loud)).toEqual([]);
    expect(check.add(loud)).toEqual([quiet, quiet, loud, loud]);
    expect(check.add(loud)).toEqual([loud]);
    // A first piece that is long enough for the whole text is sent at once.
    const long = { samples: new Int16Array(64_000).fill(5_000), sampleRateHz: 16_000 };
    expect(createSoundCheck(segmentOf(tone, { text: textOf(2) })).add(long)).toEqual([long]);
    // So is one that will be followed by enough, as the engine knows.
    const begun = { ...loud, secondsLeft: 4 };
    expect(createSoundCheck(segmentOf(tone, { text: textOf(2) })).add(begun)).toEqual([begun]);
    const tooShort = createSoundCheck(segmentOf(tone, { text: textOf(2) }));
    expect(tooShort.add({ ...loud, secondsLeft: 0.1 })).toEqual([]);
    expect(() => tooShort.end()).toThrow();
  });
});

describe('no false alarm', () => {
  let flite: Engine;
  beforeAll(async () => {
    flite = await openFlite({ threads: 2 });
  });
  afterAll(() => flite.close());

  test('over sentences of all embedded voices, at all of their speeds', { timeout: 600_000 }, async () => {
    const { min, max } = flite.capabilities.speakingRates;
    const rates = [min, 0.7, 1, 1.4, max];
    const heard = new Set<string>();
    let alarms = 0;
    const guard = openGuard(
      flite,
      noteMetrics((name) => void (name === 'sonant_engine_retries_total' && alarms++)),
    );
    const sentenceCount = isLongRun ? 400 : flite.voices.length * rates.length;
    for (let n = 0; n < sentenceCount; n++) {
      const voice = flite.voices[n % flite.voices.length]!;
      const speakingRate = rates[Math.floor(n / flite.voices.length) % rates.length]!;
      heard.add(`${voice.voiceId} ${speakingRate}`);
      const segment = segmentOf(flite, { text: sentences[n % sentences.length]!, voice, speakingRate });
      await Array.fromAsync(guard.speak(segment, 'caller', signal)).catch(() => alarms++);
    }
    expect(alarms).toBe(0);
    expect(heard.size).toBe(flite.voices.length * rates.length);
  });

  test('over text that is read out, drawn out or hardly said', async () => {
    const capabilities: Partial<EngineCapabilities> = { readsNumbers: true };
    const tone = openTone({ capabilities });
    for (const text of [
      'Hm.',
      '1,234,567 and 89%',
      'WWW.',
      `A${'a'.repeat(200)}h!`,
      'x',
      '…',
      '天还没亮',
      'OK OK OK',
    ]) {
      await Array.fromAsync(openGuard(tone).speak(segmentOf(tone, { text }), 'caller', signal));
    }
  });
});
