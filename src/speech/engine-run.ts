// One segment spoken by an engine, held to the contract of src/engines/engine.ts. Rejected are an overlong segment, silence
// in place of text, sound without end, and a sample rate that changes; an engine that sends nothing for too long is given
// up. The reader gets the reason of an abort at once, whatever the engine does until it has stopped.
import anyAscii from 'any-ascii';
import { secondsOf } from '../audio/pcm.ts';
import type { Engine, Segment, SpokenPcm } from '../engines/engine.ts';
import { Failure } from '../errors.ts';

const usual = { firstSoundMsMax: 60_000, stallMsMax: 30_000 };
/** How long to wait for an engine to stop before its slot is given to another segment. */
const stopMsMax = 5_000;
const audiblePeak = 64;
/** No text becomes more sound than this, however slowly it is spoken. */
const soundSecondsMax = { start: 60, perChar: 1 };

/** Called as a run goes on. */
export interface RunObserver {
  onFirstSound?(): void;
  /** All was spoken, or the run failed with the error; neither where the reader left or aborted. */
  onEnd?(ended: { error?: unknown }): void;
  /** The engine has finished its work on the segment, or should have. */
  onIdle?(): void;
}

export async function* runEngine(
  engine: Engine,
  segment: Segment,
  signal: AbortSignal,
  observer: RunObserver = {},
): AsyncGenerator<SpokenPcm> {
  const { segmentCharsMax, firstSoundMsMax, stallMsMax } = { ...usual, ...engine.capabilities };
  const watchdog = createWatchdog(signal);
  let pieces: AsyncIterator<SpokenPcm> | undefined;
  try {
    signal.throwIfAborted();
    const { length } = segment.text;
    if (length > segmentCharsMax) throw contractBroken(`${length} characters are too long for a segment`);
    const check = createSoundCheck(segment);
    pieces = engine.speak(segment, watchdog.signal)[Symbol.asyncIterator]();
    for (let isHeard = false; ; isHeard = true) {
      const { done, value } = await watchdog.wait(pieces.next(), isHeard ? stallMsMax : firstSoundMsMax);
      if (done) break;
      check.add(value);
      if (!isHeard) observer.onFirstSound?.();
      yield value;
    }
    check.end();
    observer.onEnd?.({});
  } catch (error) {
    if (!signal.aborted) observer.onEnd?.({ error });
    throw error;
  } finally {
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

function createSoundCheck({ text, speakingRate }: Segment) {
  const secondsMax = soundSecondsMax.start + (soundSecondsMax.perChar * text.length) / speakingRate;
  // Pictures, and letters that nobody can transliterate, may stay silent.
  const letters = text.match(/[\p{L}\p{N}]/gu) ?? [];
  let isAudible = !/[A-Za-z0-9]/.test(anyAscii(letters.join('')));
  let seconds = 0;
  let rateHz: number | undefined;
  return {
    add(pcm: SpokenPcm): void {
      isAudible ||= pcm.samples.some((sample) => Math.abs(sample) > audiblePeak);
      seconds += secondsOf(pcm);
      if (seconds > secondsMax) throw contractBroken('more sound than the text can become');
      rateHz ??= pcm.sampleRateHz;
      if (pcm.sampleRateHz !== rateHz) throw contractBroken('the sample rate changed within a segment');
    },
    end(): void {
      if (!isAudible) throw contractBroken('the text became silence');
    },
  };
}

/** Ends a wait when the signal aborts or time is over. Its own signal aborts then, and when the reader leaves. */
function createWatchdog(signal: AbortSignal) {
  const stopping = new AbortController();
  const over = Promise.withResolvers<never>();
  over.promise.catch(() => {});
  const stop = (reason: unknown) => {
    stopping.abort(reason);
    over.reject(reason);
  };
  const abort = () => stop(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  return {
    signal: stopping.signal,
    async wait<T>(work: Promise<T>, ms: number): Promise<T> {
      const giveUp = () => stop(new Failure('engine_timeout', {}, new Error(`no sound for ${ms} ms`)));
      const timer = setTimeout(giveUp, ms);
      try {
        const result = await Promise.race([work, over.promise]);
        signal.throwIfAborted();
        return result;
      } finally {
        clearTimeout(timer);
      }
    },
    end(): void {
      signal.removeEventListener('abort', abort);
      stopping.abort(new Error('nobody reads on'));
    },
  };
}
