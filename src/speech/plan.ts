// Plans a request once, before anything is spoken: finds the voices and their engines. For each choice of engines, the
// plan has the segments of every chunk and the warnings. Everything that can be refused without calling an engine is
// refused here.
import type { Caller } from '../accounts.ts';
import type { Origin } from '../audio.ts';
import type { Voice } from '../engines.ts';
import { Failure, type FieldViolation } from '../platform/errors.ts';
import { ownTurn } from '../platform/runtime/steps.ts';
import { inspectScripts, type MarkedText, type ReadingState, readMarkup } from '../text.ts';
import { type Cast, type Casting, type CastVoice, findCast } from './cast.ts';
import { autoLanguage, languageCodeDefault, ownLanguage } from './fields.ts';
import { createLanguageMarker } from './guess-languages.ts';
import { type Marking, originOf } from './marking.ts';
import type { CutSource } from './prefetch.ts';
import { createRenderer, type RenderedItem } from './rendering.ts';
import type { SpeechRequest } from './request.ts';
import {
  applyVoiceLexicons,
  createVoiceLexicons,
  findLexicons,
  type Lexicons,
  lexiconVersionsOf,
  noLexicons,
} from './request-lexicons.ts';
import type { VoiceStatus } from './stored-voices.ts';
import { type CutSteps, createTextCutter, type PlannedCut, peekSpoken } from './text-cutter.ts';
import { type Binding, blendOf, isSpokenBy, type OfferedVoice, type Voices, voicesFor } from './voice.ts';

/** `ignored:` precedes the name of markup or of a field that has no effect, such as "ignored:phoneme". */
export type Warning = 'nothing_spoken' | 'transliterated' | 'fallback_engine' | `ignored:${string}`;

/** A voice other than the request's own voice. */
export interface OtherVoice {
  voice: Voice;
  speaker: Voice;
}

export interface SpeechPlan {
  request: SpeechRequest;
  /** Number of chunks of the request; 0 in live speech. */
  chunkCount: number;
  chars: number;
  /** The voice as callers see it. */
  voice: Voice;
  binding: Binding;
  /** The chosen engines of all voices. */
  bindings: readonly Binding[];
  main: CastVoice;
  /** The other voices, and the engine voices that speak them. */
  others: readonly OtherVoice[];
  /** Aborts when one of the voices may no longer be used. */
  ended: AbortSignal | undefined;
  /** Versions of the lexicons that the voices use; empty if they use none. */
  lexiconVersions: readonly string[];
  /** Origin that the file states; undefined if files do not state it. */
  origin?: Origin | undefined;
  /** Warnings; in live speech, each part that arrives may add some. */
  warnings: readonly Warning[];
  /** The cuts, each created when it is read. */
  cuts: CutSource<PlannedCut>;
}

/** A request with its voices, which is enough for a cache key. */
export interface CastSpeech {
  /** The request with the id of its voice, and with the voice's language if the request names none. */
  request: SpeechRequest;
  voice: OfferedVoice;
  /** Engines that speak the language, best first; at least one. */
  bindings: readonly Binding[];
  cast: Cast;
  /** See `SpeechPlan.lexiconVersions`. */
  lexiconVersions: readonly string[];
  /** Information for the origin of files; undefined if files do not state their origin. */
  marking?: Marking | undefined;
  /** Throws a Failure if the voice cannot speak the text. */
  plan(): PlannedSpeech;
}

/** A cast request with a plan for each choice of engines. */
export interface PlannedSpeech extends Omit<CastSpeech, 'plan'> {
  planFor(casting: Casting, part?: TextPart): Promise<SpeechPlan>;
}

/** State for a request that continues the texts of another request: the shared cutter and its reading state. */
export interface TextPart {
  cutText: TextCutter;
  state: ReadingState;
  endsRequest: boolean;
}

type TextCutter = ReturnType<typeof createTextCutter>;

/** Assigns the best engine to every voice. */
export const bestCasting: Casting = ({ bindings }) => bindings[0]!;

