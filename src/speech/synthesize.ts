// The heart: text becomes sound. `streamSpeech` checks the request against the voice, takes a slot, has an engine
// speak the segments a little ahead of the reader, and sends their sound down one line, so that what leaves is one
// valid file; another engine of the voice takes over where the first fails before anything is heard. `synthesizeSpeech` is the same, collected. Nothing is yielded before the first sound exists; a clean end
// means that all of the text was spoken; when the caller leaves, the engine stops and the slot is free.
import { setImmediate as yieldTurn } from 'node:timers/promises';
import { audioFormats } from '../audio/formats.ts';
import type { SpokenPcm } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import { createId } from '../id.ts';
import { countChars } from '../text/chars.ts';
import { createEngineGuards, type EngineGuard, type EngineGuards } from './engine-guard.ts';
import { type PlannedCut, planSpeech, type SpeechPlan, type SpeechPlans } from './plan.ts';
import { prefetch } from './prefetch.ts';
import type { Caller, SpeechRequest } from './request.ts';
import { RequestSound } from './request-sound.ts';
import type { Slots } from './slots.ts';
import {
  EventBuffer,
  type SpeechDone,
  type SpeechEvent,
  type SpeechInfo,
  type SpeechTimestamps,
} from './speech-events.ts';
import { type Binding, type Voices, voicesFor } from './voice.ts';

export interface Speech {
  streamSpeech(request: SpeechRequest, caller: Caller, signal: AbortSignal): AsyncGenerator<SpeechEvent, void>;
  synthesizeSpeech(request: SpeechRequest, caller: Caller, signal: AbortSignal): Promise<SpokenText>;
  /** How long until the engine of a binding may be asked again; 0 for now. */
  restMs(binding: Binding): number;
}

/** All of a request's sound, as one file with true sizes. */
export interface SpokenText {
  info: SpeechInfo;
  audio: Uint8Array;
  seconds: number;
  timestamps: readonly SpeechTimestamps[];
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

  async function* streamSpeech(request: SpeechRequest, caller: Caller, signal: AbortSignal) {
    const plans = planSpeech(voicesFor(voices, caller), request);
    const giveBack = await slots.take(caller.callerId, signal);
    const leaving = new AbortController();
    let ended = false;
    signal.addEventListener('abort', giveBack, { once: true });
    try {
      const { kept } = plans.voice;
      const signals = [signal, leaving.signal, ...(kept ? [kept.ended] : [])];
      yield* speakPlans(plans, caller.callerId, AbortSignal.any(signals));
      ended = true;
    } finally {
      if (!ended) leaving.abort(new Error('the reader has left'));
      signal.removeEventListener('abort', giveBack);
      giveBack();
    }
  }

  /** With the best engine that can; with the next one where that fails before anything is heard. */
  async function* speakPlans({ bindings, planFor }: SpeechPlans, callerId: string, signal: AbortSignal) {
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

  async function synthesizeSpeech(request: SpeechRequest, caller: Caller, signal: AbortSignal): Promise<SpokenText> {
    const pieces: Uint8Array[] = [];
    const timestamps: SpeechTimestamps[] = [];
    let info: SpeechInfo | undefined;
    let done: SpeechDone | undefined;
    for await (const event of streamSpeech(request, caller, signal)) {
      if (event.type === 'info') info = event;
      else if (event.type === 'audio') pieces.push(event.audio);
      else if (event.type === 'timestamps') timestamps.push(event);
      else if (event.type === 'done') done = event;
    }
    const audio = Buffer.concat(pieces);
    audio.set(done!.head ?? []);
    return { info: info!, audio, seconds: done!.seconds, timestamps };
  }

  return { streamSpeech, synthesizeSpeech, restMs };
}

const isOfEngine = (error: unknown): boolean => error instanceof Failure && error.reason.startsWith('engine_');

/** By whom, for whom, until when. */
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
      for await (const bytes of sound.hear(begun)) {
        yield* events.put(bytes, at, false);
        await yieldTurn();
        signal.throwIfAborted();
      }
      yield* events.put(nothing, at, true);
      const words = request.timestamps && sound.timeWords(begun.cut);
      if (words) yield* events.pass(words);
      if (endsChunk) {
        const endSeconds = sound.seconds;
        yield* events.pass({
          type: 'chunk_done',
          chunkIndex,
          chars: chunkChars[chunkIndex]!,
          startSeconds,
          endSeconds,
        });
        startSeconds = endSeconds;
      }
    }
    yield* events.put(sound.end(), at, true);
    const { encodedSeconds: seconds, head } = sound;
    yield { type: 'done', chars: request.chars, seconds, byteCount: events.byteCount, head };
  } finally {
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
