// Estimates what a planned request would cost, without an engine.
import { audioFormats, type FormatName } from '../audio/formats.ts';
import type { PlannedSpeech } from './plan.ts';
import type { SpeechRequest } from './request.ts';

export interface Estimate {
  chars: number;
  seconds: number;
  byteCount: number;
  segmentCount: number;
  warnings: readonly string[];
}

/** The pace of people, in characters of the text as it is spoken. */
const charsPerSecond = 14.5;

/** Roughly, without looking at the text. */
export const expectedBytesOf = ({ chars, format, sampleRateHz, speakingRate }: SpeechRequest): number =>
  bytesOf(chars / charsPerSecond / speakingRate, format, sampleRateHz);

export function estimateSpeech({ request, bindings, planFor }: PlannedSpeech): Estimate {
  const { cuts, warnings } = planFor(bindings[0]!);
  let spokenChars = 0;
  let segmentCount = 0;
  for (let next = cuts.next(); !next.done; next = cuts.next()) {
    spokenChars += next.value.cut?.text.length ?? 0;
    if (next.value.cut) segmentCount++;
  }
  const { chars, format, sampleRateHz, speakingRate } = request;
  const seconds = spokenChars / charsPerSecond / speakingRate;
  return { chars, seconds, byteCount: bytesOf(seconds, format, sampleRateHz), segmentCount, warnings };
}

function bytesOf(seconds: number, format: FormatName, sampleRateHz: number): number {
  const { bytesPerSecond, headBytes = 0 } = audioFormats[format];
  return Math.round(seconds * bytesPerSecond(sampleRateHz)) + headBytes;
}
