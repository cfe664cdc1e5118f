// Turns text into sound. `speak` takes a slot, has an engine speak the segments of a planned request a little before
// they are read, and joins their sound into one valid file; the next engine of the voice takes over where the first
// fails before any sound. Nothing is yielded before the first sound exists; a clean end means that all of the text was
// spoken; when the caller leaves, the engine stops and the slot is free.
import { setImmediate as yieldTurn } from 'node:timers/promises';
import { audioFormats } from '../audio/formats.ts';
import { type Begun, relay } from '../concurrency/relay.ts';
import type { Release } from '../concurrency/slot-queue.ts';
import type { SpokenPcm } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import { createId } from '../id.ts';
import { countChars } from '../text/chars.ts';
import { createEngineGuards, type EngineGuard, type EngineGuards } from './engine-guard.ts';
import { type LiveFields, type LivePlace, type PlannedLive, planLive } from './live-plan.ts';
import type { LiveText } from './live-text.ts';
import { type PlannedCut, type PlannedSpeech, planSpeech, type SpeechPlan } from './plan.ts';
import { prefetch } from './prefetch.ts';
import type { Caller, SpeechRequest } from './request.ts';
import { RequestSound } from './request-sound.ts';
import type { Slots } from './slots.ts';
import { EventBuffer, type SpeechEvent, type SpeechInfo } from './speech-events.ts';
import { createTurnPlace } from './turn-place.ts';
import type { Binding, Voices } from './voice.ts';

export interface Speech {
  /** Finds the voice and plans the request: see `planSpeech` for what is refused. */
  plan(request: SpeechRequest, caller: Caller): PlannedSpeech;
  /** Speaks what was planned for the caller. */
  speak(planned: PlannedSpeech, caller: Caller, signal: AbortSignal): AsyncGenerator<SpeechEvent, void>;
  /** Plans and speaks. */
  streamSpeech(request: SpeechRequest, caller: Caller, signal: AbortSignal): AsyncGenerator<SpeechEvent, void>;
  /** Finds the voice for live speech. */
  planLive(fields: LiveFields, caller: Caller): PlannedLive;
  /** Speaks a turn of live speech while its text arrives; it takes a place only while something is spoken. */
  speakTurn(planned: PlannedLive, text: LiveText, options: SpeakTurnOptions): AsyncGenerator<SpeechEvent, void>;
  /** How long until the engine of a binding may be called again; 0 for now. */
  restMs(binding: Binding): number;
}

export interface SpeakTurnOptions {
  caller: Caller;
  signal: AbortSignal;
  place: LivePlace;
}

/** A public audio id is an address that nobody can guess. */
const audioIdBits = 128;

export interface SpeechOptions {
  voices: Voices;
  slots: Slots;
  guards?: EngineGuards;
  /** How long a request may wait until it is begun, for a slot and for an engine. Default: as long as it takes. */
  waitMsMax?: number;
}

export function createSpeech({
  voices,
  slots,
  guards: guardOf = createEngineGuards(),
  waitMsMax,
}: SpeechOptions): Speech {
  const restMs = ({ engine, speaker, openClone }: Binding) =>
    guardOf(engine).restMs(speaker.voiceId, openClone !== undefined);

  const plan = (request: SpeechRequest, caller: Caller) => planSpeech(voices, request, caller);

  function speak(planned: PlannedSpeech, { callerId, accountId = callerId }: Caller, signal: AbortSignal) {
    const leaving = new AbortController();
    const { kept } = planned.voice;
    const until = AbortSignal.any([signal, leaving.signal, ...(kept ? [kept.ended] : [])]);
    let giveBack: Release = () => {};
    const begin = async () => {
      const waitUntilMs = waitMsMax === undefined ? undefined : performance.now() + waitMsMax;
      giveBack = await slots.take(accountId, signal, waitMsMax);
      signal.addEventListener('abort', giveBack, { once: true });
      return beginPlans(planned, { accountId, signal: until, waitUntilMs });
    };
    return relay(begin, ({ error, isWhole }) => {
      signal.removeEventListener('abort', giveBack);
      giveBack();
      const wasAborted = until.aborted;
      if (!isWhole) leaving.abort(new Error('the reader has left'));
      if (error !== undefined && wasAborted) throw until.reason;
    });
  }

  const speakTurn = (planned: PlannedLive, text: LiveText, options: SpeakTurnOptions) =>
    speakTurnOf({ slots, beginPlans, waitMsMax }, planned, text, options);

  /** With the best engine that can; with the next one where that fails before any sound. */
  async function beginPlans({ bindings, planFor }: Plans, speaking: Omit<Speaking, 'guard'>) {
    const inTurn = bindings.toSorted((a, b) => Math.sign(restMs(a)) - Math.sign(restMs(b)));
    for (let i = 0; ; i++) {
      const binding = inTurn[i]!;
      try {
        const source = speakPlan(planFor(binding), { ...speaking, guard: guardOf(binding.engine) });
        return { first: await source.next(), source };
      } catch (error) {
        speaking.signal.throwIfAborted();
        if (i === inTurn.length - 1 || !isOfEngine(error)) throw error;
      }
    }
  }

  return {
    plan,
    speak,
    planLive: (fields, caller) => planLive(voices, fields, caller),
    speakTurn,
    streamSpeech: (request, caller, signal) =>
      relay(async () => {
        const source = speak(plan(request, caller), caller, signal);
        return { first: await source.next(), source };
      }),
    restMs,
  };
}

interface TurnSpeaker {
  slots: Slots;
  beginPlans(plans: Plans, speaking: Omit<Speaking, 'guard'>): Promise<Begun<SpeechEvent>>;
  waitMsMax: number | undefined;
}

