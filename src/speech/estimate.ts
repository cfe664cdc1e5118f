// Estimates what a planned request would cost, without an engine.
import { audioFormats } from '../audio/formats.ts';
import type { PlannedSpeech } from './plan.ts';

export interface Estimate {
  chars: number;
  seconds: number;
  byteCount: number;
  segmentCount: number;
  warnings: readonly string[];
}

/** The pace of people, in characters of the text as it is spoken. */
const charsPerSecond = 14.5;

export async function estimateSpeech({ request, bindings, planFor }: PlannedSpeech): Promise<Estimate> {
  const { cuts, warnings } = planFor(bindings[0]!);
  let spokenChars = 0;
  let segmentCount = 0;
  for (let next = await cuts.next(); !next.done; next = await cuts.next()) {
    spokenChars += next.value.cut?.text.length ?? 0;
    if (next.value.cut) segmentCount++;
  }
  const { chars, format, sampleRateHz, speakingRate } = request;
  const seconds = spokenChars / charsPerSecond / speakingRate;
  const { bytesPerSecond, headBytes = 0 } = audioFormats[format];
  const byteCount = Math.round(seconds * bytesPerSecond(sampleRateHz)) + headBytes;
  return { chars, seconds, byteCount, segmentCount, warnings };
}
