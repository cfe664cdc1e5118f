// Reads the two recordings for a clone: the reference and the consent. Decodes, checks, trims and resamples both to the
// engine's rate, and reports all faults. Each recording is read in a worker thread, so that the event loop is never
// blocked. A thread ends after a timeout or when the caller disconnects.

import { Failure, type FieldViolation } from '../../platform/errors.ts';
import type { Pcm } from '../../platform/pcm.ts';
import { LimitReached, runInThread } from '../../platform/runtime/run-once.ts';
import { SlotQueue } from '../../platform/runtime/slot-queue.ts';
import type { SampleReading, SampleReadingTask, WantedSample } from './sample-reading-thread.ts';

/** Requirements of the engine, from its property `cloning`, and the minimum length of the consent recording. */
interface WantedSamples {
  sampleRateHz: number;
  sampleSeconds: { min: number; max: number };
  consentSecondsMin: number;
}

export interface Samples<Sound> {
  reference: Sound;
  consent: Sound;
}

export type ReadSamples = (
  sent: Samples<Uint8Array>,
  wanted: WantedSamples,
  signal: AbortSignal,
) => Promise<Samples<Pcm>>;

/** Maximum length of a consent recording, unless samples may be longer. */
const consentSecondsMax = 30;
/** Timeout for a recording. A minute of FLAC, the slowest format, takes a fraction of a second. */
const readMsDefault = 20_000;
const readingsDefault = 2;
const waitingMax = 32;
/** Maximum heap of a thread. Audio and decoders use other memory, which has separate limits. */
const heapMegabytesMax = 128;

interface SampleReaderOptions {
  readMsMax?: number;
  readingsMax?: number;
}

export function createSampleReader({
  readMsMax = readMsDefault,
  readingsMax = readingsDefault,
}: SampleReaderOptions = {}): ReadSamples {
  const slots = new SlotQueue({
    slotsMax: readingsMax,
    waitingMax,
    refusal: () => new Failure('overloaded', { retryAfterSeconds: 1 }),
  });

  const read = async (bytes: Uint8Array, wanted: WantedSample, signal: AbortSignal): Promise<SampleReading> => {
    const release = await slots.take({ signal });
    return readInThread({ bytes, wanted }, readMsMax, signal).finally(release);
  };

  return async ({ reference, consent }, wanted, callerSignal) => {
    const { sampleRateHz, sampleSeconds, consentSecondsMin } = wanted;
    const consentSeconds = { min: consentSecondsMin, max: Math.max(sampleSeconds.max, consentSecondsMax) };
    // Stops reading the other recording if one recording cannot be read.
    const abandoned = new AbortController();
    const signal = AbortSignal.any([callerSignal, abandoned.signal]);
    const [ofReference, ofConsent] = await Promise.all([
      read(reference, { sampleRateHz, seconds: sampleSeconds }, signal),
      read(consent, { sampleRateHz, seconds: consentSeconds }, signal),
    ]).catch((error) => {
      abandoned.abort(error);
      throw error;
    });
    if ('pcm' in ofReference && 'pcm' in ofConsent) return { reference: ofReference.pcm, consent: ofConsent.pcm };
    const details = [...toViolations('reference_audio', ofReference), ...toViolations('consent_audio', ofConsent)];
    throw new Failure('invalid_request', { details });
  };
}

const toViolations = (field: string, reading: SampleReading): FieldViolation[] =>
  'faults' in reading ? reading.faults.map(({ reason, message }) => ({ field, reason, message })) : [];

async function readInThread(task: SampleReadingTask, readMsMax: number, signal: AbortSignal): Promise<SampleReading> {
  try {
    return await runInThread<SampleReading>({
      file: new URL('./sample-reading-thread.ts', import.meta.url),
      // Copies the bytes, because a view would be sent with its entire buffer.
      task: { ...task, bytes: task.bytes.slice() },
      heapMegabytesMax,
      msMax: readMsMax,
      signal,
    });
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    const inTime = `cannot be read within ${readMsMax / 1000} seconds`;
    const message = error.limit === 'time' ? inTime : 'needs too much memory to be read';
    return { faults: [{ reason: 'audio_decode', message }] };
  }
}

/** The service's shared reader, which reads at most two recordings at a time. */
export const readSamples = createSampleReader();