async function* speakTurnOf(
  { slots, beginPlans, waitMsMax }: TurnSpeaker,
  planned: PlannedLive,
  text: LiveText,
  { caller, signal, place }: SpeakTurnOptions,
): AsyncGenerator<SpeechEvent, void> {
  const { callerId, accountId = callerId } = caller;
  const leaving = new AbortController();
  const { kept } = planned.voice;
  const until = AbortSignal.any([signal, leaving.signal, ...(kept ? [kept.ended] : [])]);
  const turns = createTurnPlace(text, place, () => slots.take(accountId, until, waitMsMax));
  const fail = () => text.fail(until.reason);
  until.addEventListener('abort', fail, { once: true });
  try {
    const planFor = (binding: Binding) => planned.planTurn(binding, text, turns.take);
    const speaking = { accountId, signal: until, waitUntilMs: undefined };
    const begin = () => beginPlans({ bindings: planned.bindings, planFor }, speaking);
    const events = relay(begin, ({ error }) => {
      if (error !== undefined) until.throwIfAborted();
    });
    for await (const event of events) {
      yield event;
      // Its reader has taken note of it: the part is charged as spoken.
      if (event.type === 'chunk_done') turns.partDone();
    }
  } finally {
    leaving.abort(new Error('the turn is over'));
    until.removeEventListener('abort', fail);
    turns.close();
  }
}

type Plans = Pick<PlannedSpeech, 'bindings' | 'planFor'>;

const isOfEngine = (error: unknown): boolean => error instanceof Failure && error.reason.startsWith('engine_');

/** By which engine, for whose account, until when. */
interface Speaking {
  guard: EngineGuard;
  accountId: string;
  signal: AbortSignal;
  /** Until when the first segment may wait for its engine. */
  waitUntilMs: number | undefined;
}

async function* speakPlan(plan: SpeechPlan, speaking: Speaking): AsyncGenerator<SpeechEvent, void> {
  const { request, binding } = plan;
  const { signal } = speaking;
  const clone = await binding.openClone?.();
  signal.throwIfAborted();
  const release = binding.engine.keep?.(binding.speaker, clone);
  const events = new EventBuffer(toInfo(plan));
  const sound = new RequestSound(plan);
  const { segmentsAtOnce } = binding.engine.capabilities;
  const speak = (cut: PlannedCut, end: AbortSignal) =>
    speakCut(plan, cut, clone, { ...speaking, signal: AbortSignal.any([signal, end]) });
  let chunkAt = -1;
  let chunkChars = 0;
  let chars = 0;
  let startSeconds = 0;
  try {
    for await (const begun of prefetch(plan.cuts, speak, segmentsAtOnce)) {
      const { chunkIndex, chunk, cut, endsChunk, endsRequest } = begun.cut;
      if (chunkIndex !== chunkAt) chunkChars = countChars(chunk);
      chunkAt = chunkIndex;
      const last = cut?.spans.at(-1);
      const wordsSoFar = () => sound.wordsSoFar(begun.cut);
      const at = { chunkIndex, chunkCharsBegun: last ? last.offset + last.length : chunkChars, wordsSoFar };
      const pieces = begun.pieces[Symbol.asyncIterator]();
      sound.begin();
      for (let isOver = false; !isOver; ) {
        const { value: piece, done } = await pieces.next();
        isOver = done === true;
        const opening = sound.prepare(begun.cut, piece);
        if (opening) await opening;
        for (const bytes of piece ? sound.push(begun.cut, piece) : sound.endSegment()) {
          for (const event of events.put(bytes, at, false)) yield event;
          await yieldTurn();
          signal.throwIfAborted();
        }
      }
      // All audio of a chunk comes before its end is told: the last chunk ends with what the encoder holds back.
      for (const event of events.put(endsRequest ? sound.end() : nothing, at, true)) yield event;
      const words = request.timestamps && sound.timeWords(begun.cut);
      if (words) yield* events.pass(words);
      if (endsChunk) {
        const endSeconds = sound.seconds;
        chars += chunkChars;
        yield* events.pass({ type: 'chunk_done', chunkIndex, chars: chunkChars, startSeconds, endSeconds });
        startSeconds = endSeconds;
      }
    }
    const { encodedSeconds: seconds, head } = sound;
    yield { type: 'done', chars, seconds, byteCount: events.byteCount, head };
  } finally {
    release?.();
    sound.close();
  }
}

const nothing = new Uint8Array();

function toInfo({ request, voice, binding, ended, chunkCount, chars, warnings }: SpeechPlan): SpeechInfo {
  return {
    type: 'info',
    audioId: createId('aud', audioIdBits),
    voice,
    speaker: binding.speaker,
    ended,
    format: request.format,
    contentType: audioFormats[request.format].contentType,
    sampleRateHz: request.sampleRateHz,
    chunkCount,
    chars,
    warnings,
  };
}

function speakCut(
  { binding, engineRate, request }: SpeechPlan,
  { cut, breakBefore }: PlannedCut,
  clone: Uint8Array | undefined,
  { guard, accountId, signal, waitUntilMs }: Speaking,
): AsyncIterable<SpokenPcm> {
  if (!cut) return silent();
  const { languageCode, timestamps } = request;
  const { engine, speaker: voice } = binding;
  const timings = timestamps && engine.capabilities.timings;
  const urgent = breakBefore === undefined;
  const segment = { voice, text: cut.text, languageCode, speakingRate: engineRate, timings, urgent };
  return guard.speak(clone ? { ...segment, clone } : segment, accountId, signal, waitUntilMs);
}

async function* silent(): AsyncGenerator<SpokenPcm> {}
