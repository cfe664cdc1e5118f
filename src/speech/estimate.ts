// Estimates the cost of a planned request without an engine. A long text is processed in slices with equally long
// pauses, so that other calls are served in between.
import { setTimeout as sleep } from 'node:timers/promises';
import { audioFormats, type FormatName } from '../audio.ts';
import { bestCasting, type Plan } from './plan.ts';
import type { SpeechRequest } from './request.ts';

export interface Estimate {
  chars: number;
  seconds: number;
  byteCount: number;
  segmentCount: number;
  warnings: readonly string[];
}

/** Typical human speaking rate, in characters of spoken text per second. */
export const charsPerSecond = 14.5;
/** Length of a slice, and of the pause after a slice. A segment of text takes a few milliseconds and is not divided. */
const sliceMs = 4;
const pauseMs = 4;

/** Roughly estimates the size of the audio from the number of characters alone. */
export const expectedBytesOf = ({ chars, pauseMs, format, sampleRateHz, speakingRate }: SpeechRequest): number =>
  bytesOf(chars / charsPerSecond / speakingRate + pauseMs / 1000, format, sampleRateHz);

/** Rejects with the signal's reason if the signal aborts. */
export async function estimateSpeech({ request, cut }: Plan, signal: AbortSignal): Promise<Estimate> {
  const { cuts, info } = await cut(bestCasting);
  let seconds = 0;
  let segmentCount = 0;
  let sinceMs = performance.now();
  for (let next = await cuts.next(); !next.done; next = await cuts.next()) {
    const { cut: spoken, rendering, pauseBeforeMs } = next.value;
    seconds += pauseBeforeMs / 1000;
    if (spoken && rendering) {
      seconds += spoken.text.length / charsPerSecond / (rendering.engineRate * rendering.tempo);
      segmentCount++;
    }
    if (performance.now() - sinceMs < sliceMs) continue;
    await sleep(pauseMs);
    signal.throwIfAborted();
    sinceMs = performance.now();
  }
  const { chars, format, sampleRateHz } = request;
  return { chars, seconds, byteCount: bytesOf(seconds, format, sampleRateHz), segmentCount, warnings: info.warnings };
}

function bytesOf(seconds: number, format: FormatName, sampleRateHz: number): number {
  const { bytesPerSecond, headBytes = 0 } = audioFormats[format];
  return Math.round(seconds * bytesPerSecond(sampleRateHz)) + headBytes;
}
