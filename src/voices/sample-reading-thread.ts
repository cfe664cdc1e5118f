// What runs in the thread of one reading: it reads the recording that it is born with, answers once, and is over.
import { parentPort, workerData } from 'node:worker_threads';
import { readSample, type WantedSample } from './sample-reading.ts';

export interface SampleReadingTask {
  bytes: Uint8Array;
  wanted: WantedSample;
}

// Decoders print what they dislike; whoever sent the recording is told in our words.
console.error = () => {};

const { bytes, wanted } = workerData as SampleReadingTask;
const reading = await readSample(bytes, wanted);
parentPort!.postMessage(reading, 'pcm' in reading ? [reading.pcm.samples.buffer as ArrayBuffer] : []);
