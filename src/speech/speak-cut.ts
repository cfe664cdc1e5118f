// Has the engine of a cut speak it, with the clone of its voice if that is one.
import type { Segment, SpokenPcm } from '../engines/engine.ts';
import type { EngineGuards } from './engine-guard.ts';
import type { openBindings } from './open-bindings.ts';
import type { SpokenFields } from './plan.ts';
import type { PlannedCut } from './text-cutter.ts';

/** For whose account, until when. */
export interface Speaking {
  guardOf: EngineGuards;
  accountId: string;
  signal: AbortSignal;
  /** Until when the first segment may wait for its engine. */
  waitUntilMs: number | undefined;
  /** Set for work that interactive requests go before: each segment waits until it may be spoken, and is kept. */
  keep?: KeepSegment | undefined;
  /** Nobody listens: what is to be heard goes before it. */
  isBulk?: boolean;
}

/** Yields the sound of a cut that was kept before; otherwise has it spoken, and keeps it. */
export type KeepSegment = (cut: PlannedCut, speak: SpeakWhole, signal: AbortSignal) => AsyncIterable<SpokenPcm>;

/** Has an engine speak the whole segment; nothing where nothing is said in it. */
export type SpeakWhole = () => Promise<readonly SpokenPcm[]>;

export function speakCut(
  { cut, breakBefore, rendering, marks, emphasized }: PlannedCut,
  { timestamps }: SpokenFields,
  opened: ReturnType<typeof openBindings>,
  speaking: Speaking,
): AsyncIterable<SpokenPcm> {
  if (!cut || !rendering) return silent();
  const { binding, ended, languageCode, engineRate: speakingRate, pitch } = rendering;
  const { engine, speaker: voice } = binding;
  const isTimed = timestamps || marks.length > 0 || emphasized.length > 0;
  const segment: Segment = {
    voice,
    text: cut.text,
    languageCode,
    speakingRate,
    timings: isTimed && engine.capabilities.timings,
    urgent: breakBefore === undefined && !speaking.keep && !speaking.isBulk,
    ...(speaking.keep && { isBackground: true }),
    ...(pitch !== 1 && { pitch }),
    ...(cut.phonemes && { phonemes: cut.phonemes }),
  };
  const ready = opened.ready(binding);
  // At once, where it can: the engine is asked before anything else happens.
  return ready ? speakWith(ready) : speakLater();

  function speakWith({ clone }: { clone: Uint8Array | undefined }): AsyncIterable<SpokenPcm> {
    const { guardOf, accountId, signal, waitUntilMs, keep, isBulk } = speaking;
    const until = ended ? AbortSignal.any([signal, ended]) : signal;
    return guardOf(engine).speak(clone ? { ...segment, clone } : segment, accountId, until, {
      waitUntilMs,
      isBackground: keep !== undefined,
      ...(isBulk && { isBulk }),
    });
  }
  async function* speakLater(): AsyncGenerator<SpokenPcm> {
    yield* speakWith({ clone: await opened.open(binding) });
  }
}

async function* silent(): AsyncGenerator<SpokenPcm> {}
