// Turns text into sound. `speak` takes a slot, has an engine speak the segments of a planned request a little before
// they are read, and joins their sound into one valid file; the next engine of the voice takes over where the first
// fails before any sound. Nothing is yielded before the first sound exists; a clean end means that all of the text was
// spoken; when the caller leaves, the engine stops and the slot is free.
import { setImmediate as yieldTurn } from 'node:timers/promises';
import { audioFormats } from '../audio/formats.ts';
import { Failure } from '../errors.ts';
import { createId } from '../runtime/id.ts';
import type { Casting } from './cast.ts';
import { createEngineGuards, type EngineGuards } from './engine-guard.ts';
import type { Lexicons } from './lexicons.ts';
import { type LiveFields, type LivePlace, type PlannedLive, planLive } from './live-plan.ts';
import type { LiveText } from './live-text.ts';
import { openBindings } from './open-bindings.ts';
import { type CastSpeech, castSpeech, findVoice, type PlannedSpeech, type SpeechPlan } from './plan.ts';
import { prefetch } from './prefetch.ts';
import { slotUseOf, slotUseOfText } from './queue/slot-use.ts';
import type { Slots } from './queue/slots.ts';
import { createTurnPlace } from './queue/turn-place.ts';
import type { Caller, SpeechRequest } from './request.ts';
import { RequestSound } from './request-sound.ts';
import { type KeepSegment, type Speaking, speakCut } from './speak-cut.ts';
import { EventBuffer, type SpeechEvent, type SpeechInfo } from './speech-events.ts';
import type { PlannedCut } from './text-cutter.ts';
import type { Binding, Voices } from './voice.ts';

export interface Speech {
  /** Finds the voices of the request: see `castSpeech` for what is refused. */
  cast(request: SpeechRequest, caller: Caller): Promise<CastSpeech>;
  /** The same, and plans it: what the voice cannot speak is refused too. */
  plan(request: SpeechRequest, caller: Caller): Promise<PlannedSpeech>;
  /** A Failure `overloaded` where a stream of the request would be refused at once, before its text is looked at. */
  checkRoom(request: SpeechRequest, caller: Caller): Promise<void>;
  /** Speaks what was planned for the caller. */
  speak(planned: PlannedSpeech, caller: Caller, signal: AbortSignal): AsyncGenerator<SpeechEvent, void>;
  /**
   * Speaks a plan in the background, segment by segment, each kept by `keep`: no slot is taken, and interactive requests go
   * before it. Engines are those of the plan: where one cannot speak, that is a failure.
   */
  speakKept(plan: SpeechPlan, caller: Caller, signal: AbortSignal, keep: KeepSegment): AsyncIterable<SpeechEvent>;
  /** Plans and speaks. */
  streamSpeech(request: SpeechRequest, caller: Caller, signal: AbortSignal): AsyncGenerator<SpeechEvent, void>;
  /** Finds the voice for live speech. */
  planLive(fields: LiveFields, caller: Caller): Promise<PlannedLive>;
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
  /** Default: none. */
  lexicons?: Lexicons | undefined;
  slots: Slots;
  guards?: EngineGuards;
  /** How long a request may wait until it is begun, for a slot and for an engine. Default: as long as it takes. */
  waitMsMax?: number | undefined;
}

