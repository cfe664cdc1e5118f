// Plans live speech. The voice is found once, at the start. The text of each turn is cut as it arrives, and the voices
// named in a part's markup are found when the part is cut.
import type { Caller } from '../accounts.ts';
import { Failure, type FieldReason } from '../platform/errors.ts';
import {
  inspectScripts,
  type MarkedText,
  MarkupFault,
  type MarkupKind,
  pausesMsMax,
  type ReadingState,
  readMarkup,
} from '../text.ts';
import { type Cast, type Casting, type CastVoice, findCast } from './cast.ts';
import { pausesTooLong, textLimits } from './fields.ts';
import { createLanguageMarker } from './guess-languages.ts';
import type { LivePart, LiveText } from './live-text.ts';
import type { Marking } from './marking.ts';
import {
  checkReady,
  findVoice,
  languagesOf,
  planFrom,
  type SpeechPlan,
  unsupportedText,
  type Warning,
} from './plan.ts';
import { createRenderer } from './rendering.ts';
import type { SpeechRequest } from './request.ts';
import {
  applyVoiceLexicons,
  createVoiceLexicons,
  findLexicons,
  type Lexicons,
  noLexicons,
} from './request-lexicons.ts';
import { createTextCutter, cutsOf, type PlannedCut, peekSpoken } from './text-cutter.ts';
import { type Binding, type OfferedVoice, type Voices, voicesFor } from './voice.ts';

export interface PlannedLive {
  request: SpeechRequest;
  voice: OfferedVoice;
  /** Engines, best first; at least one. */
  bindings: readonly Binding[];
  cast: Cast;
  /** Plans a turn. `take` is awaited before each part of the turn is spoken. */
  planTurn(casting: Casting, text: LiveText, take: TakePart): SpeechPlan;
}

type TakePart = (index: number, chars: number) => Promise<void>;

/** The caller's concurrency slot and charges during live speech. */
export interface LivePlace {
  /** Charges the characters of a part, and takes a slot if none is held. */
  take(chars: number): Promise<void>;
  /** Releases the slot while nothing is spoken. */
  rest(): void;
}

/** Throws a Failure if the voice does not exist for the caller or does not speak the language. */
export function planLive(
  voices: Voices,
  start: SpeechRequest,
  caller: Caller,
  lexicons: Lexicons = noLexicons,
  marking?: Marking,
): PlannedLive {
  // The word times show where an interrupted turn was cut off.
  const given = { ...start, timestamps: true };
  const { request, main } = findVoice(voices, given, caller);
  const requested = findLexicons(lexicons, request.lexiconIds, caller);
  const cast = { main, others: [], voiceOf: () => main };
  return {
    request,
    voice: main.offered,
    bindings: main.bindings,
    cast,
    planTurn(casting, text, take) {
      const warnings: Warning[] = [];
      const offered = voicesFor(voices, caller);
      const lexiconsOf = createVoiceLexicons(lexicons, requested);
      const cuts = cutTurn(text, { casting, request, take, main, voices: offered, lexiconsOf, warnings });
      const counts = { chunkCount: 0, chars: 0 };
      return { ...planFrom(request, { cast, casting, marking }), ...counts, lexiconVersions: [], warnings, cuts };
    },
  };
}

interface Cutting {
  casting: Casting;
  request: SpeechRequest;
  take: TakePart;
  main: CastVoice;
  /** Voices that the caller may use. */
  voices: Voices;
  lexiconsOf: ReturnType<typeof createVoiceLexicons>;
  /** Warnings from the parts that have arrived so far. */
  warnings: Warning[];
}

/** Yields the cuts of each part as soon as the part is complete and may be spoken. */
async function* cutTurn(text: LiveText, cutting: Cutting): AsyncGenerator<PlannedCut, undefined> {
  const { request, take, main, voices, lexiconsOf, warnings, casting } = cutting;
  const cutText = createTextCutter();
  const state: ReadingState = { fence: '', within: false };
  const markLanguages = createLanguageMarker(request);
  const warn = (what: Warning) => {
    if (!warnings.includes(what)) warnings.push(what);
  };
  const ignore = (what: string) => warn(`ignored:${what}`);
  let isTurnSpoken = false;
  let pausesMs = 0;
  for (let i = 0; ; i++) {
    const part = await text.part(i);
    const written = readPart(part.text, request.markup);
    pausesMs += written.pauseMs;
    if (pausesMs > pausesMsMax) throw refused('range', pausesTooLong);
    const cast = await voices.findCurrent(() => findCast(main, [written], { voices, checkReady, field: 'text' }));
    if (request.markup !== 'ssml' && hasForeign(text, part, request, main)) warn('transliterated');
    const marked = await applyVoiceLexicons(markLanguages(written, cast), cast, lexiconsOf, 'text');
    if ([main, ...cast.others].some((voice) => lexiconsOf(voice).isIncomplete)) ignore('lexicon');
    await take(i, marked.chars);
    const items = createRenderer({ cast, casting, request, ignore })(marked);
    const steps = cutText(marked, items, { endsRequest: part.isLast, state, isPart: true });
    const { cuts, isSpoken } = await peekSpoken(steps);
    isTurnSpoken ||= isSpoken;
    if (part.isLast && !isTurnSpoken) warn('nothing_spoken');
    yield* cutsOf(cuts);
    if (part.isLast) return;
  }
}

/** Throws a Failure if the markup of the part cannot be read or its text is too long. */
function readPart(text: string, markup: MarkupKind | undefined): MarkedText {
  try {
    const marked = readMarkup(text, markup);
    const { chunkCharsMax: limit } = textLimits;
    if (markup === 'ssml' && marked.chars > limit)
      throw refused('too_long', `has ${marked.chars} characters, over the limit of ${limit} of a document`);
    return marked;
  } catch (error) {
    if (error instanceof MarkupFault) throw refused('markup', error.message);
    throw error;
  }
}

const refused = (reason: FieldReason, message: string): Failure =>
  new Failure('invalid_request', { details: [{ field: 'text', reason, message }] });

/** Whether the part has a foreign phrase, which the voice only approximates. Throws if the turn is mostly foreign. */
function hasForeign(text: LiveText, part: LivePart, request: SpeechRequest, main: CastVoice): boolean {
  const languages = languagesOf(request, main);
  const own = inspectScripts(part.text, ...languages);
  if (!own.mostlyForeign) return own.foreign.length > 0;
  const { mostlyForeign, foreign } = inspectScripts(text.received.slice(0, part.end), ...languages);
  if (mostlyForeign) throw unsupportedText(request, 'text', foreign);
  return true;
}
