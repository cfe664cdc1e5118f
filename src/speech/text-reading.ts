// Reads texts for the voices that speak them: finds the voices and applies lexicons, first those that the request names,
// then those bound to the voice. A change to a lexicon does not affect requests that are already planned.
import type { VoiceUser } from '../accounts.ts';
import { Failure, type FieldViolation } from '../platform/errors.ts';
import { isSpokenBy } from '../platform/language-code.ts';
import { inSteps } from '../platform/runtime/steps.ts';
import { applyLexicons, type Lexicon, type MarkedText } from '../text.ts';
import { type Cast, type CastOptions, type CastVoice, findCast } from './cast.ts';
import { textLimits } from './fields.ts';
import type { LanguageMarker } from './sentence-languages.ts';

/** Texts with their voices, after lexicons have been applied. */
export interface ReadTexts {
  cast: Cast;
  texts: readonly MarkedText[];
  /** Versions of the lexicons that the voices use; empty if they use none. Only then are languages not marked yet. */
  lexiconVersions: readonly string[];
  /** Whether a lexicon bound to a voice has been deleted. */
  isIncomplete: boolean;
}

/** Returns a function that begins to read the texts of a request or feed. */
export const openTextReader =
  (main: CastVoice, castOptions: CastOptions, lexicons: Lexicons, requested: readonly OfferedLexicon[]) =>
  (markLanguages: LanguageMarker) => {
    const lexiconsOf = createVoiceLexicons(lexicons, requested);
    return async (given: readonly MarkedText[]): Promise<ReadTexts> => {
      const cast = findCast(main, given, castOptions);
      const lexiconVersions = lexiconVersionsOf(cast, lexiconsOf);
      const texts: MarkedText[] = [];
      // Languages are found before lexicons are applied, because some entries apply to one language only.
      for (const text of lexiconVersions.length > 0 ? given : [])
        texts.push(await applyVoiceLexicons(markLanguages(text, cast), cast, lexiconsOf, castOptions.field));
      const isIncomplete = [cast.main, ...cast.others].some((voice) => lexiconsOf(voice).isIncomplete);
      return { cast, texts: lexiconVersions.length > 0 ? texts : given, lexiconVersions, isIncomplete };
    };
  };

/** The parts of a stored lexicon that speech needs. */
export interface OfferedLexicon {
  lexiconId: string;
  /** Version of the content; changes whenever the content does. */
  version: string;
  /** Compiles the lexicon on first use, in steps between which other work runs. */
  compile(): Promise<Lexicon>;
}

export interface Lexicons {
  /** Finds a lexicon among those that the user may use, or among all if the user is undefined. */
  find(lexiconId: string, user: VoiceUser | undefined): OfferedLexicon | undefined;
}

/** Also leaves out the lexicons that are bound to voices. */
export const noLexicons: Lexicons = { find: () => undefined };

/** Maximum ratio of a text's length with aliases from lexicons to its length without them. */
const aliasedLengthFactor = 2;

/**
 * Finds lexicons by id among those that the user may use. Throws a Failure that lists each missing id. `lexiconIds` is
 * undefined in tickets from versions without lexicons.
 */
export function findLexicons(
  lexicons: Lexicons,
  lexiconIds: readonly string[] | undefined = [],
  user: VoiceUser = {},
): OfferedLexicon[] {
  const details: FieldViolation[] = [];
  const found = lookUpLexicons(lexicons, lexiconIds, user, details);
  if (details.length > 0) throw new Failure('invalid_request', { details });
  return found;
}

/** Like `findLexicons`, but adds violations to a list. */
export const lookUpLexicons = (
  lexicons: Lexicons,
  lexiconIds: readonly string[],
  user: VoiceUser,
  faults: FieldViolation[],
): OfferedLexicon[] =>
  lexiconIds.flatMap((lexiconId, i) => {
    const lexicon = lexicons.find(lexiconId, user);
    if (lexicon) return lexicon;
    faults.push({
      field: `lexicon_ids[${i}]`,
      reason: 'not_found',
      message: 'is not a lexicon of this key',
    });
    return [];
  });

/** The lexicons of a voice, and whether a bound lexicon has been deleted. */
interface VoiceLexicons {
  lexicons: readonly OfferedLexicon[];
  isIncomplete: boolean;
}

type LexiconsOf = (voice: CastVoice) => VoiceLexicons;

/** Returns a function that finds the lexicons of each voice once. The lexicons of the request come first. */
function createVoiceLexicons(lexicons: Lexicons, requested: readonly OfferedLexicon[]): LexiconsOf {
  const known = new Map<CastVoice, VoiceLexicons>();
  return (voice) => {
    const before = known.get(voice);
    if (before) return before;
    const boundIds = lexicons === noLexicons ? [] : (voice.offered.kept?.lexiconIds ?? []);
    const bound = boundIds.flatMap((lexiconId) => lexicons.find(lexiconId, undefined) ?? []);
    const used = { lexicons: [...requested, ...bound], isIncomplete: bound.length < boundIds.length };
    known.set(voice, used);
    return used;
  };
}

/** Placeholder version of a deleted lexicon. Audio without the lexicon has a warning and its own cache key. */
const goneVersion = '-';

/** Versions of all lexicons that the voices use; empty if they use none. */
function lexiconVersionsOf({ main, others }: Cast, lexiconsOf: LexiconsOf): string[] {
  const versions = [main, ...others].map((voice) => {
    const { lexicons, isIncomplete } = lexiconsOf(voice);
    return [...lexicons.map(({ version }) => version), ...(isIncomplete ? [goneVersion] : [])].join(' ');
  });
  return versions.every((version) => version === '') ? [] : versions;
}

/** Applies lexicons to a text, in steps between which other work runs. Rejects if the text becomes too long. */
async function applyVoiceLexicons(
  text: MarkedText,
  cast: Cast,
  lexiconsOf: LexiconsOf,
  field: string,
): Promise<MarkedText> {
  const compiled = new Map<CastVoice, Lexicon[]>();
  for (const voice of [cast.main, ...cast.others]) {
    const lexicons: Lexicon[] = [];
    for (const lexicon of lexiconsOf(voice).lexicons) lexicons.push(await lexicon.compile());
    if (lexicons.length > 0) compiled.set(voice, lexicons);
  }
  if (compiled.size === 0) return text;
  const steps = applyLexicons(text, ({ style }) => {
    const voice = cast.voiceOf(style);
    const { languageCode } = style;
    const isSpoken = languageCode !== undefined && isSpokenBy(voice.offered.voice, languageCode);
    return {
      lexicons: compiled.get(voice) ?? [],
      languageCode: isSpoken ? languageCode : voice.languageCode,
    };
  });
  const applied = await inSteps(steps);
  const limit = aliasedLengthFactor * Math.max(textLimits.chunkCharsMax, text.chars);
  if (applied === text || applied.chars <= limit) return applied;
  const message = `has ${applied.chars} characters after the replacements of lexicons, over the limit of ${limit}`;
  const details: FieldViolation[] = [{ field, reason: 'too_long', message }];
  throw new Failure('text_too_long', { message: `${field} ${message}`, limit, actual: applied.chars, details });
}