export function createSpeech(options: SpeechOptions): Speech {
  const { voices, lexicons, slots, guards: guardOf = createEngineGuards(), waitMsMax } = options;
  const restMs = ({ engine, speaker, openClone }: Binding) =>
    guardOf(engine).restMs(speaker.voiceId, openClone !== undefined);

  const cast = (request: SpeechRequest, caller: Caller) =>
    voices.findCurrent(() => castSpeech(voices, request, caller, lexicons));

  async function* speak(planned: PlannedSpeech, caller: Caller, signal: AbortSignal) {
    const { callerId, accountId = callerId, deadlineMs } = caller;
    const waitUntilMs = waitMsMax && Math.min(performance.now() + waitMsMax, deadlineMs ?? Infinity);
    const { request, bindings, cast } = planned;
    const use = slotUseOf(readiest(bindings, restMs), request, guardOf);
    const slot = await slots.take(accountId, signal, { waitMsMax, deadlineMs, use });
    const leaving = new AbortController();
    let ended = false;
    signal.addEventListener('abort', slot, { once: true });
    try {
      const ends = [cast.main, ...cast.others].flatMap(({ offered: { kept } }) => (kept ? [kept.ended] : []));
      const until = AbortSignal.any([signal, leaving.signal, ...ends]);
      const speaking = { accountId, signal: until, waitUntilMs, isBulk: use.isBulk };
      yield* speakPlans(planned, speaking, tellHeard(slot.heard));
      ended = true;
    } finally {
      if (!ended) leaving.abort(new Error('the reader has left'));
      signal.removeEventListener('abort', slot);
      slot();
    }
  }

  /** With the best engines that can; with the next one for the voice of which that fails before any sound. */
  async function* speakPlans({ planFor }: Plans, speaking: Omit<Speaking, 'guardOf'>, tell: Tell) {
    const failed = new Set<Binding>();
    const casting: Casting = ({ bindings }) => {
      const left = bindings.filter((binding) => !failed.has(binding));
      return left.length > 0 ? readiest(left, restMs) : bindings[0]!;
    };
    for (;;) {
      let isHeard = false;
      const present = nobody();
      try {
        for await (const event of speakPlan(planFor(casting), { ...speaking, guardOf }, present)) {
          isHeard = true;
          yield tell(event);
        }
        return;
      } catch (error) {
        speaking.signal.throwIfAborted();
        const others = present.bindings.filter((other) => other !== present.binding && !failed.has(other));
        if (isHeard || others.length === 0 || !isOfEngine(error)) throw error;
        failed.add(present.binding!);
      }
    }
  }

  return {
    cast,
    plan: async (request, caller) => (await cast(request, caller)).plan(),
    checkRoom: createRoomCheck({ voices, slots, waitMsMax, guards: guardOf }, restMs),
    speak,
    planLive: (fields, caller) => voices.findCurrent(() => planLive(voices, fields, caller, lexicons)),
    speakTurn: (...turn) => speakTurnOf({ slots, speakPlans, waitMsMax, guardOf }, ...turn),
    async *streamSpeech(request, caller, signal) {
      yield* speak((await cast(request, caller)).plan(), caller, signal);
    },
    speakKept: (plan, { callerId, accountId = callerId }, signal, keep) =>
      speakPlan(plan, { guardOf, accountId, signal, waitUntilMs: undefined, keep }, nobody()),
    restMs,
  };
}

type RoomOptions = SpeechOptions & { guards: EngineGuards };

const createRoomCheck =
  ({ voices, slots, waitMsMax, guards }: RoomOptions, restMs: Speech['restMs']): Speech['checkRoom'] =>
  async (given, caller) => {
    const { callerId, accountId = callerId, deadlineMs } = caller;
    const { request, main } = await voices.findCurrent(() => findVoice(voices, given, caller));
    const use = slotUseOf(readiest(main.bindings, restMs), request, guards);
    slots.check(accountId, { waitMsMax, deadlineMs, use });
  };

interface TurnSpeaker {
  slots: Slots;
  speakPlans(plans: Plans, speaking: Omit<Speaking, 'guardOf'>, tell: Tell): AsyncIterable<SpeechEvent>;
  waitMsMax: number | undefined;
  guardOf: EngineGuards;
}

