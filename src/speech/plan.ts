// Plans speech: finds the voices, applies lexicons, and cuts texts for the engines. One planner serves all texts. Those of a
// request are read and checked before anything is charged. A feed is read while it arrives: the parts of a live turn, or
// of a chapter of a job. Everything that can be refused without calling an engine is refused here.
import type { Caller } from '../accounts.ts';
import { audioFormats } from '../audio.ts';
import { Failure, type FieldViolation } from '../platform/errors.ts';
import { createId } from '../platform/runtime/id.ts';
import { ownTurn } from '../platform/runtime/steps.ts';
import { createLayout, createTextCutter, inspectScripts, type LaidItem, type MarkedText } from '../text.ts';
import {
  type Cast,
  type Casting,
  type CastVoice,
  createRenderings,
  findCast,
  type Marking,
  originOf,
  type PlannedCut,
  type Rendering,
} from './cast.ts';
import { autoLanguage, languageCodeDefault, ownLanguage } from './fields.ts';
import { createLanguageMarker } from './guess-languages.ts';
import { type CutSource, cutsOf, peekSpoken } from './prefetch.ts';
import type { SpeechRequest } from './request.ts';
import { hashOfSound } from './request.ts';
import {
  applyVoiceLexicons,
  createVoiceLexicons,
  findLexicons,
  type Lexicons,
  lexiconVersionsOf,
  noLexicons,
} from './request-lexicons.ts';
import type { SpeechInfo, Warning } from './speech-events.ts';
import type { VoiceStatus } from './stored-voices.ts';
import { type Binding, isSpokenBy, type OfferedVoice, type Voices, voicesFor } from './voice.ts';

export interface Plan {
  /** The request with the id of its voice, and with the voice's language if the request names none. */
  request: SpeechRequest;
  main: CastVoice;
  /** Aborts when one of the voices may no longer be used. */
  ended: AbortSignal | undefined;
  /** Throws a Failure if the voice cannot speak the texts of the request. `cut` also checks them. */
  check(): void;
  /** Hash of everything that the audio depends on, if these engines speak. */
  keyOf(casting: Casting): string;
  /** Cuts the texts of the request, or those of a feed, for these engines. */
  cut(casting: Casting, feed?: Feed): Promise<CutPlan>;
}

/** Texts that arrive one after the other. They can be read again from the first, if another engine takes over. */
export interface Feed {
  /** Returns a text when it is complete. */
  part(index: number): Promise<{ marked: MarkedText; isLast: boolean }>;
  /** Awaited before a text is spoken. */
  take?(index: number, chars: number): Promise<void>;
  /** Whether the texts are already divided, as in live speech. */
  isDivided: boolean;
}

/** The cuts of a plan for one choice of engines. */
export interface CutPlan {
  request: SpeechRequest;
  info: SpeechInfo;
  main: CastVoice;
  binding: Binding;
  /** The chosen engines of all voices. */
  bindings: readonly Binding[];
  /** The cuts, each created when it is read. */
  cuts: CutSource<PlannedCut>;
}

export interface PlanTools {
  voices: Voices;
  /** Default: no lexicons. */
  lexicons?: Lexicons | undefined;
  /** Information for the origin of files. Default: files do not state their origin. */
  marking?: Marking | undefined;
}

/** Assigns the best engine to every voice. */
export const bestCasting: Casting = ({ bindings }) => bindings[0]!;

/** Texts with their voices, after lexicons have been applied. */
interface ReadTexts {
  cast: Cast;
  texts: readonly MarkedText[];
  /** Versions of the lexicons that the voices use; empty if they use none. Only then are languages not marked yet. */
  lexiconVersions: readonly string[];
  /** Whether a lexicon bound to a voice has been deleted. */
  isIncomplete: boolean;
}

type LanguageMarker = ReturnType<typeof createLanguageMarker>;

