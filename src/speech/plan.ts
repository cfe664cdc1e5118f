// Plans a request, once, before anything is spoken: finds the voice and the engines that can speak it, and for each of
// these the segments of every chunk, how the speed is shared between the engine and the tempo stage, and the warnings.
// Whatever can be refused without an engine is refused here.
import type { EngineCapabilities, Voice } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import { inspectScripts } from '../text/scripts.ts';
import { type Break, type Cut, segmentText } from '../text/segment.ts';
import { languageCodeDefault } from './fields.ts';
import { type Caller, type SpeechRequest, textFieldOf } from './request.ts';
import { type Binding, isSpokenBy, type OfferedVoice, type VoiceStatus, type Voices, voicesFor } from './voice.ts';

export type Warning = 'nothing_spoken' | 'transliterated' | 'fallback_engine';

/** A cut and where it is: in which chunk, after which breath, and whether it is the chunk's last. */
export interface PlannedCut {
  chunkIndex: number;
  /** Undefined for a chunk in which nothing can be said. */
  cut: Cut | undefined;
  breakBefore: Break | undefined;
  endsChunk: boolean;
  endsRequest: boolean;
}

export interface SpeechPlan {
  request: SpeechRequest;
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
  cuts: Iterator<PlannedCut>;
}

/** A request with the voice that was found for it, and a plan for each engine that can speak it. */
export interface PlannedSpeech {
  /** In the language of the voice, where the request leaves that open. */
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
  const voice = voicesFor(voices, caller).find(given.voiceId);
  checkReady(voice);
  const request = completed(given, voice);
  const { languageCode, speakingRate } = request;
  const bindings = bindingsFor(voice, languageCode);
  const scripts = inspectScripts(request.chunks.join('\n'), languageCode);
  if (scripts.mostlyForeign) {
    const message = `voice ${request.voiceId} cannot speak text written in ${scripts.foreign.join(', ')}`;
    const details = [{ field: textFieldOf(request), reason: 'unsupported_text', message }];
    throw new Failure('invalid_request', { details });
  }
  const planFor = (binding: Binding): SpeechPlan => {
    const capabilities = capabilitiesOf(binding, languageCode);
    const { speakingRates } = capabilities;
    const engineRate = Math.min(Math.max(speakingRate, speakingRates.min), speakingRates.max);
    const { cuts, isSpoken } = peekSpoken(planCuts(request, capabilities));
    const warnings: Warning[] = [];
    if (!isSpoken) warnings.push('nothing_spoken');
    if (scripts.foreign.length > 0) warnings.push('transliterated');
    if (binding !== bindings[0]) warnings.push('fallback_engine');
    return {
      request,
      voice: voice.voice,
      ended: voice.kept?.ended,
      binding,
      engineRate,
      tempo: speakingRate / engineRate,
      warnings,
      cuts,
    };
  };
  return { request, voice, bindings, planFor };
}

/** BCP-47 for a language that is not known: the voice's own is used. */
const undetermined = 'und';

const completed = (request: SpeechRequest, { voice }: OfferedVoice): SpeechRequest => ({
  ...request,
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

function checkReady({ status, bindings }: OfferedVoice): void {
  if (status !== 'ready') throw new Failure('voice_not_ready', { message: unreadyMessages[status] });
  if (bindings.length > 0) return;
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

/** Those of the engine, with what differs for the voice. */
const capabilitiesOf = ({ engine, speaker }: Binding, languageCode: string): EngineCapabilities => ({
  ...engine.capabilities,
  ...engine.capabilitiesOf?.(speaker, languageCode),
});

function* planCuts(
  { chunks, languageCode }: SpeechRequest,
  capabilities: EngineCapabilities,
): Generator<PlannedCut, undefined> {
  const { readsNumbers, segmentCharsMax, segmentCharsLiked } = capabilities;
  const { firstSegmentCharsMax = firstCharsMax } = capabilities;
  let breakBefore: Break | undefined;
  for (const [chunkIndex, chunk] of chunks.entries()) {
    const opens = breakBefore === undefined;
    const options = {
      languageCode,
      spellOut: !readsNumbers,
      segmentCharsMax,
      ...(segmentCharsLiked !== undefined && { segmentCharsLiked }),
      ...(opens && { firstCharsMax: firstSegmentCharsMax }),
    };
    let held: Cut | undefined;
    for (const cut of segmentText(chunk, options)) {
      if (held) {
        yield { chunkIndex, cut: held, breakBefore, endsChunk: false, endsRequest: false };
        breakBefore = held.breakAfter;
      }
      held = cut;
    }
    const endsRequest = chunkIndex === chunks.length - 1;
    const cut = held && { ...held, breakAfter: breathAtEnd(chunk) };
    yield { chunkIndex, cut, breakBefore, endsChunk: true, endsRequest };
    breakBefore = cut?.breakAfter ?? breakBefore;
  }
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