/** Rejects if a voice or lexicon does not exist for the caller, or the voice does not speak the language. */
export async function castSpeech(
  voices: Voices,
  given: SpeechRequest,
  caller: Caller,
  lexicons: Lexicons = noLexicons,
  marking?: Marking,
): Promise<CastSpeech> {
  const { request: asked, main } = findVoice(voices, given, caller);
  const { textField: field, markup, chunks } = asked;
  const lexiconsOf = createVoiceLexicons(lexicons, findLexicons(lexicons, asked.lexiconIds, caller));
  const written: MarkedText[] = [];
  for (const chunk of chunks) {
    // Other work runs between texts with markup, of which each takes some milliseconds.
    if (markup !== undefined && written.length > 0) await ownTurn();
    written.push(readMarkup(chunk, markup));
  }
  const cast = findCast(main, written, { voices: voicesFor(voices, caller), checkReady, field });
  const lexiconVersions = lexiconVersionsOf(cast, lexiconsOf);
  // Languages are found before lexicons are applied, because some entries apply to one language only.
  const markLanguages = lexiconVersions.length > 0 ? createLanguageMarker(asked) : (text: MarkedText) => text;
  const texts: MarkedText[] = [];
  for (const text of written) texts.push(await applyVoiceLexicons(markLanguages(text, cast), cast, lexiconsOf, field));
  const request = { ...asked, chars: asked.chars + sumOfChars(texts) - sumOfChars(written) };
  const isIncomplete = [cast.main, ...cast.others].some((each) => lexiconsOf(each).isIncomplete);
  const found = { request, voice: main.offered, bindings: main.bindings, cast, lexiconVersions, marking };
  return { ...found, plan: () => planCast(found, { written, texts, isIncomplete }) };
}

interface SpokenTexts {
  written: readonly MarkedText[];
  /** Texts after lexicons have been applied. */
  texts: readonly MarkedText[];
  /** Whether a lexicon bound to a voice has been deleted. */
  isIncomplete: boolean;
}

function planCast(found: Omit<CastSpeech, 'plan'>, { written, texts, isIncomplete }: SpokenTexts): PlannedSpeech {
  const { request, cast, lexiconVersions, marking } = found;
  const { textField, chunks } = request;
  const isMarked = lexiconVersions.length > 0;
  const scripts = inspectScripts(texts.map(toSaidText).join('\n'), ...languagesOf(request, cast.main));
  if (scripts.mostlyForeign && !isOfOthers(written)) throw unsupportedText(request, textField, scripts.foreign);
  const planFor = async (casting: Casting, part?: TextPart): Promise<SpeechPlan> => {
    const ignored = new Set<string>(isIncomplete ? ['lexicon'] : []);
    const render = createRenderer({ cast, casting, request, ignore: (what) => ignored.add(what) });
    // The whole text is checked before the first audio, because warnings precede the audio. Guessing the languages is
    // slow, so it is deferred if no warning depends on the languages.
    const isGuessed = request.languageCode === autoLanguage && !isMarked;
    const isLater = isGuessed && !texts.some(hasMarkup);
    const markLanguages = isMarked ? (text: MarkedText) => text : createLanguageMarker(request);
    const rendered: RenderedText[] = [];
    for (const text of texts) {
      const items = () => render(markLanguages(text, cast));
      if (isLater) render(text);
      else if (rendered.length > 0) await ownTurn();
      rendered.push({ text, items: isLater ? later(items) : items() });
    }
    const { cuts, isSpoken } = await peekSpoken(planCuts(rendered, part));
    const warnings: Warning[] = isSpoken ? [] : ['nothing_spoken'];
    if (scripts.foreign.length > 0) warnings.push('transliterated');
    if (isFallback(cast, casting)) warnings.push('fallback_engine');
    for (const what of ignored) warnings.push(`ignored:${what}`);
    const told = { chunkCount: chunks.length, chars: request.chars, lexiconVersions, warnings };
    return { ...planFrom(request, { cast, casting, marking }), ...told, cuts };
  };
  return { ...found, planFor };
}

const sumOfChars = (texts: readonly MarkedText[]): number => texts.reduce((sum, { chars }) => sum + chars, 0);

/** The text without markup, with aliases in place of the words that they replace. */
const toSaidText = ({ items }: MarkedText): string =>
  items
    .flatMap((item) =>
      item.kind === 'run' ? item.pieces.map(({ text, said }) => (said?.kind === 'alias' ? said.text : text)) : [' '],
    )
    .join('');

/** Whether the markup states languages or voices. Such text is never refused as foreign. */
const isOfOthers = (texts: readonly MarkedText[]): boolean =>
  texts.some(({ items }) => items.some((item) => item.kind === 'run' && (item.style.voice || item.style.languageCode)));

const isFallback = ({ main, others }: Cast, casting: Casting): boolean =>
  [main, ...others].some((voice) => casting(voice) !== voice.bindings[0]);

