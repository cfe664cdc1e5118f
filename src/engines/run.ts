// Runs an engine for one segment and checks the contract of engine.ts. Overlong segments, faulty audio (sound-check.ts)
// and long waits for audio are failures. After an abort, the reader receives the reason at once, although the engine
// may need a moment to stop.

import { Failure } from '../platform/errors.ts';
import { secondsOf } from '../platform/pcm.ts';
import type { Engine, Segment, SpokenPcm } from './engine.ts';
import { createSoundCheck } from './sound-check.ts';

const usual = { firstSoundMsMax: 60_000, stallMsMax: 30_000 };
/** How long to wait for an engine to stop before another segment gets its slot. */
const stopMsMax = 5_000;
/** Shared, because creating an error for each call would capture a stack trace each time. */
const runOver = new Error('nobody reads on');

interface RunObserver {
  onFirstSound?(): void;
  /** Called when the segment was spoken or the run failed. Not called if the reader stopped or the call was aborted. */
  onEnd?(ended: { error?: unknown; pace?: RunPace }): void;
  /** Called when the run has ended, successfully or not. */
  onLeave?(): void;
  /** Called when the engine has finished its work on the segment, or has not stopped in time. */
  onIdle?(): void;
}

/** Length of the audio, and the time that the engine took. */
export interface RunPace {
  soundSeconds: number;
  workSeconds: number;
}

/** Resolves when all audio of the segment was pushed. */
export async function runEngine(
  engine: Engine,
  segment: Segment,
  push: (piece: SpokenPcm) => void,
  signal: AbortSignal,
  observer: RunObserver = {},
): Promise<void> {
  const { segmentCharsMax, firstSoundMsMax, stallMsMax } = { ...usual, ...engine.capabilities };
  const watchdog = createWatchdog(signal);
  let pieces: AsyncIterator<SpokenPcm> | undefined;
  try {
    signal.throwIfAborted();
    const { length } = segment.text;
    if (length > segmentCharsMax) throw contractBroken(`a segment of ${length} characters is too long`);
    const check = createSoundCheck(segment);
    pieces = engine.speak(segment, watchdog.signal)[Symbol.asyncIterator]();
    const pace: RunPace = { soundSeconds: 0, workSeconds: 0 };
    for (let isHeard = false; ; isHeard = true) {
      const sinceMs = performance.now();
      const { done, value } = await watchdog.wait(pieces.next(), isHeard ? stallMsMax : firstSoundMsMax);
      pace.workSeconds += (performance.now() - sinceMs) / 1000;
      if (done) break;
      pace.soundSeconds += secondsOf(value);
      if (!isHeard) observer.onFirstSound?.();
      for (const piece of check.add(value)) push(piece);
    }
    for (const piece of check.end()) push(piece);
    observer.onEnd?.({ pace });
  } catch (error) {
    signal.throwIfAborted();
    observer.onEnd?.({ error });
    throw error;
  } finally {
    observer.onLeave?.();
    watchdog.end();
    const stopped = Promise.resolve(pieces?.return?.()).catch(() => {});
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, stopMsMax).unref();
    void Promise.race([stopped, late.promise]).then(() => {
      clearTimeout(timer);
      observer.onIdle?.();
    });
  }
}

const contractBroken = (message: string) => new Failure('engine_error', {}, new Error(message));

/**
 * Ends a wait when the signal aborts or the time is up. The returned signal then aborts, and also when the run ends.
 */
function createWatchdog(signal: AbortSignal) {
  const stopping = new AbortController();
  /** Ends the current wait; undefined if there is none. */
  let giveUp: ((reason: unknown) => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  let timerMs = 0;
  const stop = (reason: unknown) => {
    stopping.abort(reason);
    giveUp?.(reason);
  };
  const abort = () => stop(signal.reason);
  const runOut = () => {
    if (giveUp) stop(new Failure('engine_timeout', {}, new Error(`no audio for ${timerMs} ms`)));
  };
  /** One timer serves all waits of the same length, since a segment may have hundreds of pieces. */
  const startTimer = (ms: number) => {
    if (timer && timerMs === ms) return void timer.refresh();
    clearTimeout(timer);
    timer = setTimeout(runOut, ms);
    timerMs = ms;
  };
  signal.addEventListener('abort', abort, { once: true });
  return {
    signal: stopping.signal,
    wait<T>(work: Promise<T>, ms: number): Promise<T> {
      return new Promise((resolve, reject) => {
        giveUp = reject;
        const settle = () => {
          giveUp = undefined;
          if (signal.aborted) reject(signal.reason);
        };
        work.then(
          (result) => {
            settle();
            resolve(result);
          },
          (error) => {
            settle();
            reject(error);
          },
        );
        if (stopping.signal.aborted) reject(stopping.signal.reason);
        else startTimer(ms);
      });
    },
    end(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      stopping.abort(runOver);
    },
  };
}
