// Plans speech: finds the voices, applies lexicons, and cuts texts for the engines. One planner serves all texts. Those of a
// request are read and checked before anything is charged. A feed is read while it arrives: the parts of a live turn, or
// of a chapter of a job. Everything that can be refused without calling an engine is refused here. Also estimates the
// audio of a plan.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../accounts.ts';
import { audioFormats, type FormatName } from '../audio.ts';
import { invalidField } from '../platform/errors.ts';
import { createId } from '../platform/runtime/id.ts';
import { ownTurn } from '../platform/runtime/steps.ts';
import { inspectScripts, type MarkedText, openTextCutter } from '../text.ts';
import {
  bestCasting,
  type Casting,
  type CastVoice,
  createRenderings,
  findVoice,
  type Marking,
  originOf,
  type PlannedCut,
} from './cast.ts';
import { autoLanguage } from './fields.ts';
import { hashOfSound, type SpeechRequest } from './request.ts';
import { createLanguageMarker, type LanguageMarker } from './sentence-languages.ts';
import type { SpeechInfo, Warning } from './speech-events.ts';
import { findLexicons, type Lexicons, noLexicons, openTextReader, type ReadTexts } from './text-reading.ts';
import type { Binding, Voices } from './voice.ts';

export interface Plan {
  /** The request with the id of its voice, and with the voice's language if the request names none. */
  request: SpeechRequest;
  main: CastVoice;
  /** Aborts when one of the voices may no longer be used. */
  ended: AbortSignal | undefined;
  /** Throws a Failure if the voice cannot speak the texts of the request. `cut` also checks them. */
  check(): void;
  /**
   * Hash of everything that the audio depends on. The best engines speak, except that `binding`, if it is given, speaks
   * the main voice.
   */
  keyOf(binding?: Binding): string;
  /** Cuts the texts of the request, or those of a feed, for these engines. */
  cut(casting: Casting, feed?: Feed): Promise<CutPlan>;
  /** Roughly estimates the size of the audio from the number of characters alone. */
  expectedBytes(chars?: number): number;
  /** Estimates the audio without an engine. Rejects with the signal's reason if the signal aborts. */
  estimate(signal: AbortSignal): Promise<Estimate>;
}

interface Estimate {
  chars: number;
  seconds: number;
  byteCount: number;
  segmentCount: number;
  warnings: readonly string[];
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

/** A source of cuts, synchronous or asynchronous. */
export interface CutSource<Cut> {
  next(): IteratorResult<Cut, undefined> | Promise<IteratorResult<Cut, undefined>>;
  return?(value: undefined): unknown;
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

/** Rejects if a voice or lexicon does not exist for the caller, or the voice does not speak the language. */
export async function createPlan(given: SpeechRequest, caller: Caller, tools: PlanTools): Promise<Plan> {
  const { voices, lexicons = noLexicons, marking } = tools;
  const usable = voices.usableBy(caller);
  const { request: asked, main } = findVoice(usable, given);
  const { texts: written, textField: field } = asked;
  const requested = findLexicons(lexicons, asked.lexiconIds, caller);
  const createReader = openTextReader(main, { voices: usable, field }, lexicons, requested);
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
  const keyFor = (casting: Casting): string => {
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
      cacheKey: () => keyFor(casting),
    };
    return { request, info, main, binding: casting(main), bindings: [main, ...cast.others].map(casting), cuts };
  };