/** Finds the voice and its engines for the language, and completes the request. Throws if the voice is not ready. */
export function findVoice(
  voices: Voices,
  given: SpeechRequest,
  caller: Caller,
): { request: SpeechRequest; main: CastVoice } {
  const voice = voicesFor(voices, caller).find(given.voiceId);
  checkReady(voice);
  const request = completed(given, voice);
  const isAuto = request.languageCode === autoLanguage;
  const languageCode = isAuto ? voice.voice.languageCodes[0]! : request.languageCode;
  return { request, main: { offered: voice, languageCode, bindings: bindingsFor(voice, languageCode) } };
}

/** Languages that the text may be in. */
export const languagesOf = ({ languageCode }: SpeechRequest, { offered }: CastVoice): readonly string[] =>
  languageCode === autoLanguage ? offered.voice.languageCodes : [languageCode];

export const unsupportedText = ({ voiceId }: SpeechRequest, field: string, foreign: readonly string[]) => {
  const message = `has text in ${foreign.join(', ')}, which voice ${voiceId} cannot speak`;
  return new Failure('invalid_request', { details: [{ field, reason: 'unsupported_text', message }] });
};

/** The parts of a plan that depend on the engines but not on the text. */
export function planFrom(
  request: SpeechRequest,
  { cast, casting, marking }: { cast: Cast; casting: Casting; marking: Marking | undefined },
) {
  const { main, others } = cast;
  const all: readonly CastVoice[] = [main, ...others];
  const ended = all.flatMap(({ offered: { kept } }) => (kept ? [kept.ended] : []));
  return {
    request,
    voice: main.offered.voice,
    binding: casting(main),
    bindings: all.map(casting),
    main,
    others: others.map((each) => ({ voice: each.offered.voice, speaker: casting(each).speaker })),
    origin: originOf(marking, cast, casting),
    ended: ended.length > 1 ? AbortSignal.any(ended) : ended[0],
  };
}

const completed = (request: SpeechRequest, { voice }: OfferedVoice): SpeechRequest => ({
  ...request,
  // An alias is replaced by the id of its voice.
  voiceId: voice.voiceId,
  languageCode: request.languageCode === ownLanguage ? voice.languageCodes[0]! : request.languageCode,
  // Captions need word times.
  timestamps: request.timestamps || request.captions.length > 0,
});

const unreadyMessages: Readonly<Record<Exclude<VoiceStatus, 'ready'>, string>> = {
  pending: 'The voice is still being created. Try again later.',
  failed: 'The voice could not be created. Delete it and create it again.',
  disabled: 'The voice is disabled. Its owner can enable it again.',
  consent_revoked: 'The person whose voice this is has withdrawn their consent.',
};

export function checkReady(offered: OfferedVoice): void {
  const { status, bindings } = offered;
  if (status !== 'ready') throw new Failure('voice_not_ready', { message: unreadyMessages[status] });
  if (bindings.length > 0) return;
  const parts = blendOf(offered)?.map(({ voiceId }) => voiceId);
  if (parts) {
    const message = `The voice is a blend of ${parts.join(' and ')}, and not all of them are available.`;
    throw new Failure('engine_unavailable', { message });
  }
  throw new Failure('engine_unavailable', { message: 'No engine that speaks this voice is configured.' });
}

function bindingsFor({ voice, bindings }: OfferedVoice, languageCode: string): Binding[] {
  const able = isSpokenBy(voice, languageCode)
    ? bindings.filter(({ speaker }) => isSpokenBy(speaker, languageCode))
    : [];
  if (able.length > 0) return able;
  const meant =
    languageCode === languageCodeDefault ? `; the default is ${languageCode}, so send ${voice.languageCodes[0]}` : '';
  const message = `must be a language of voice ${voice.voiceId}: ${voice.languageCodes.join(', ')}${meant}`;
  const details: FieldViolation[] = [{ field: 'language_code', reason: 'unsupported_language', message }];
  throw new Failure('invalid_request', { details });
}

const hasMarkup = ({ items }: MarkedText): boolean =>
  items.some((item) => item.kind === 'pause' || item.isLiteral || item.pieces.some(({ said }) => said));

function* later<T>(make: () => Iterable<T>): Generator<T> {
  yield* make();
}

type RenderedText = { text: MarkedText; items: Iterable<RenderedItem> };

function* planCuts(
  texts: readonly RenderedText[],
  { cutText = createTextCutter(), endsRequest = true, state }: Partial<TextPart> = {},
): CutSteps {
  for (const [i, { text, items }] of texts.entries())
    yield* cutText(text, items, { endsRequest: endsRequest && i === texts.length - 1, ...(state && { state }) });
}