/** Rejects if a voice or lexicon does not exist for the caller, or the voice does not speak the language. */
export async function createPlan(given: SpeechRequest, caller: Caller, tools: PlanTools): Promise<Plan> {
  const { voices, lexicons = noLexicons, marking } = tools;
  const { request: asked, main } = findVoice(voices, given, caller);
  const { texts: written, textField: field } = asked;
  const requested = findLexicons(lexicons, asked.lexiconIds, caller);
  const castOptions = { voices: voicesFor(voices, caller), checkReady, field };

  /** Finds the voices of texts and applies lexicons. */
  const createReader = (markLanguages: LanguageMarker) => {
    const lexiconsOf = createVoiceLexicons(lexicons, requested);
    return async (given: readonly MarkedText[]): Promise<ReadTexts> => {
      const cast = findCast(main, given, castOptions);
      const lexiconVersions = lexiconVersionsOf(cast, lexiconsOf);
      const texts: MarkedText[] = [];
      // Languages are found before lexicons are applied, because some entries apply to one language only.
      for (const text of lexiconVersions.length > 0 ? given : [])
        texts.push(await applyVoiceLexicons(markLanguages(text, cast), cast, lexiconsOf, field));
      const isIncomplete = [cast.main, ...cast.others].some((voice) => lexiconsOf(voice).isIncomplete);
      return { cast, texts: lexiconVersions.length > 0 ? texts : given, lexiconVersions, isIncomplete };
    };
  };

  const read = await createReader(createLanguageMarker(asked))(written);
  const request = { ...asked, chars: asked.chars + sumOfChars(read.texts) - sumOfChars(written) };
  const ends = [main, ...read.cast.others].flatMap(({ offered: { kept } }) => (kept ? [kept.ended] : []));
  const ended = ends.length > 1 ? AbortSignal.any(ends) : ends[0];

  let scripts: ReturnType<typeof inspectScripts> | undefined;
  const check = () => {
    scripts ??= inspectScripts(read.texts.map(toSaidText).join('\n'), ...languagesOf(request, main));
    if (scripts.mostlyForeign && !isOfOthers(written)) throw unsupportedText(request, field, scripts.foreign);
    return scripts.foreign.length > 0;
  };

  const keys: { bindings: readonly Binding[]; key: string }[] = [];
  const keyOf = (casting: Casting): string => {
    const { cast, lexiconVersions } = read;
    const bindings = [main, ...cast.others].map(casting);
    const known = keys.find((each) => each.bindings.every((binding, i) => binding === bindings[i]));
    if (known) return known.key;
    const speakers = bindings.map(({ speaker }, i) => ({ voice: (cast.others[i - 1] ?? main).offered.voice, speaker }));
    const key = hashOfSound(request, { speakers, lexiconVersions, origin: originOf(marking, cast, casting) });
    keys.push({ bindings, key });
    return key;
  };

  const toCutPlan = (
    { cast, lexiconVersions }: Pick<ReadTexts, 'cast' | 'lexiconVersions'>,
    casting: Casting,
    warnings: readonly Warning[],
    cuts: CutSource<PlannedCut>,
  ): CutPlan => {
    const { format, sampleRateHz, chars } = request;
    const info: SpeechInfo = {
      type: 'info',
      audioId: createId('aud', audioIdBits),
      voice: main.offered.voice,
      speaker: casting(main).speaker,
      ended,
      format,
      contentType: audioFormats[format].contentType,
      sampleRateHz,
      chunkCount: written.length,
      chars,
      warnings,
      others: cast.others.map((each) => ({ voice: each.offered.voice, speaker: casting(each).speaker })),
      lexiconVersions,
      origin: originOf(marking, cast, casting),
      cacheKey: () => keyOf(casting),
    };
    return { request, info, main, binding: casting(main), bindings: [main, ...cast.others].map(casting), cuts };
  };

  async function cutWhole(casting: Casting): Promise<CutPlan> {
    const isForeign = check();
    const ignored = new Set<string>(read.isIncomplete ? ['lexicon'] : []);
    const markLanguages = createLanguageMarker(request);
    const ignore = (what: string) => ignored.add(what);
    const cutting = { request, casting, markLanguages, ignore, cutText: createTextCutter() };
    const { cuts, isSpoken } = await cutTexts(read, cutting, true);
    const warnings: Warning[] = isSpoken ? [] : ['nothing_spoken'];
    if (isForeign) warnings.push('transliterated');
    if ([main, ...read.cast.others].some((voice) => casting(voice) !== voice.bindings[0]))
      warnings.push('fallback_engine');
    for (const what of ignored) warnings.push(`ignored:${what}`);
    return toCutPlan(read, casting, warnings, cuts);
  }

  /** Yields the cuts of each text as soon as the text is complete and may be spoken. */
  async function* cutFeed(
    feed: Feed,
    casting: Casting,
    warn: (what: Warning) => void,
  ): AsyncGenerator<PlannedCut, undefined> {
    const markLanguages = createLanguageMarker(request);
    const readPart = createReader(markLanguages);
    const ignore = (what: string) => warn(`ignored:${what}`);
    const cutText = createTextCutter({ state: { fence: '', within: false }, isDivided: feed.isDivided });
    const cutting = { request, casting, markLanguages, ignore, cutText };
    let said = '';
    let isAnySpoken = false;
    for (let i = 0; ; i++) {
      const { marked, isLast } = await feed.part(i);
      const part = await voices.findCurrent(() => readPart([marked]));
      const own = toSaidText(part.texts[0]!);
      said += own;
      if (request.markup !== 'ssml' && hasForeign(own, said)) warn('transliterated');
      if (part.isIncomplete) ignore('lexicon');
      await feed.take?.(i, part.texts[0]!.chars);
      const { cuts, isSpoken } = await cutTexts(part, cutting, isLast);
      isAnySpoken ||= isSpoken;
      if (isLast && !isAnySpoken) warn('nothing_spoken');
      yield* cutsOf(cuts);
      if (isLast) return;
    }
  }

  /** Whether a part has a foreign phrase, which the voice only approximates. Throws if all so far is mostly foreign. */
  const hasForeign = (own: string, soFar: string): boolean => {
    const languages = languagesOf(request, main);
    const found = inspectScripts(own, ...languages);
    if (!found.mostlyForeign) return found.foreign.length > 0;
    const { mostlyForeign, foreign } = inspectScripts(soFar, ...languages);
    if (mostlyForeign) throw unsupportedText(request, field, foreign);
    return true;
  };

  const cutParts = (casting: Casting, feed: Feed): CutPlan => {
    const warnings: Warning[] = [];
    const warn = (what: Warning) => {
      if (!warnings.includes(what)) warnings.push(what);
    };
    return toCutPlan(read, casting, warnings, cutFeed(feed, casting, warn));
  };
  const cut: Plan['cut'] = async (casting, feed) => (feed ? cutParts(casting, feed) : cutWhole(casting));
  return { request, main, ended, check, keyOf, cut };
}

