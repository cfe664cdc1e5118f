// Plans a request, once, before anything is spoken: finds the voice and the engines that can speak it, and for each of
// these the segments of every chunk, how the speed is shared between the engine and the tempo stage, and the warnings.
// Whatever can be refused without an engine is refused here.
import type { EngineCapabilities, Voice } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import type { ReadingState } from '../text/paragraphs.ts';
import { inspectScripts } from '../text/scripts.ts';
import { type Break, type Cut, segmentText } from '../text/segment.ts';
import { languageCodeDefault, type SpeechFields } from './fields.ts';
import type { CutSource } from './prefetch.ts';
import { type Caller, type SpeechRequest, textFieldOf } from './request.ts';
import {
  type Binding,
  blendOf,
  isSpokenBy,
  type OfferedVoice,
  type VoiceStatus,
  type Voices,
  voicesFor,
} from './voice.ts';

export type Warning = 'nothing_spoken' | 'transliterated' | 'fallback_engine';

/** A cut and where it is: in which chunk, after which breath, and whether it is the chunk's last. */
export interface PlannedCut {
  chunkIndex: number;
  chunk: string;
  /** Undefined for a chunk in which nothing can be said. */
  cut: Cut | undefined;
  breakBefore: Break | undefined;
  endsChunk: boolean;
  endsRequest: boolean;
}

/** What of a request decides how its text is spoken. */
export type SpokenFields = Pick<
  SpeechFields,
  'voiceId' | 'languageCode' | 'speakingRate' | 'timestamps' | 'captions' | 'format' | 'sampleRateHz'
>;

export interface SpeechPlan {
  request: SpokenFields;
  /** Of the whole request; 0 where it still arrives. */
  chunkCount: number;
  chars: number;
  /** As the caller knows it. */
  voice: Voice;
  binding: Binding;
  /** Aborts when the voice may not be heard any more. */
  ended: AbortSignal | undefined;
  /** The speed that the engine is given; the tempo stage does the rest. */
  engineRate: number;
  tempo: number;
  warnings: readonly Warning[];
  /** Cut as they are pulled. */
  cuts: CutSource<PlannedCut>;
}

/** A request with the voice that was found for it, and a plan for each engine that can speak it. */
export interface PlannedSpeech {
  /** With the id of the voice, and in its language where the request leaves that open. */
  request: SpeechRequest;
  voice: OfferedVoice;
  /** Those that speak the language, the best first, at least one. */
  bindings: readonly Binding[];
  planFor(binding: Binding): SpeechPlan;
}

/** The first segment is short, to be heard soon. */
const firstCharsMax = 60;
/** How much of a chunk's end is looked at to see how it ends. */
const endCharsMax = 100;

/** A Failure where the caller has no such voice, or the voice cannot speak the request. */
export function planSpeech(voices: Voices, given: SpeechRequest, caller: Caller): PlannedSpeech {
  const { request, voice, bindings } = findVoice(voices, given, caller);
  const { languageCode } = request;
  const scripts = inspectScripts(request.chunks.join('\n'), languageCode);
  if (scripts.mostlyForeign) throw unsupportedText(request, textFieldOf(request), scripts.foreign);
  const planFor = (binding: Binding): SpeechPlan => {
    const { cuts, isSpoken } = peekSpoken(planCuts(request, binding));
    const warnings: Warning[] = [];
    if (!isSpoken) warnings.push('nothing_spoken');
    if (scripts.foreign.length > 0) warnings.push('transliterated');
    if (binding !== bindings[0]) warnings.push('fallback_engine');
    const { chars, chunks } = request;
    return { ...planFrom(request, voice, binding), chunkCount: chunks.length, chars, warnings, cuts };
  };
  return { request, voice, bindings, planFor };
}

/** The voice, which is ready, and the engines that can speak the language with it. */
export function findVoice<Request extends SpokenFields>(voices: Voices, given: Request, caller: Caller) {
  const voice = voicesFor(voices, caller).find(given.voiceId);
  checkReady(voice);
  const request = completed(given, voice);
  return { request, voice, bindings: bindingsFor(voice, request.languageCode) };
}

export const unsupportedText = ({ voiceId }: SpokenFields, field: string, foreign: readonly string[]) => {
  const message = `voice ${voiceId} cannot speak text written in ${foreign.join(', ')}`;
  return new Failure('invalid_request', { details: [{ field, reason: 'unsupported_text', message }] });
};

/** What of a plan depends on the engine, without the text. */
export function planFrom(request: SpokenFields, { voice, kept }: OfferedVoice, binding: Binding) {
  const { speakingRate, languageCode } = request;
  const { speakingRates } = capabilitiesOf(binding, languageCode);
  const engineRate = Math.min(Math.max(speakingRate, speakingRates.min), speakingRates.max);
  return { request, voice, ended: kept?.ended, binding, engineRate, tempo: speakingRate / engineRate };
}

/** BCP-47 for a language that is not known: the voice's own is used. */
const undetermined = 'und';

