// The heart: text becomes sound. `streamSpeech` checks the request against the voice, takes a slot, has the engine
// speak the segments a little ahead of the reader, and sends their sound down one line, so that what leaves is one
// valid file. `synthesizeSpeech` is the same, collected. Nothing is yielded before the first sound exists; a clean end
// means that all of the text was spoken; when the caller leaves, the engine stops and the slot is free.
import { setImmediate as yieldTurn } from 'node:timers/promises';
import { audioFormats } from '../audio/formats.ts';
import type { Engine, SpokenPcm } from '../engines/engine.ts';
import { createId } from '../id.ts';
import { speakAhead } from './ahead.ts';
import { eagerly } from './eager.ts';
import { createEngineGovernor, type EngineGovernor } from './engine-governor.ts';
import { Outbox, type SpeechEvent, type SpeechInfo, type SpeechTimestamps } from './outbox.ts';
import { type PlannedCut, planSpeech, type SpeechPlan } from './plan.ts';
import { type Caller, countChars, type SpeechRequest } from './request.ts';
import { RequestSound } from './request-sound.ts';
import type { Slots } from './slots.ts';
import { type Voices, voicesFor } from './voice.ts';

export interface Speech {
  streamSpeech(request: SpeechRequest, caller: Caller, signal: AbortSignal): AsyncGenerator<SpeechEvent, void>;
  synthesizeSpeech(request: SpeechRequest, caller: Caller, signal: AbortSignal): Promise<SpokenText>;
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

export function createSpeech({ voices, slots }: { voices: Voices; slots: Slots }): Speech {
  const governors = new WeakMap<Engine, EngineGovernor>();
  const governorOf = (engine: Engine) => {
    const { segmentsPerMinute, segmentsSpokenMax } = engine.capabilities;
    if (segmentsPerMinute === undefined && segmentsSpokenMax === undefined) return undefined;
    const governor = governors.get(engine) ?? createEngineGovernor(engine.capabilities);
    governors.set(engine, governor);
    return governor;
  };

  async function* streamSpeech(request: SpeechRequest, caller: Caller, signal: AbortSignal) {
    const plan = planSpeech(voicesFor(voices, caller), request);
    const giveBack = await slots.take(caller.callerId, signal);
    const leaving = new AbortController();
    let ended = false;
    signal.addEventListener('abort', giveBack, { once: true });
    try {
      const governed = { governor: governorOf(plan.engine), callerId: caller.callerId };
      yield* speakPlan(plan, governed, AbortSignal.any([signal, leaving.signal]));
      ended = true;
    } finally {
      if (!ended) leaving.abort(new Error('the reader has left'));
      signal.removeEventListener('abort', giveBack);
      giveBack();
    }
  }

  async function synthesizeSpeech(request: SpeechRequest, caller: Caller, signal: AbortSignal): Promise<SpokenText> {
    const pieces: Uint8Array[] = [];
    const timestamps: SpeechTimestamps[] = [];
    let info: SpeechInfo | undefined;
    let seconds = 0;
    for await (const event of streamSpeech(request, caller, signal)) {
      if (event.type === 'info') info = event;
      else if (event.type === 'audio') pieces.push(event.audio);
      else if (event.type === 'timestamps') timestamps.push(event);
      else if (event.type === 'done') seconds = event.seconds;
    }
    const audio = Buffer.concat(pieces);
    audioFormats[request.format].seal?.(audio);
    return { info: info!, audio, seconds, timestamps };
  }

  return { streamSpeech, synthesizeSpeech };
}

/** Whose turn is taken at an engine with limits of its own. */
interface Governed {
  governor: EngineGovernor | undefined;
  callerId: string;
}

async function* speakPlan(
  plan: SpeechPlan,
  governed: Governed,
  signal: AbortSignal,
): AsyncGenerator<SpeechEvent, void> {
  const { request, engine } = plan;
  const chunkChars = request.chunks.map(countChars);
  const outbox = new Outbox(toInfo(plan));
  const sound = new RequestSound(plan);
  const { segmentsAtOnce } = engine.capabilities;
  const speak = (cut: PlannedCut, end: AbortSignal) => speakCut(plan, cut, governed, AbortSignal.any([signal, end]));
  let at = { chunkIndex: 0, chunkCharsBegun: 0 };
  let startSeconds = 0;
  try {
    for await (const begun of speakAhead(plan.cuts, speak, segmentsAtOnce)) {
      const { chunkIndex, cut, endsChunk } = begun.cut;
      const last = cut?.spans.at(-1);
      at = { chunkIndex, chunkCharsBegun: last ? last.offset + last.length : chunkChars[chunkIndex]! };
      for await (const bytes of sound.hear(begun)) {
        yield* outbox.put(bytes, at, false);
        await yieldTurn();
        signal.throwIfAborted();
      }
      yield* outbox.put(nothing, at, true);
      const words = request.timestamps && sound.timeWords(begun.cut);
      if (words) yield* outbox.pass(words);
      if (endsChunk) {
        const endSeconds = sound.seconds;
        yield* outbox.pass({
          type: 'chunk_done',
          chunkIndex,
          chars: chunkChars[chunkIndex]!,
          startSeconds,
          endSeconds,
        });
        startSeconds = endSeconds;
      }
    }
    yield* outbox.put(sound.end(), at, true);
    yield { type: 'done', chars: request.chars, seconds: sound.encodedSeconds, byteCount: outbox.byteCount };
  } finally {
    sound.close();
  }
}

const nothing = new Uint8Array();

function toInfo({ request, voice, warnings }: SpeechPlan): SpeechInfo {
  return {
    type: 'info',
    audioId: createId('aud', audioIdBits),
    voice,
    format: request.format,
    contentType: audioFormats[request.format].contentType,
    sampleRateHz: request.sampleRateHz,
    chunkCount: request.chunks.length,
    chars: request.chars,
    warnings,
  };
}

function speakCut(
  plan: SpeechPlan,
  { cut, breakBefore }: PlannedCut,
  { governor, callerId }: Governed,
  signal: AbortSignal,
): AsyncIterable<SpokenPcm> {
  if (!cut) return silent();
  const { voice, engine, engineRate, request } = plan;
  const { languageCode, timestamps } = request;
  const timings = timestamps && engine.capabilities.timings;
  const urgent = breakBefore === undefined;
  const segment = { voice, text: cut.text, languageCode, speakingRate: engineRate, timings, urgent };
  const speak = () => engine.speak(segment, signal);
  return governor ? inTurn(() => governor.take({ callerId, urgent, signal }), speak) : speak();
}

async function* inTurn(
  take: () => Promise<() => void>,
  speak: () => AsyncIterable<SpokenPcm>,
): AsyncGenerator<SpokenPcm> {
  yield* eagerly(speak(), await take());
}

async function* silent(): AsyncGenerator<SpokenPcm> {}
