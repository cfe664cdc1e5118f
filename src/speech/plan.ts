// Plans a request, once, before anything is spoken: finds the voices and the engines that can speak them, and for each
// choice of these the segments of every chunk, how each is spoken, and the warnings. Whatever can be refused without an
// engine is refused here.
import type { Voice } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import type { MarkedText } from '../text/marked-text.ts';
import type { ReadingState } from '../text/paragraphs.ts';
import { readMarkup } from '../text/read-markup.ts';
import { inspectScripts } from '../text/scripts.ts';
import { type Cast, type Casting, type CastVoice, findCast } from './cast.ts';
import { languageCodeDefault, type SpeechFields } from './fields.ts';
import type { CutSource } from './prefetch.ts';
import { createRenderer } from './rendering.ts';
import type { Caller, SpeechRequest } from './request.ts';
import { createTextCutter, type PlannedCut } from './text-cutter.ts';
import {
  type Binding,
  blendOf,
  isSpokenBy,
  type OfferedVoice,
  type VoiceStatus,
  type Voices,
  voicesFor,
} from './voice.ts';

/** `ignored:` and the name of markup that has no effect, such as "ignored:phoneme". */
export type Warning = 'nothing_spoken' | 'transliterated' | 'fallback_engine' | `ignored:${string}`;

/** What of a request decides how its text is spoken. */
export type SpokenFields = Pick<
  SpeechFields,
  | 'voiceId'
  | 'languageCode'
  | 'speakingRate'
  | 'timestamps'
  | 'captions'
  | 'format'
  | 'sampleRateHz'
  | 'markup'
  | 'normalize'
>;

/** A voice besides that of the request. */
export interface OtherVoice {
  voice: Voice;
  speaker: Voice;
}

export interface SpeechPlan {
  request: SpokenFields;
  /** Of the whole request; 0 where it still arrives. */
  chunkCount: number;
  chars: number;
  /** As the caller knows it. */
  voice: Voice;
  binding: Binding;
  /** The engines of all voices. */
  bindings: readonly Binding[];
  main: CastVoice;
  /** The other voices, and who of which engine speaks them. */
  others: readonly OtherVoice[];
  /** Aborts when one of the voices may not be heard any more. */
  ended: AbortSignal | undefined;
  /** Of live speech, it grows until its sound begins. */
  warnings: readonly Warning[];
  /** Cut as they are pulled. */
  cuts: CutSource<PlannedCut>;
}

/** A request with the voices that were found for it, and a plan for each choice of the engines that can speak them. */
export interface PlannedSpeech {
  /** With the id of the voice, and in its language where the request leaves that open. */
  request: SpeechRequest;
  voice: OfferedVoice;
  /** Those that speak the language, the best first, at least one. */
  bindings: readonly Binding[];
  cast: Cast;
  planFor(casting: Casting, part?: TextPart): SpeechPlan;
}

/** For a request that goes on with the texts of another: the cutter of both, and how far the first has read. */
export interface TextPart {
  cutText: TextCutter;
  state: ReadingState;
  endsRequest: boolean;
}

type TextCutter = ReturnType<typeof createTextCutter>;

/** Every voice by its best engine. */
export const bestCasting: Casting = ({ bindings }) => bindings[0]!;

/** A Failure where the caller has no such voice, or the voice cannot speak the request. */
export function planSpeech(voices: Voices, given: SpeechRequest, caller: Caller): PlannedSpeech {
  const { request, voice, bindings } = findVoice(voices, given, caller);
  const { textField: field, markup, chunks } = request;
  const texts = chunks.map((chunk) => readMarkup(chunk, markup));
  const main = { offered: voice, languageCode: request.languageCode, bindings };
  const cast = findCast(main, texts, { voices: voicesFor(voices, caller), checkReady, field });
  const scripts = inspectScripts(texts.map(toWritten).join('\n'), request.languageCode);
  if (scripts.mostlyForeign && !isOfOthers(texts)) throw unsupportedText(request, field, scripts.foreign);
  const planFor = (casting: Casting, part?: TextPart): SpeechPlan => {
    const ignored = new Set<string>();
    const render = createRenderer({ cast, casting, request, ignore: (what) => ignored.add(what) });
    // All of it, for what is ignored is told before the first sound.
    const rendered = texts.map((text) => ({ text, items: render(text) }));
    const { cuts, isSpoken } = peekSpoken(planCuts(rendered, part));
    const warnings: Warning[] = [];
    if (!isSpoken) warnings.push('nothing_spoken');
    if (scripts.foreign.length > 0) warnings.push('transliterated');
    if (isFallback(cast, casting)) warnings.push('fallback_engine');
    for (const what of ignored) warnings.push(`ignored:${what}`);
    return { ...planFrom(request, cast, casting), chunkCount: chunks.length, chars: request.chars, warnings, cuts };
  };
  return { request, voice, bindings, cast, planFor };
}

/** What is written, without the markup. */
const toWritten = ({ items }: MarkedText): string =>
  items.flatMap((item) => (item.kind === 'run' ? item.pieces.map(({ text }) => text) : [' '])).join('');

/** Whether the markup states other languages or voices: what these cannot speak is spoken plainly. */
const isOfOthers = (texts: readonly MarkedText[]): boolean =>
  texts.some(({ items }) => items.some((item) => item.kind === 'run' && (item.style.voice || item.style.languageCode)));

const isFallback = ({ main, others }: Cast, casting: Casting): boolean =>
  [main, ...others].some((voice) => casting(voice) !== voice.bindings[0]);

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

/** What of a plan depends on the engines, without the text. */
export function planFrom(request: SpokenFields, { main, others }: Cast, casting: Casting) {
  const all: readonly CastVoice[] = [main, ...others];
  const ended = all.flatMap(({ offered: { kept } }) => (kept ? [kept.ended] : []));
  return {
    request,
    voice: main.offered.voice,
    binding: casting(main),
    bindings: all.map(casting),
    main,
    others: others.map((each) => ({ voice: each.offered.voice, speaker: casting(each).speaker })),
    ended: ended.length > 1 ? AbortSignal.any(ended) : ended[0],
  };
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

export function checkReady(offered: OfferedVoice): void {
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

type RenderedText = { text: MarkedText; items: ReturnType<ReturnType<typeof createRenderer>> };

function* planCuts(
  texts: readonly RenderedText[],
  { cutText = createTextCutter(), endsRequest = true, state }: Partial<TextPart> = {},
): Generator<PlannedCut, undefined> {
  for (const [i, { text, items }] of texts.entries())
    yield* cutText(text, items, { endsRequest: endsRequest && i === texts.length - 1, ...(state && { state }) });
}