/** Number of random bits of an audio id, so that nobody can guess a public audio URL. */
const audioIdBits = 128;

interface Cutting {
  request: SpeechRequest;
  casting: Casting;
  markLanguages: LanguageMarker;
  cutText: ReturnType<typeof createTextCutter>;
  /** Called with the name of markup, or of a field, that has no effect. */
  ignore(what: string): void;
}

/** Cuts texts that have been read. The last of them may end the request. */
async function cutTexts({ cast, texts, lexiconVersions }: ReadTexts, cutting: Cutting, isEnd: boolean) {
  const { request, markLanguages, cutText } = cutting;
  const layOut = createLayout(createRenderings({ cast, ...cutting }), cutting.ignore);
  const hasLanguages = lexiconVersions.length > 0;
  // The whole text is checked before the first audio, because warnings precede the audio. Guessing the languages is
  // slow, so it is deferred if no warning depends on the languages.
  const isLater = request.languageCode === autoLanguage && !hasLanguages && !texts.some(hasMarkup);
  const rendered: { text: MarkedText; items: Iterable<LaidItem<Rendering>> }[] = [];
  for (const text of texts) {
    const items = () => layOut(hasLanguages ? text : markLanguages(text, cast));
    if (isLater) layOut(text);
    else if (rendered.length > 0) await ownTurn();
    rendered.push({ text, items: isLater ? later(items) : items() });
  }
  function* steps(): Generator<PlannedCut | undefined, undefined> {
    for (const [i, { text, items }] of rendered.entries())
      yield* cutText(text, items, isEnd && i === rendered.length - 1);
  }
  return peekSpoken(steps());
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
const languagesOf = ({ languageCode }: SpeechRequest, { offered }: CastVoice): readonly string[] =>
  languageCode === autoLanguage ? offered.voice.languageCodes : [languageCode];

const unsupportedText = ({ voiceId }: SpeechRequest, field: string, foreign: readonly string[]) => {
  const message = `has text in ${foreign.join(', ')}, which voice ${voiceId} cannot speak`;
  return new Failure('invalid_request', { details: [{ field, reason: 'unsupported_text', message }] });
};

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

function checkReady(offered: OfferedVoice): void {
  const { status, bindings } = offered;
  if (status !== 'ready') throw new Failure('voice_not_ready', { message: unreadyMessages[status] });
  if (bindings.length > 0) return;
  const parts = offered.blend?.map(({ voiceId }) => voiceId);
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