  async function cutWhole(casting: Casting): Promise<CutPlan> {
    const isForeign = check();
    const ignored = new Set<string>(read.isIncomplete ? ['lexicon'] : []);
    const markLanguages = createLanguageMarker(request);
    const ignore = (what: string) => ignored.add(what);
    const cutting = { request, casting, markLanguages, ignore, openCuts: openTextCutter() };
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
    const openCuts = openTextCutter({ state: { fence: '', within: false }, isDivided: feed.isDivided });
    const cutting = { request, casting, markLanguages, ignore, openCuts };
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
  const keyOf: Plan['keyOf'] = (binding = main.bindings[0]) =>
    keyFor((voice) => (voice === main ? binding! : bestCasting(voice)));
  const expectedBytes: Plan['expectedBytes'] = (chars = request.chars) => expectedBytesOf({ ...request, chars });
  const estimate: Plan['estimate'] = async (signal) => estimateCuts(await cutWhole(bestCasting), signal);
  return { request, main, ended, check, keyOf, cut, expectedBytes, estimate };
}

/** Number of random bits of an audio id, so that nobody can guess a public audio URL. */
const audioIdBits = 128;

interface Cutting {
  request: SpeechRequest;
  casting: Casting;
  markLanguages: LanguageMarker;
  openCuts: ReturnType<typeof openTextCutter>;
  /** Called with the name of markup, or of a field, that has no effect. */
  ignore(what: string): void;
}

/** Cuts texts that have been read. The last of them may end the request. */
async function cutTexts({ cast, texts, lexiconVersions }: ReadTexts, cutting: Cutting, isEnd: boolean) {
  const { request, markLanguages, openCuts, ignore } = cutting;
  const cutText = openCuts(createRenderings({ cast, ...cutting }), ignore);
  const hasLanguages = lexiconVersions.length > 0;
  // The whole text is checked before the first audio, because warnings precede the audio. Guessing the languages is
  // slow, so it is deferred if no warning depends on the languages.
  const isLater = request.languageCode === autoLanguage && !hasLanguages && !texts.some(hasMarkup);
  const cuts: Generator<PlannedCut | undefined, undefined>[] = [];
  for (const text of texts) {
    const endsRequest = isEnd && cuts.length === texts.length - 1;
    const cut = () => cutText(hasLanguages ? text : markLanguages(text, cast), endsRequest);
    // The cuts are not read: the text is laid out for its warnings.
    if (isLater) cutText(text, endsRequest);
    else if (cuts.length > 0) await ownTurn();
    cuts.push(isLater ? later(cut) : cut());
  }
  function* steps(): Generator<PlannedCut | undefined, undefined> {
    for (const each of cuts) yield* each;
  }
  return peekSpoken(steps());
}

/** A cut that takes longer is read in steps. Usual cuts take less than a millisecond. */
const cutMsMax = 10;

/**
 * Returns the cuts, and whether any cut has words. Usually only the first cut is read ahead. A cut that takes long is
 * read in steps.
 */
async function peekSpoken<Cut extends { cut: unknown }>(
  steps: Generator<Cut | undefined, undefined>,
): Promise<{ cuts: CutSource<Cut>; isSpoken: boolean }> {
  const seen: Cut[] = [];
  const read = (): ReturnType<CutSource<Cut>['next']> => {
    const sinceMs = performance.now();
    do {
      const { done, value } = steps.next();
      if (done) return { done, value };
      if (value) return { value };
    } while (performance.now() - sinceMs < cutMsMax);
    return ownTurn().then(read);
  };
  for (let next = await read(); !next.done; next = await read()) {
    seen.push(next.value);
    if (next.value.cut) break;
    await ownTurn();
  }
  const isSpoken = seen.at(-1)?.cut !== undefined;
  const next = () => (seen.length > 0 ? { value: seen.shift()! } : read());
  return { cuts: { next, return: () => steps.return(undefined) }, isSpoken };
}

/** Yields all cuts of a source. */
export async function* cutsOf<Cut>(cuts: CutSource<Cut>): AsyncGenerator<Cut, undefined> {
  for (let next = await cuts.next(); !next.done; next = await cuts.next()) yield next.value;
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

/** Languages that the text may be in. */
const languagesOf = ({ languageCode }: SpeechRequest, { offered }: CastVoice): readonly string[] =>
  languageCode === autoLanguage ? offered.voice.languageCodes : [languageCode];

const unsupportedText = ({ voiceId }: SpeechRequest, field: string, foreign: readonly string[]) => {
  const message = `has text in ${foreign.join(', ')}, which voice ${voiceId} cannot speak`;
  return invalidField(field, 'unsupported_text', message);
};

const hasMarkup = ({ items }: MarkedText): boolean =>
  items.some((item) => item.kind === 'pause' || item.isLiteral || item.pieces.some(({ said }) => said));

function* later<T>(make: () => Iterable<T>): Generator<T, undefined> {
  yield* make();
}

/** Typical human speaking rate, in characters of spoken text per second. */
export const charsPerSecond = 14.5;
/** Length of a slice, and of the pause after a slice. A segment of text takes a few milliseconds and is not divided. */
const sliceMs = 4;
const pauseMs = 4;

/** Roughly estimates the size of the audio from the number of characters alone. */
export const expectedBytesOf = ({ chars, pauseMs, format, sampleRateHz, speakingRate }: SpeechRequest): number =>
  bytesOf(chars / charsPerSecond / speakingRate + pauseMs / 1000, format, sampleRateHz);

/** A long text is processed in slices with equally long pauses, so that other calls are served in between. */
async function estimateCuts({ request, cuts, info }: CutPlan, signal: AbortSignal): Promise<Estimate> {
  let seconds = 0;
  let segmentCount = 0;
  let sinceMs = performance.now();
  for await (const { cut: spoken, rendering, pauseBeforeMs } of cutsOf(cuts)) {
    seconds += pauseBeforeMs / 1000;
    if (spoken && rendering) {
      seconds += spoken.text.length / charsPerSecond / (rendering.engineRate * rendering.tempo);
      segmentCount++;
    }
    if (performance.now() - sinceMs < sliceMs) continue;
    await sleep(pauseMs);
    signal.throwIfAborted();
    sinceMs = performance.now();
  }
  const { chars, format, sampleRateHz } = request;
  return { chars, seconds, byteCount: bytesOf(seconds, format, sampleRateHz), segmentCount, warnings: info.warnings };
}

function bytesOf(seconds: number, format: FormatName, sampleRateHz: number): number {
  const { bytesPerSecond, headBytes = 0 } = audioFormats[format];
  return Math.round(seconds * bytesPerSecond(sampleRateHz)) + headBytes;
}
