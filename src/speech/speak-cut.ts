// Calls the engine for a cut, and passes the clone's data if the voice of the cut is a clone.
import type { EngineGuards, Segment, SpokenPcm, TakeTurn } from '../engines.ts';
import type { Pace } from '../platform/pace.ts';
import type { FileOfTurns } from './file-of-turns.ts';
import type { SpeechRequest } from './request.ts';
import type { PlannedCut } from './text-cutter.ts';
import type { Binding } from './voice.ts';

export interface Speaking {
  guardOf: EngineGuards;
  /** Takes a turn for each segment. */
  take: TakeTurn;
  signal: AbortSignal;
  /** The pace of the reader. Default: the reader is never slow. */
  pace?: Pace | undefined;
  /** Whether the request is bulk, so that its segments are not urgent. */
  isBulk?: boolean;
  /** The file of the turns of live speech. Default: the audio is a file of its own. */
  file?: FileOfTurns | undefined;
  /** Set for background work: each segment is spoken completely and stored. */
  kept?: { keep: KeepSegment; run: RunKept } | undefined;
}

/** Yields the stored audio of a cut. If none is stored, calls `speak` and stores the resulting audio. */
export type KeepSegment = (cut: PlannedCut, speak: SpeakWhole, signal: AbortSignal) => AsyncIterable<SpokenPcm>;

/** Speaks a segment in the background. */
export type RunKept = (
  signal: AbortSignal,
  work: (by: AbortSignal) => ReturnType<SpeakWhole>,
) => ReturnType<SpeakWhole>;

/** Makes an engine speak the whole segment. Returns no pieces if the segment has no words. */
type SpeakWhole = () => Promise<readonly SpokenPcm[]>;

export function speakCut(
  { cut, breakBefore, rendering, marks, emphasized }: PlannedCut,
  { timestamps }: SpeechRequest,
  opened: ReturnType<typeof openBindings>,
  speaking: Speaking,
): AsyncIterable<SpokenPcm> {
  if (!cut || !rendering) return silent();
  const { binding, ended, languageCode, engineRate: speakingRate, pitch, manner } = rendering;
  const { engine, speaker: voice } = binding;
  const isTimed = timestamps || marks.length > 0 || emphasized.length > 0;
  const segment: Segment = {
    voice,
    text: cut.text,
    languageCode,
    speakingRate,
    timings: isTimed && engine.capabilities.timings,
    urgent: breakBefore === undefined && !speaking.kept && !speaking.isBulk,
    ...(speaking.kept && { isBackground: true }),
    ...(pitch !== 1 && { pitch }),
    ...manner,
    ...(cut.phonemes && { phonemes: cut.phonemes }),
  };
  const ready = opened.ready(binding);
  // Calls the engine synchronously if the binding is open.
  return ready ? speakWith(ready) : speakLater();

  function speakWith({ clone }: { clone: Uint8Array | undefined }): AsyncIterable<SpokenPcm> {
    const { guardOf, take, pace, signal } = speaking;
    const until = ended ? AbortSignal.any([signal, ended]) : signal;
    return guardOf(engine).speak(clone ? { ...segment, clone } : segment, until, { take, pace });
  }
  async function* speakLater(): AsyncGenerator<SpokenPcm> {
    yield* speakWith({ clone: await opened.open(binding) });
  }
}

async function* silent(): AsyncGenerator<SpokenPcm> {}

export function openBindings() {
  const opened = new Map<Binding, Promise<Uint8Array | undefined>>();
  const ready = new Map<Binding, { clone: Uint8Array | undefined }>();
  const releases: (() => void)[] = [];
  let isClosed = false;
  const openBinding = async (binding: Binding) => {
    const { engine, speaker } = binding;
    const clone = await binding.openClone?.();
    const release = engine.keep?.(speaker, clone);
    if (isClosed) release?.();
    else if (release) releases.push(release);
    ready.set(binding, { clone });
    return clone;
  };
  return {
    /** Returns an object with the clone's data, if there is a clone; undefined if the binding is not open. */
    ready: (binding: Binding) => ready.get(binding),
    /** Opens the binding. Resolves to the clone's data if the voice is a clone. */
    open(binding: Binding): Promise<Uint8Array | undefined> {
      const opening = opened.get(binding) ?? openBinding(binding);
      // Prevents an unhandled rejection. Callers that await `opening` still receive the failure.
      opening.catch(() => {});
      opened.set(binding, opening);
      return opening;
    },
    close(): void {
      isClosed = true;
      for (const release of releases.splice(0)) release();
    },
  };
}