const completed = <Request extends SpokenFields>(request: Request, { voice }: OfferedVoice): Request => ({
  ...request,
  // Not an alias.
  voiceId: voice.voiceId,
  languageCode: request.languageCode === undetermined ? voice.languageCodes[0]! : request.languageCode,
  // Captions are made from the word times.
  timestamps: request.timestamps || request.captions.length > 0,
});

const unreadyMessages: Readonly<Record<Exclude<VoiceStatus, 'ready'>, string>> = {
  pending: 'The voice is still being made.',
  failed: 'The voice could not be made; delete it and make it again.',
  disabled: 'The voice is switched off.',
  consent_revoked: 'The person whose voice this is has withdrawn consent.',
};

function checkReady(offered: OfferedVoice): void {
  const { status, bindings } = offered;
  if (status !== 'ready') throw new Failure('voice_not_ready', { message: unreadyMessages[status] });
  if (bindings.length > 0) return;
  const parts = blendOf(offered)?.map(({ voiceId }) => voiceId);
  if (parts) {
    const message = `The voice is blended of ${parts.join(' and ')}, which are not all here.`;
    throw new Failure('engine_unavailable', { message });
  }
  throw new Failure('engine_unavailable', { message: 'No engine that speaks this voice is set up here.' });
}

function bindingsFor({ voice, bindings }: OfferedVoice, languageCode: string): Binding[] {
  const able = isSpokenBy(voice, languageCode)
    ? bindings.filter(({ speaker }) => isSpokenBy(speaker, languageCode))
    : [];
  if (able.length > 0) return able;
  const meant = languageCode === languageCodeDefault ? `; where nothing is sent, ${languageCode} is meant` : '';
  const message = `voice ${voice.voiceId} speaks ${voice.languageCodes.join(', ')}${meant}`;
  const details = [{ field: 'language_code', reason: 'unsupported_language', message }];
  throw new Failure('invalid_request', { details });
}

/** The same cuts, and whether there is anything to say in any of them: seldom is more than the first looked at. */
function peekSpoken(cuts: Generator<PlannedCut, undefined>): { cuts: Iterator<PlannedCut>; isSpoken: boolean } {
  const seen: PlannedCut[] = [];
  for (let next = cuts.next(); !next.done; next = cuts.next()) {
    seen.push(next.value);
    if (next.value.cut) break;
  }
  const isSpoken = seen.at(-1)?.cut !== undefined;
  const all = function* () {
    yield* seen;
    yield* cuts;
  };
  return { cuts: all(), isSpoken };
}

function* planCuts({ chunks, languageCode }: SpeechRequest, binding: Binding): Generator<PlannedCut, undefined> {
  const cutChunk = createChunkCutter(binding, languageCode);
  for (const [i, chunk] of chunks.entries()) yield* cutChunk(chunk, { endsRequest: i === chunks.length - 1 });
}

/** Those of the engine, with what differs for the voice. */
const capabilitiesOf = ({ engine, speaker }: Binding, languageCode: string): EngineCapabilities => ({
  ...engine.capabilities,
  ...engine.capabilitiesOf?.(speaker, languageCode),
});

/** Cuts the chunks of a request, one after the other. The last cut of a chunk may be one in which nothing is said. */
export function createChunkCutter(binding: Binding, languageCode: string) {
  const capabilities = capabilitiesOf(binding, languageCode);
  const { readsNumbers, segmentCharsMax, segmentCharsLiked } = capabilities;
  const { firstSegmentCharsMax = firstCharsMax } = capabilities;
  let chunkIndex = -1;
  let breakBefore: Break | undefined;
  return function* cutChunk(
    chunk: string,
    { endsRequest, state }: { endsRequest: boolean; state?: ReadingState },
  ): Generator<PlannedCut, undefined> {
    chunkIndex++;
    const opens = breakBefore === undefined;
    const options = {
      languageCode,
      spellOut: !readsNumbers,
      segmentCharsMax,
      state,
      ...(segmentCharsLiked !== undefined && { segmentCharsLiked }),
      ...(opens && { firstCharsMax: firstSegmentCharsMax }),
    };
    let held: Cut | undefined;
    for (const cut of segmentText(chunk, options)) {
      if (held) {
        yield { chunkIndex, chunk, cut: held, breakBefore, endsChunk: false, endsRequest: false };
        breakBefore = held.breakAfter;
      }
      held = cut;
    }
    const cut = held && { ...held, breakAfter: breathAtEnd(chunk) };
    yield { chunkIndex, chunk, cut, breakBefore, endsChunk: true, endsRequest };
    breakBefore = cut?.breakAfter ?? breakBefore;
  };
}

/** A chunk may end anywhere in a sentence, and the next goes on with it: only its own marks and blank lines end it. */
function breathAtEnd(chunk: string): Break {
  if (/\n\s*\n\s*$/.test(chunk.slice(-endCharsMax))) return 'paragraph';
  const end = chunk
    .slice(-endCharsMax)
    .trimEnd()
    .replace(/[\p{Pe}\p{Pf}"']+$/u, '');
  if (/\p{Sentence_Terminal}$|…$/u.test(end)) return 'sentence';
  return /[\p{Pd},;:،、；：]$/u.test(end) ? 'clause' : 'word';
}
