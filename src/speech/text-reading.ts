// Reads texts for the voices that speak them: finds the voices, guesses the language of each sentence if the request
// leaves it to Sonant, and applies lexicons: first those that the request names, then those bound to the voice. A change
// to a lexicon does not affect requests that are already planned.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { VoiceUser } from '../accounts.ts';
import { Failure, type FieldViolation } from '../platform/errors.ts';
import { isSpokenBy } from '../platform/language-code.ts';
import { inSteps } from '../platform/runtime/steps.ts';
import { applyLexicons, fitScripts, type Lexicon, type MarkedText, splitRuns } from '../text.ts';
import { type Cast, type CastOptions, type CastVoice, findCast } from './cast.ts';
import { autoLanguage, textLimits } from './fields.ts';

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
  /** Finds a lexicon: of all, or of those that the user may use. */
  find(lexiconId: string, user?: VoiceUser): OfferedLexicon | undefined;
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
    const bound = boundIds.flatMap((lexiconId) => lexicons.find(lexiconId) ?? []);
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

// A sentence gets the language of the previous sentence, or else the voice's language, unless another language of the
// request's voices scores clearly higher. `npm run bench languages` measures the thresholds. Languages stated in markup
// are kept.

/** Points added to the score of the previous sentence's language. A clear word scores several times as many. */
const scoreOverLast = 40;
/** Points added to the score of the voice's own language. */
const scoreOverOwn = 10;

/** Determines the languages of consecutive sentences. */
export function createSentenceLanguages() {
  let last: string | undefined;
  return (sentence: string, languages: readonly string[], own: string): string => {
    const scores = scoreLanguages(sentence, languages);
    let best = own;
    let most = -Infinity;
    for (const [i, language] of languages.entries()) {
      const score = scores[i];
      if (score === undefined) continue;
      const raised = score + (language === last ? scoreOverLast : 0) + (language === own ? scoreOverOwn : 0);
      if (raised > most) [best, most] = [language, raised];
    }
    last = best;
    return best;
  };
}

/** Marks the texts of a request, in order, with the languages of their sentences. */
export type LanguageMarker = (text: MarkedText, cast: Pick<Cast, 'main' | 'others' | 'voiceOf'>) => MarkedText;

export function createLanguageMarker({ languageCode }: { languageCode: string }): LanguageMarker {
  if (languageCode !== autoLanguage) return (text) => text;
  const nextLanguage = createSentenceLanguages();
  /** Start of a sentence that previous texts have left unfinished. */
  let begun = '';
  return (text, { main, others, voiceOf }) => {
    const codes = [main, ...others].flatMap(({ offered }) => offered.voice.languageCodes);
    const languages = [...new Set(codes.map(languageOf))];
    if (languages.length < 2) return text;
    const items = splitRuns(text.items, {
      languageCode: main.languageCode,
      isFixed: ({ style }) => style.languageCode !== undefined,
      toLanguage({ said, isOpen }, { style }) {
        const sentence = begun === '' ? said : `${begun} ${said}`;
        begun = isOpen ? sentence : '';
        const voice = voiceOf(style);
        return codeFor(voice, nextLanguage(sentence, languages, languageOf(voice.languageCode)));
      },
    });
    return { ...text, items };
  };
}

/** The voice's code for the language; undefined if the voice already uses the language or does not speak it. */
const codeFor = ({ offered, languageCode }: CastVoice, language: string): string | undefined =>
  languageOf(languageCode) === language
    ? undefined
    : offered.voice.languageCodes.find((code) => languageOf(code) === language);

type Detector = typeof import('eld/extrasmall')['eld'];

/** Codes in the library `eld` for languages that it lists under another code or replaces with a close relative. */
const namesInTable: Readonly<Record<string, string>> = { nb: 'no', nn: 'no', id: 'ms', fil: 'tl', bs: 'hr', cmn: 'zh' };
/** `eld` reads at most 380 bytes, so more characters would have no effect. */
const charsMax = 380;
/** `eld` reports x / (x + 25), where x is the mean score of the word pieces that `eld` knows. */
const scale = 25;
/** Approximate length of the word pieces of `eld`. */
const charsPerPiece = 3;

let detector: Detector | undefined;

function load(): Detector {
  // The package exports only an ES module, but planning is synchronous, so `require` loads the module.
  const path = fileURLToPath(import.meta.resolve('eld/extrasmall'));
  detector = (createRequire(import.meta.url)(path) as { eld: Detector }).eld;
  return detector;
}

/** The primary language of a BCP-47 code, without script and region. */
const languageOf = (code: string): string => code.toLowerCase().split('-', 1)[0]!;

/**
 * Scores for the languages, in the same order; undefined for a language that is not written in the sentence's script.
 * Scores grow with the length of the sentence.
 */
export function scoreLanguages(sentence: string, languages: readonly string[]): (number | undefined)[] {
  const read = sentence.slice(0, charsMax);
  const isWritten = fitScripts(read, languages);
  if (isWritten.filter(Boolean).length < 2) return isWritten.map((is) => (is ? 0 : undefined));
  const scores = (detector ?? load()).detect(read).getScores();
  const pieces = [...read].length / charsPerPiece + 1;
  return languages.map((language, i) => {
    const score = scores[namesInTable[language] ?? language] ?? 0;
    return isWritten[i] ? (pieces * scale * score) / (1 - score) : undefined;
  });
}
