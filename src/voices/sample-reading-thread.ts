// The worker thread that reads one recording: takes it from `workerData`, posts one message, and ends.
import { parentPort, workerData } from 'node:worker_threads';
import { readSample, type WantedSample } from './sample-reading.ts';

export interface SampleReadingTask {
  bytes: Uint8Array;
  wanted: WantedSample;
}

// Decoders print errors; the caller gets them as faults instead.
console.error = () => {};

const { bytes, wanted } = workerData as SampleReadingTask;
const reading = await readSample(bytes, wanted);
parentPort!.postMessage(reading, 'pcm' in reading ? [reading.pcm.samples.buffer as ArrayBuffer] : []);
