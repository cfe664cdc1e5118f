// Has the engine of a cut speak it, with the clone of its voice if that is one.
import type { Segment, SpokenPcm } from '../engines/engine.ts';
import type { EngineGuards } from './engine-guard.ts';
import type { openBindings } from './open-bindings.ts';
import type { SpokenFields } from './plan.ts';
import type { Rendering } from './rendering.ts';
import type { PlannedCut } from './text-cutter.ts';

/** For whose account, until when. */
export interface Speaking {
  guardOf: EngineGuards;
  accountId: string;
  signal: AbortSignal;
  /** Until when the first segment may wait for its engine. */
  waitUntilMs: number | undefined;
}

export function speakCut(
  { cut, breakBefore, rendering, marks, emphasized }: PlannedCut,
  { timestamps }: SpokenFields,
  opened: ReturnType<typeof openBindings>,
  speaking: Speaking,
): AsyncIterable<SpokenPcm> {
  if (!cut || !rendering) return silent();
  const { binding, languageCode, engineRate: speakingRate, pitch } = rendering;
  const { engine, speaker: voice } = binding;
  const isTimed = timestamps || marks.length > 0 || emphasized.length > 0;
  const segment: Segment = {
    voice,
    text: cut.text,
    languageCode,
    speakingRate,
    timings: isTimed && engine.capabilities.timings,
    urgent: breakBefore === undefined,
    ...(pitch !== 1 && { pitch }),
    ...(cut.phonemes && { phonemes: cut.phonemes }),
  };
  return speakSegment(segment, rendering, opened, speaking);
}

async function* speakSegment(
  segment: Segment,
  { binding, ended }: Rendering,
  opened: ReturnType<typeof openBindings>,
  { guardOf, accountId, signal, waitUntilMs }: Speaking,
): AsyncGenerator<SpokenPcm> {
  const clone = await opened.open(binding);
  const until = ended ? AbortSignal.any([signal, ended]) : signal;
  const whole = clone ? { ...segment, clone } : segment;
  yield* guardOf(binding.engine).speak(whole, accountId, until, waitUntilMs);
}

async function* silent(): AsyncGenerator<SpokenPcm> {}
