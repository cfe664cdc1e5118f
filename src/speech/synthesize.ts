// Turns text into audio. `speak` waits for the scheduler, has engines speak the segments slightly ahead of the reader,
// and joins their audio into one valid file. If an engine fails before the first audio, the voice's next engine takes
// over. A stream that ends without an error contains the whole text.
import { setImmediate as yieldTurn } from 'node:timers/promises';
import type { Caller } from '../accounts.ts';
import { audioFormats } from '../audio.ts';
import { createEngineGuards, type EngineGuards, type TakeTurn } from '../engines.ts';
import { Failure } from '../platform/errors.ts';
import type { Pace } from '../platform/pace.ts';
import { onAbort } from '../platform/runtime/abort.ts';
import { createId } from '../platform/runtime/id.ts';
import type { Casting } from './cast.ts';
import { type PlannedLive, planLive } from './live-plan.ts';
import type { LiveText } from './live-text.ts';
import type { Marking } from './marking.ts';
import { type CastSpeech, castSpeech, findVoice, type PlannedSpeech, type SpeechPlan } from './plan.ts';
import { prefetch } from './prefetch.ts';
import type { SpeechRequest } from './request.ts';
import type { Lexicons } from './request-lexicons.ts';
import { RequestSound } from './request-sound.ts';
import { demandOf, kindOf, type Schedule } from './schedule.ts';
import { type KeepSegment, openBindings, type RunKept, type Speaking, speakCut } from './speak-cut.ts';
import { type SpeakPlans, type SpeakTurnOptions, speakTurn } from './speak-turn.ts';
import { EventBuffer, type SpeechEvent, type SpeechInfo } from './speech-events.ts';
import type { PlannedCut } from './text-cutter.ts';
import type { Binding, Voices } from './voice.ts';

export interface Speech {
  /** Finds the voices of the request. See `castSpeech` for the failures. */
  cast(request: SpeechRequest, caller: Caller): Promise<CastSpeech>;
  /**
   * Finds the voices and plans the request. Rejects if the voice cannot speak the text. Default for `lexicons`: those of
   * the service.
   */
  plan(request: SpeechRequest, caller: Caller, lexicons?: Lexicons): Promise<PlannedSpeech>;
  /** Throws `overloaded` if a stream for the request would be refused at once. Does not look at the text. */
  checkRoom(request: SpeechRequest, caller: Caller): Promise<void>;
  /** Synthesizes a planned request. Without a pace, the reader is never slow. */
  speak(
    planned: PlannedSpeech,
    caller: Caller,
    signal: AbortSignal,
    pace?: Pace | undefined,
  ): AsyncGenerator<SpeechEvent, void>;
  /**
   * Speaks a plan in the background and stores each segment with `keep`. The call takes no slot and yields to
   * interactive requests. Uses only the plan's engines: if one fails, the call fails.
   */
  speakKept(plan: SpeechPlan, caller: Caller, signal: AbortSignal, keep: KeepSegment): AsyncIterable<SpeechEvent>;
  /** Plans and synthesizes a request. */
  streamSpeech(request: SpeechRequest, caller: Caller, signal: AbortSignal): AsyncGenerator<SpeechEvent, void>;
  /** Finds the voice for live speech. */
  planLive(start: SpeechRequest, caller: Caller): Promise<PlannedLive>;
  /** Speaks a turn of live speech while its text arrives. Takes a slot only while something is spoken. */
  speakTurn(planned: PlannedLive, text: LiveText, options: SpeakTurnOptions): AsyncGenerator<SpeechEvent, void>;
  /** Milliseconds until the engine of the binding may be called again; 0 if it may be called now. */
  restMs(binding: Binding): number;
}

/** Number of random bits of an audio id, so that nobody can guess a public audio URL. */
const audioIdBits = 128;

interface SpeechOptions {
  voices: Voices;
  /** Default: no lexicons. */
  lexicons?: Lexicons | undefined;
  schedule: Schedule;
  guards?: EngineGuards;
  /** Information for the origin of files. Default: files do not state their origin. */
  marking?: Marking | undefined;
  /** Longest wait before a request begins. Default: no limit. */
  waitMsMax?: number | undefined;
}

