// The lexicons of a request: those that it asks for, which go first, and those that are bound to the voice that speaks. A
// request uses the lexicons as they are when it is planned.
import { Failure, type FieldViolation } from '../errors.ts';
import { applyLexicons } from '../text/apply-lexicons.ts';
import type { Lexicon } from '../text/lexicon.ts';
import type { MarkedText } from '../text/marked-text.ts';
import type { Cast, CastVoice } from './cast.ts';
import { textLimits } from './fields.ts';
import type { VoiceAccess } from './stored-voices.ts';
import { isSpokenBy, ownerOf, type VoiceOwner, type VoiceUser } from './voice.ts';

/** A stored lexicon, as far as speech needs it. */
export interface OfferedLexicon {
  lexiconId: string;
  /** The account that it belongs to; undefined for the operator's. */
  ownerId: string | undefined;
  access: VoiceAccess;
  /** Of its content: another one where that is another. */
  version: string;
  /** Compiled when it is first used. */
  compile(): Lexicon;
}

export interface Lexicons {
  find(lexiconId: string): OfferedLexicon | undefined;
}

export const noLexicons: Lexicons = { find: () => undefined };

/** With its aliases, a text may be so many times as long as one without. */
const aliasedLengthFactor = 2;

export const mayUseLexicon = (lexicon: Pick<OfferedLexicon, 'ownerId' | 'access'>, user: VoiceUser): boolean =>
  lexicon.access === 'everyone' || user.usesAllVoices === true || lexiconOwnerOf(lexicon, user) === 'self';

export const lexiconOwnerOf = (lexicon: Pick<OfferedLexicon, 'ownerId'>, user: VoiceUser): VoiceOwner =>
  ownerOf(lexicon, user);

/** Those with these ids that the user may use; a Failure that names each of the others. A ticket of a version without
 *  lexicons asks for none. */
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

/** The same where others are reported with all else that is wrong. */
export const lookUpLexicons = (
  lexicons: Lexicons,
  lexiconIds: readonly string[],
  user: VoiceUser,
  faults: FieldViolation[],
): OfferedLexicon[] =>
  lexiconIds.flatMap((lexiconId, i) => {
    const lexicon = lexicons.find(lexiconId);
    if (lexicon && mayUseLexicon(lexicon, user)) return lexicon;
    faults.push({
      field: `lexicon_ids[${i}]`,
      reason: 'not_found',
      message: 'is not a lexicon of this key',
    });
    return [];
  });

/** The lexicons of a voice, and whether one that is bound to it is gone. */
interface VoiceLexicons {
  lexicons: readonly OfferedLexicon[];
  isIncomplete: boolean;
}

/** Looks up once what each voice uses, the lexicons of the request first. */
export function createVoiceLexicons(lexicons: Lexicons, requested: readonly OfferedLexicon[]) {
  const known = new Map<CastVoice, VoiceLexicons>();
  return (voice: CastVoice): VoiceLexicons => {
    const before = known.get(voice);
    if (before) return before;
    const boundIds = voice.offered.kept?.lexiconIds ?? [];
    const bound = boundIds.flatMap((lexiconId) => lexicons.find(lexiconId) ?? []);
    const used = { lexicons: [...requested, ...bound], isIncomplete: bound.length < boundIds.length };
    known.set(voice, used);
    return used;
  };
}

type LexiconsOf = ReturnType<typeof createVoiceLexicons>;

/** Placeholder version of a deleted lexicon. Audio made without it carries a warning and gets its own cache key. */
const goneVersion = '-';

/** The versions of all content that the voices use; empty where they use none. */
export function lexiconVersionsOf({ main, others }: Cast, lexiconsOf: LexiconsOf): string[] {
  const versions = [main, ...others].map((voice) => {
    const { lexicons, isIncomplete } = lexiconsOf(voice);
    return [...lexicons.map(({ version }) => version), ...(isIncomplete ? [goneVersion] : [])].join(' ');
  });
  return versions.every((version) => version === '') ? [] : versions;
}

/** The text with what lexicons say of it; a Failure where it becomes too long. */
export function applyVoiceLexicons(text: MarkedText, cast: Cast, lexiconsOf: LexiconsOf, field: string): MarkedText {
  const applied = applyLexicons(text, ({ style }) => {
    const voice = cast.voiceOf(style);
    const { languageCode } = style;
    const isSpoken = languageCode !== undefined && isSpokenBy(voice.offered.voice, languageCode);
    return {
      lexicons: lexiconsOf(voice).lexicons.map((lexicon) => lexicon.compile()),
      languageCode: isSpoken ? languageCode : voice.languageCode,
    };
  });
  const limit = aliasedLengthFactor * Math.max(textLimits.chunkCharsMax, text.chars);
  if (applied === text || applied.chars <= limit) return applied;
  const message = `has ${applied.chars} characters after the replacements of lexicons, over the limit of ${limit}`;
  const details: FieldViolation[] = [{ field, reason: 'too_long', message }];
  throw new Failure('text_too_long', { message: `${field} ${message}`, limit, actual: applied.chars, details });
}
