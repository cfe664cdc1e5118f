// The worker thread for one recording. It decodes and checks the recording in `workerData`, resamples it to 16-bit mono
// at the requested rate, posts one message, and exits.
import { parentPort, workerData } from 'node:worker_threads';
import { toInt16 } from '../../audio/level.ts';
import { decodeRecording } from '../../audio/recording/recording.ts';
import { type Recording, RecordingFault } from '../../audio/recording/track.ts';
import { Resampler } from '../../audio/resample.ts';
import { join, type Pcm } from '../../platform/pcm.ts';
import { checkSample, type SampleFault } from './sample-check.ts';

export interface WantedSample {
  sampleRateHz: number;
  seconds: { min: number; max: number };
}

export interface SampleReadingTask {
  bytes: Uint8Array;
  wanted: WantedSample;
}

export type SampleReading = { pcm: Pcm } | { faults: readonly SampleFault[] };

/** Longest silence around the speech that is accepted and trimmed. */
const silenceSecondsMax = 30;

async function readSample(bytes: Uint8Array, { sampleRateHz, seconds }: WantedSample): Promise<SampleReading> {
  try {
    const { faults, trimmed } = checkSample(
      await decodeRecording(bytes, { secondsMax: seconds.max + silenceSecondsMax }),
      seconds,
    );
    return faults.length > 0 ? { faults } : { pcm: toPcm(trimmed, sampleRateHz) };
  } catch (error) {
    if (!(error instanceof RecordingFault)) throw error;
    const { reason, message } = error;
    const wanted = reason === 'audio_too_long' ? `; ${seconds.min} to ${seconds.max} seconds are needed` : '';
    return { faults: [{ reason, message: message + wanted }] };
  }
}

function toPcm({ samples, sampleRateHz: inRateHz }: Recording, sampleRateHz: number): Pcm {
  const resampler = openResampler(inRateHz, sampleRateHz);
  const sound = [resampler.process(samples), resampler.flush()];
  return { samples: toInt16(join(Float32Array, sound)), sampleRateHz };
}

function openResampler(inRateHz: number, outRateHz: number): Resampler {
  try {
    return new Resampler({ inRateHz, outRateHz });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new RecordingFault('audio_decode', `has an invalid sample rate of ${inRateHz} Hz`, error);
  }
}

// Decoders print errors, which the caller receives as faults instead.
console.error = () => {};

const { bytes, wanted } = workerData as SampleReadingTask;
const reading = await readSample(bytes, wanted);
parentPort!.postMessage(reading, 'pcm' in reading ? [reading.pcm.samples.buffer as ArrayBuffer] : []);
