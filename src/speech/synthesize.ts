// Turns text into sound. `speak` takes a slot, has an engine speak the segments of a planned request a little before
// they are read, and joins their sound into one valid file; the next engine of the voice takes over where the first
// fails before any sound. Nothing is yielded before the first sound exists; a clean end means that all of the text was
// spoken; when the caller leaves, the engine stops and the slot is free.
import { setImmediate as yieldTurn } from 'node:timers/promises';
import { audioFormats } from '../audio/formats.ts';
import type { SpokenPcm } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import { createId } from '../id.ts';
import { countChars } from '../text/chars.ts';
import { createEngineGuards, type EngineGuard, type EngineGuards } from './engine-guard.ts';
import { type PlannedCut, type PlannedSpeech, planSpeech, type SpeechPlan } from './plan.ts';
import { prefetch } from './prefetch.ts';
import type { Caller, SpeechRequest } from './request.ts';
import { RequestSound } from './request-sound.ts';
import type { Slots } from './slots.ts';
import { EventBuffer, type SpeechEvent, type SpeechInfo } from './speech-events.ts';
import type { Binding, Voices } from './voice.ts';

export interface Speech {
  /** Finds the voice and plans the request: see `planSpeech` for what is refused. */
  plan(request: SpeechRequest, caller: Caller): PlannedSpeech;
  /** Speaks what was planned for the caller. */
  speak(planned: PlannedSpeech, caller: Caller, signal: AbortSignal): AsyncGenerator<SpeechEvent, void>;
  /** Plans and speaks. */
  streamSpeech(request: SpeechRequest, caller: Caller, signal: AbortSignal): AsyncGenerator<SpeechEvent, void>;
  /** How long until the engine of a binding may be called again; 0 for now. */
  restMs(binding: Binding): number;
}

/** A public audio id is an address that nobody can guess. */
const audioIdBits = 128;

export interface SpeechOptions {
  voices: Voices;
  slots: Slots;
  guards?: EngineGuards;
}

export function createSpeech({ voices, slots, guards: guardOf = createEngineGuards() }: SpeechOptions): Speech {
  const restMs = ({ engine, speaker, openClone }: Binding) =>
    guardOf(engine).restMs(speaker.voiceId, openClone !== undefined);

  const plan = (request: SpeechRequest, caller: Caller) => planSpeech(voices, request, caller);

  async function* speak(planned: PlannedSpeech, { callerId }: Caller, signal: AbortSignal) {
    const giveBack = await slots.take(callerId, signal);
    const leaving = new AbortController();
    let ended = false;
    signal.addEventListener('abort', giveBack, { once: true });
    try {
      const { kept } = planned.voice;
      const signals = [signal, leaving.signal, ...(kept ? [kept.ended] : [])];
      yield* speakPlans(planned, callerId, AbortSignal.any(signals));
      ended = true;
    } finally {
      if (!ended) leaving.abort(new Error('the reader has left'));
      signal.removeEventListener('abort', giveBack);
      giveBack();
    }
  }

  /** With the best engine that can; with the next one where that fails before any sound. */
  async function* speakPlans({ bindings, planFor }: PlannedSpeech, callerId: string, signal: AbortSignal) {
    const inTurn = bindings.toSorted((a, b) => Math.sign(restMs(a)) - Math.sign(restMs(b)));
    for (const [i, binding] of inTurn.entries()) {
      let isHeard = false;
      try {
        for await (const event of speakPlan(planFor(binding), { guard: guardOf(binding.engine), callerId, signal })) {
          isHeard = true;
          yield event;
        }
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (isHeard || i === inTurn.length - 1 || !isOfEngine(error)) throw error;
      }
    }
  }

  return {
    plan,
    speak,
    async *streamSpeech(request, caller, signal) {
      yield* speak(plan(request, caller), caller, signal);
    },
    restMs,
  };
}

const isOfEngine = (error: unknown): boolean => error instanceof Failure && error.reason.startsWith('engine_');

/** By which engine, for which caller, until when. */
interface Speaking {
  guard: EngineGuard;
  callerId: string;
  signal: AbortSignal;
}

async function* speakPlan(plan: SpeechPlan, speaking: Speaking): AsyncGenerator<SpeechEvent, void> {
  const { request, binding } = plan;
  const { signal } = speaking;
  const clone = await binding.openClone?.();
  signal.throwIfAborted();
  const release = binding.engine.keep?.(binding.speaker, clone);
  const chunkChars = request.chunks.map(countChars);
  const events = new EventBuffer(toInfo(plan));
  const sound = new RequestSound(plan);
  const { segmentsAtOnce } = binding.engine.capabilities;
  const speak = (cut: PlannedCut, end: AbortSignal) =>
    speakCut(plan, cut, clone, { ...speaking, signal: AbortSignal.any([signal, end]) });
  let at = { chunkIndex: 0, chunkCharsBegun: 0 };
  let startSeconds = 0;
  try {
    for await (const begun of prefetch(plan.cuts, speak, segmentsAtOnce)) {
      const { chunkIndex, cut, endsChunk } = begun.cut;
      const last = cut?.spans.at(-1);
      at = { chunkIndex, chunkCharsBegun: last ? last.offset + last.length : chunkChars[chunkIndex]! };
      for await (const bytes of sound.encode(begun)) {
        yield* events.put(bytes, at, false);
        await yieldTurn();
        signal.throwIfAborted();
      }
      yield* events.put(nothing, at, true);
      const words = request.timestamps && sound.timeWords(begun.cut);
      if (words) yield* events.pass(words);
      if (endsChunk) {
        const endSeconds = sound.seconds;
        const chars = chunkChars[chunkIndex]!;
        yield* events.pass({ type: 'chunk_done', chunkIndex, chars, startSeconds, endSeconds });
        startSeconds = endSeconds;
      }
    }
    yield* events.put(sound.end(), at, true);
    const { encodedSeconds: seconds, head } = sound;
    yield { type: 'done', chars: request.chars, seconds, byteCount: events.byteCount, head };
  } finally {
    release?.();
    sound.close();
  }
}

const nothing = new Uint8Array();

function toInfo({ request, voice, binding, ended, warnings }: SpeechPlan): SpeechInfo {
  return {
    type: 'info',
    audioId: createId('aud', audioIdBits),
    voice,
    speaker: binding.speaker,
    ended,
    format: request.format,
    contentType: audioFormats[request.format].contentType,
    sampleRateHz: request.sampleRateHz,
    chunkCount: request.chunks.length,
    chars: request.chars,
    warnings,
  };
}

function speakCut(
  { binding, engineRate, request }: SpeechPlan,
  { cut, breakBefore }: PlannedCut,
  clone: Uint8Array | undefined,
  { guard, callerId, signal }: Speaking,
): AsyncIterable<SpokenPcm> {
  if (!cut) return silent();
  const { languageCode, timestamps } = request;
  const { engine, speaker: voice } = binding;
  const timings = timestamps && engine.capabilities.timings;
  const urgent = breakBefore === undefined;
  const segment = { voice, text: cut.text, languageCode, speakingRate: engineRate, timings, urgent };
  return guard.speak(clone ? { ...segment, clone } : segment, callerId, signal);
}

async function* silent(): AsyncGenerator<SpokenPcm> {}
