// Reads what a person sends to be cloned, the reference and the consent: both are recognised, decoded, judged, trimmed and
// brought to the rate that the engine wants, or every fault of both is told at once. Each is read in a thread of its own,
// few at a time, that is ended when it takes too long or nobody waits any more: the event loop is never held.
import { Worker } from 'node:worker_threads';
import type { Pcm } from '../audio/pcm.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { createSlots } from '../speech/slots.ts';
import type { SampleFault } from './sample-check.ts';
import type { SampleReading, WantedSample } from './sample-reading.ts';
import type { SampleReadingTask } from './sample-reading-thread.ts';

/** What an engine wants, as its `cloning` has it. */
export interface WantedSamples {
  sampleRateHz: number;
  sampleSeconds: { min: number; max: number };
  /** Least that a consent may last; a second at least. */
  consentSecondsMin?: number;
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

/** To consent takes a sentence, however long a reference the engine wants. */
const consentSecondsUsual = 1;
const consentSecondsMax = 30;
/** A minute of FLAC, the slowest, is read in a fraction of a second. */
const readMsUsual = 20_000;
const readingsUsual = 2;
const waitingMax = 32;
/** Of what the thread makes in JavaScript; sound and decoders come on top, each bounded where it is made. */
const threadMegabytesMax = 128;

export interface SampleReaderOptions {
  readMsMax?: number;
  readingsMax?: number;
}

export function createSampleReader(options: SampleReaderOptions = {}): ReadSamples {
  const { readMsMax = readMsUsual, readingsMax = readingsUsual } = options;
  const slots = createSlots({ speakingMax: readingsMax, waitingMax });

  const read = async (bytes: Uint8Array, wanted: WantedSample, signal: AbortSignal): Promise<SampleReading> => {
    const giveBack = await slots.take('samples', signal);
    try {
      return await readInThread({ bytes, wanted }, readMsMax, signal);
    } finally {
      giveBack();
    }
  };

  return async ({ reference, consent }, wanted, callersSignal) => {
    const { sampleRateHz, sampleSeconds, consentSecondsMin = consentSecondsUsual } = wanted;
    const consentSeconds = { min: consentSecondsMin, max: Math.max(sampleSeconds.max, consentSecondsMax) };
    // Where one cannot be read, nobody waits for the other.
    const leaving = new AbortController();
    const signal = AbortSignal.any([callersSignal, leaving.signal]);
    const [ofReference, ofConsent] = await Promise.all([
      read(reference, { sampleRateHz, seconds: sampleSeconds }, signal),
      read(consent, { sampleRateHz, seconds: consentSeconds }, signal),
    ]).catch((error) => {
      leaving.abort(error);
      throw error;
    });
    if ('pcm' in ofReference && 'pcm' in ofConsent) return { reference: ofReference.pcm, consent: ofConsent.pcm };
    const details = [...toViolations('reference_audio', ofReference), ...toViolations('consent_audio', ofConsent)];
    throw new Failure('invalid_request', { details });
  };
}

const toViolations = (field: string, reading: SampleReading): FieldViolation[] =>
  'faults' in reading ? reading.faults.map(({ reason, message }) => ({ field, reason, message })) : [];

function readInThread(task: SampleReadingTask, readMsMax: number, signal: AbortSignal): Promise<SampleReading> {
  const worker = new Worker(new URL('./sample-reading-thread.ts', import.meta.url), {
    // A view is copied with all that lies behind it.
    workerData: { ...task, bytes: task.bytes.slice() },
    resourceLimits: { maxOldGenerationSizeMb: threadMegabytesMax },
  });
  const unread = (message: string): SampleReading => {
    const fault: SampleFault = { reason: 'audio_decode', message };
    return { faults: [fault] };
  };
  let timer: NodeJS.Timeout | undefined;
  let leave = () => {};
  return new Promise<SampleReading>((resolve, reject) => {
    timer = setTimeout(() => resolve(unread(`cannot be read within ${readMsMax / 1000} seconds`)), readMsMax);
    leave = () => reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    worker.on('message', resolve);
    worker.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? resolve(unread('takes too much memory to be read')) : reject(error),
    );
    worker.on('exit', () => reject(new Error('the thread that read a recording ended without an answer')));
  }).finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
    return worker.terminate();
  });
}

/** As the service reads them: two recordings at a time, of all callers. */
export const readSamples = createSampleReader();