export function createSpeech(options: SpeechOptions): Speech {
  const { voices, lexicons, marking, schedule, guards: guardOf = createEngineGuards(), waitMsMax } = options;
  const restMs = ({ engine, speaker, openClone }: Binding) =>
    guardOf(engine).restMs(speaker.voiceId, openClone !== undefined);

  const cast = (request: SpeechRequest, caller: Caller, used = lexicons) =>
    voices.findCurrent(() => castSpeech(voices, request, caller, used, marking));

  /**
   * Runs the work with the best engine of the voice that may be called now. If that engine has used up its segments per
   * minute, adds it to `failed` and tries the next engine.
   */
  async function atReadiest<Result>(
    bindings: readonly Binding[],
    attempt: (binding: Binding) => Result | Promise<Result>,
    failed = new Set<Binding>(),
  ): Promise<Result> {
    for (;;) {
      const left = bindings.filter((binding) => !failed.has(binding));
      const binding = readiest(left, restMs);
      try {
        return await attempt(binding);
      } catch (error) {
        if (left.length === 1 || !isOfEngine(error)) throw error;
        failed.add(binding);
      }
    }
  }

  async function* speak(planned: PlannedSpeech, caller: Caller, signal: AbortSignal, pace?: Pace | undefined) {
    const { request, bindings, cast } = planned;
    const failed = new Set<Binding>();
    const begin = (binding: Binding) => schedule.begin(demandOf(binding, request, caller, waitMsMax), signal);
    const admission = await atReadiest(bindings, begin, failed);
    const leaving = new AbortController();
    let ended = false;
    using _ = onAbort(signal, admission.end);
    try {
      const ends = [cast.main, ...cast.others].flatMap(({ offered: { kept } }) => (kept ? [kept.ended] : []));
      const until = AbortSignal.any([signal, leaving.signal, ...ends]);
      yield* speakPlans(planned, { admission, signal: until, pace, isBulk: kindOf(request) === 'bulk' }, failed);
      ended = true;
    } finally {
      if (!ended) leaving.abort(new Error('the reader disconnected'));
      admission.end();
    }
  }

  /**
   * Speaks with the best available engines. If the engine of a voice fails before the first audio, tries the voice's
   * next engine.
   */
  const speakPlans: SpeakPlans = async function* ({ planFor }, { admission, ...speaking }, failed = new Set()) {
    const casting: Casting = ({ bindings }) => {
      const left = bindings.filter((binding) => !failed.has(binding));
      return left.length > 0 ? readiest(left, restMs) : bindings[0]!;
    };
    for (;;) {
      let isHeard = false;
      const present = nobody();
      try {
        for await (const event of speakPlan(
          await planFor(casting),
          { ...speaking, guardOf, take: admission.turn },
          present,
        )) {
          isHeard = true;
          if (event.type === 'info' || event.type === 'audio') admission.heard();
          yield event;
        }
        return;
      } catch (error) {
        speaking.signal.throwIfAborted();
        const others = present.bindings.filter((other) => other !== present.binding && !failed.has(other));
        if (isHeard || others.length === 0 || !isOfEngine(error)) throw error;
        failed.add(present.binding!);
      }
    }
  };

  return {
    cast,
    plan: async (request, caller, used) => (await cast(request, caller, used)).plan(),
    async checkRoom(given, caller) {
      const { request, main } = await voices.findCurrent(() => findVoice(voices, given, caller));
      await atReadiest(main.bindings, (binding) => schedule.check(demandOf(binding, request, caller, waitMsMax)));
    },
    speak,
    planLive: (fields, caller) => voices.findCurrent(() => planLive(voices, fields, caller, lexicons, marking)),
    speakTurn: (...turn) => speakTurn({ schedule, speakPlans, waitMsMax }, ...turn),
    async *streamSpeech(request, caller, signal) {
      yield* speak((await cast(request, caller)).plan(), caller, signal);
    },
    speakKept(plan, { callerId, accountId = callerId }, signal, keep) {
      const take: TakeTurn = (seat, _, by) => schedule.turn(accountId, seat, 'background', by);
      const run: RunKept = (by, work) => schedule.background(accountId, by, work);
      return speakPlan(plan, { guardOf, take, signal, kept: { keep, run } }, nobody());
    },
    restMs,
  };
}

/** Returns the best engine that may be called now; if none may be called, the best of all engines. */
const readiest = (bindings: readonly Binding[], restMs: (binding: Binding) => number): Binding =>
  bindings.toSorted((a, b) => Math.sign(restMs(a)) - Math.sign(restMs(b)))[0]!;

/** The engine that is speaking, and all engines of the same voice. */
interface Present {
  bindings: readonly Binding[];
  binding: Binding | undefined;
}

const nobody = (): Present => ({ bindings: [], binding: undefined });

const isOfEngine = (error: unknown): boolean => error instanceof Failure && error.reason.startsWith('engine_');

async function* speakPlan(plan: SpeechPlan, speaking: Speaking, present: Present): AsyncGenerator<SpeechEvent, void> {
  const { request } = plan;
  const { signal, pace, kept } = speaking;
  present.bindings = plan.main.bindings;
  present.binding = plan.binding;
  const opened = openBindings();
  const events = new EventBuffer(toInfo(plan));
  const sound = new RequestSound(request, plan.origin, speaking.file);
  const speak = (cut: PlannedCut, end: AbortSignal) => {
    const until = AbortSignal.any([signal, end]);
    if (!kept) return speakCut(cut, request, opened, { ...speaking, signal: until });
    const speakWhole = (by: AbortSignal) =>
      Array.fromAsync(speakCut(cut, request, opened, { ...speaking, signal: by }));
    return kept.keep(cut, () => kept.run(until, speakWhole), until);
  };
  // Segments that are stored are synthesized one at a time: each starts after the previous segment is stored.
  const segmentsAtOnce = kept ? 1 : Math.max(...plan.bindings.map(({ engine }) => engine.capabilities.segmentsAtOnce));
  let chars = 0;
  let startSeconds = 0;
  let voiceId = plan.voice.voiceId;
  try {
    // The binding is opened before a slot is used or the engine is called.
    await opened.open(plan.binding);
    signal.throwIfAborted();
    for await (const begun of prefetch(plan.cuts, speak, segmentsAtOnce, pace)) {
      const { chunkIndex, chunkChars, chunkCharsBegun, charsBegun, rendering, endsChunk, endsRequest } = begun.cut;
      if (rendering) Object.assign(present, { bindings: rendering.cast.bindings, binding: rendering.binding });
      const wordsSoFar = () => sound.wordsSoFar(begun.cut);
      const at = { chunkIndex, chunkCharsBegun, charsBegun, wordsSoFar };
      for await (const bytes of sound.encode(begun)) {
        // `yield*` is not used, because delegation to a synchronous generator would add two awaits per event.
        for (const event of events.put(bytes, at, false)) yield event;
        await yieldTurn();
        signal.throwIfAborted();
      }
      // All audio of a chunk is sent before the end of the chunk is reported. The last chunk includes the audio that
      // the encoder held back.
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
    origin: plan.origin,
  };
}