async function* speakTurnOf(
  { slots, speakPlans, waitMsMax, guardOf }: TurnSpeaker,
  planned: PlannedLive,
  text: LiveText,
  { caller, signal, place }: SpeakTurnOptions,
): AsyncGenerator<SpeechEvent, void> {
  const { callerId, accountId = callerId } = caller;
  const leaving = new AbortController();
  const { kept } = planned.voice;
  const until = AbortSignal.any([signal, leaving.signal, ...(kept ? [kept.ended] : [])]);
  const [binding] = planned.bindings;
  const takeSlot = (chars: number) => {
    const use = slotUseOfText(binding!, { chars, languageCode: planned.request.languageCode }, guardOf);
    return slots.take(accountId, until, { waitMsMax, use });
  };
  const turns = createTurnPlace(text, place, takeSlot);
  const fail = () => text.fail(until.reason);
  until.addEventListener('abort', fail, { once: true });
  try {
    const planFor = (casting: Casting) => planned.planTurn(casting, text, turns.take);
    const speaking = { accountId, signal: until, waitUntilMs: undefined, isBulk: false };
    for await (const event of speakPlans({ planFor }, speaking, tellHeard(turns.heard))) {
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

/** To be called with each event before it leaves. */
type Tell = (event: SpeechEvent) => SpeechEvent;

/** Tells of each sound which engine it is of. */
function tellHeard(heard: (engine: string) => void): Tell {
  let engine = '';
  return (event) => {
    if (event.type === 'info') engine = event.speaker.engine;
    if (event.type === 'info' || event.type === 'audio') heard(engine);
    return event;
  };
}

/** The best of those that may be called now; the best, where none may. */
const readiest = (bindings: readonly Binding[], restMs: (binding: Binding) => number): Binding =>
  bindings.toSorted((a, b) => Math.sign(restMs(a)) - Math.sign(restMs(b)))[0]!;

type Plans = Pick<PlannedSpeech, 'planFor'>;

/** What is being spoken: by which engine, of all that speak this voice. */
interface Present {
  bindings: readonly Binding[];
  binding: Binding | undefined;
}

const nobody = (): Present => ({ bindings: [], binding: undefined });

const isOfEngine = (error: unknown): boolean => error instanceof Failure && error.reason.startsWith('engine_');

async function* speakPlan(plan: SpeechPlan, speaking: Speaking, present: Present): AsyncGenerator<SpeechEvent, void> {
  const { request } = plan;
  const { signal, keep, guardOf, accountId } = speaking;
  present.bindings = plan.main.bindings;
  present.binding = plan.binding;
  const opened = openBindings();
  const events = new EventBuffer(toInfo(plan));
  const sound = new RequestSound(request);
  const speak = (cut: PlannedCut, end: AbortSignal) => {
    const until = AbortSignal.any([signal, end]);
    if (!keep) return speakCut(cut, request, opened, { ...speaking, signal: until });
    const speakWhole = (by: AbortSignal) =>
      Array.fromAsync(speakCut(cut, request, opened, { ...speaking, signal: by }));
    return keep(cut, () => guardOf.background.run(accountId, until, speakWhole), until);
  };
  // What is kept is begun when all before it is kept.
  const segmentsAtOnce = keep ? 1 : Math.max(...plan.bindings.map(({ engine }) => engine.capabilities.segmentsAtOnce));
  let chars = 0;
  let startSeconds = 0;
  let voiceId = plan.voice.voiceId;
  try {
    // Before a slot is used, and the engine is asked for anything.
    await opened.open(plan.binding);
    signal.throwIfAborted();
    for await (const begun of prefetch(plan.cuts, speak, segmentsAtOnce)) {
      const { chunkIndex, chunkChars, chunkCharsBegun, charsBegun, rendering, endsChunk, endsRequest } = begun.cut;
      if (rendering) Object.assign(present, { bindings: rendering.cast.bindings, binding: rendering.binding });
      const wordsSoFar = () => sound.wordsSoFar(begun.cut);
      const at = { chunkIndex, chunkCharsBegun, charsBegun, wordsSoFar };
      for await (const bytes of sound.encode(begun)) {
        // To delegate to a generator that is not async would add two waits to each.
        for (const event of events.put(bytes, at, false)) yield event;
        await yieldTurn();
        signal.throwIfAborted();
      }
      // All audio of a chunk comes before its end is told: the last chunk ends with what the encoder holds back.
      for (const event of events.put(endsRequest ? sound.end() : nothing, at, true)) yield event;
      if (rendering && rendering.voice.voiceId !== voiceId) {
        voiceId = rendering.voice.voiceId;
        yield* events.pass({ type: 'mark', chunkIndex, kind: 'voice', name: voiceId, seconds: sound.segmentSeconds });
      }
      for (const event of sound.tell(begun.cut)) yield* events.pass(event);
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
    opened.close();
    sound.close();
  }
}

const nothing = new Uint8Array();

function toInfo({ request, voice, binding, ended, ...plan }: SpeechPlan): SpeechInfo {
  return {
    type: 'info',
    audioId: createId('aud', audioIdBits),
    voice,
    speaker: binding.speaker,
    ended,
    format: request.format,
    contentType: audioFormats[request.format].contentType,
    sampleRateHz: request.sampleRateHz,
    chunkCount: plan.chunkCount,
    chars: plan.chars,
    warnings: plan.warnings,
    others: plan.others,
    lexiconVersions: plan.lexiconVersions,
  };
}
