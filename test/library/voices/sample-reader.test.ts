// Tests reading the reference and consent recordings in threads, as the service does: results, refusals, and a time
// limit for hostile input.
import { beforeAll, describe, expect, test } from 'vitest';
import type { Recording } from '../../../src/audio/recording/track.ts';
import { createSampleReader, readSamples } from '../../../src/library/voices/sample-reader.ts';
import type { Failure } from '../../../src/platform/errors.ts';
import { secondsOf } from '../../../src/platform/pcm.ts';
import { flacFile, mp3File, vorbisFile, wavFile } from '../../audio/recording-files.ts';
import { gained, padded, secondsFrom, speakSamples } from './spoken-sample.ts';

const wanted = { sampleRateHz: 24_000, sampleSeconds: { min: 3, max: 30 }, consentSecondsMin: 1 };
const signal = new AbortController().signal;
const wav = ({ samples, sampleRateHz }: Recording) => wavFile([samples], { sampleRateHz });
const violationsOf = (reading: Promise<unknown>) =>
  reading.then(
    () => [],
    ({ reason, facts }: Failure) => {
      expect(reason).toBe('invalid_request');
      return facts.details!;
    },
  );

let spoken: Recording;
beforeAll(async () => {
  spoken = (await speakSamples(1))[0]!;
});

describe('good recordings', () => {
  test('come out at the wanted rate, trimmed, whatever they were sent as', async () => {
    const { samples, sampleRateHz } = spoken;
    const start = secondsFrom(spoken, 0, 2);
    const sent = [
      { reference: wav(padded(spoken, 3, 3)), consent: await mp3File(start.samples, sampleRateHz) },
      {
        reference: flacFile([samples, samples], sampleRateHz),
        consent: await vorbisFile([start.samples], sampleRateHz),
      },
    ];
    const heard = await Promise.all(sent.map((each) => readSamples(each, wanted, signal)));
    for (const { reference, consent } of heard) {
      expect([reference.sampleRateHz, consent.sampleRateHz]).toEqual([24_000, 24_000]);
      expect(reference.samples).toBeInstanceOf(Int16Array);
      expect(Math.abs(secondsOf(reference) - samples.length / sampleRateHz)).toBeLessThan(0.6);
      expect(Math.abs(secondsOf(consent) - 2)).toBeLessThan(0.5);
    }
  });
});

describe('others', () => {
  test('are refused with every fault of both', async () => {
    const reference = wav(gained(secondsFrom(spoken, 0, 2), 10));
    const consent = Buffer.from('I consent.');
    expect(await violationsOf(readSamples({ reference, consent }, wanted, signal))).toEqual([
      { field: 'reference_audio', reason: 'audio_too_short', message: expect.stringContaining('lasts') },
      { field: 'reference_audio', reason: 'audio_quality', message: expect.stringContaining('is too loud') },
      {
        field: 'consent_audio',
        reason: 'audio_decode',
        message: expect.stringContaining('is not a known audio format'),
      },
    ]);
  });

  test('that are longer than anyone trims are refused too', async () => {
    const consent = wav(secondsFrom(spoken, 0, 2));
    const reference = wav(padded(spoken, 30, 30));
    expect(await violationsOf(readSamples({ reference, consent }, wanted, signal))).toEqual([
      {
        field: 'reference_audio',
        reason: 'audio_too_long',
        message: 'lasts more than 60 seconds; 3 to 30 seconds are needed',
      },
    ]);
  });

  test('at a rate that cannot be brought to the wanted one', async () => {
    const { samples } = spoken;
    const sent = wavFile([samples], { sampleRateHz: 96_001 });
    const reading = readSamples(
      { reference: sent, consent: sent },
      { ...wanted, sampleSeconds: { min: 1, max: 30 } },
      signal,
    );
    expect((await violationsOf(reading)).map(({ message }) => message)).toEqual(
      Array(2).fill(expect.stringContaining('sample rate of 96001 Hz')),
    );
  });

  test('that keep a thread busy without end time out', async () => {
    const read = createSampleReader({ readMsMax: 500 });
    const endless = endlessFlac();
    const message = 'cannot be read within 0.5 seconds';
    expect(await violationsOf(read({ reference: endless, consent: endless }, wanted, signal))).toEqual([
      { field: 'reference_audio', reason: 'audio_decode', message },
      { field: 'consent_audio', reason: 'audio_decode', message },
    ]);
  });
});

describe('who leaves', () => {
  test('ends the reading, at work or in the queue, with the reason', async () => {
    const read = createSampleReader({ readingsMax: 1 });
    const endless = endlessFlac();
    const leaving = new AbortController();
    const readings = [1, 2].map(() => read({ reference: endless, consent: endless }, wanted, leaving.signal));
    setTimeout(() => leaving.abort(new Error('gone')), 200);
    for (const outcome of await Promise.allSettled(readings))
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'gone' } });
    const good = wav(spoken);
    await expect(read({ reference: good, consent: good }, wanted, signal)).resolves.toBeDefined();
  });

  test('has nothing begun, where they had left before', async () => {
    const sent = { reference: wav(spoken), consent: wav(spoken) };
    await expect(readSamples(sent, wanted, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  });
});

/** A file of nothing but frame headers: for each header, the decoder searches half a megabyte for a matching end. */
function endlessFlac(): Buffer {
  const file = flacFile([new Float32Array(4_096)], 24_000);
  const head = file.subarray(42, 50);
  return Buffer.concat([file.subarray(0, 42), ...Array<Buffer>(200_000).fill(head)]);
}
