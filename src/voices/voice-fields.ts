// Defines the fields of requests that create, clone or change a voice. An omitted field keeps its value, or gets its
// default in a new voice. The contract's rules check shape and range; this folder checks references and permissions.
import { create } from '@bufbuild/protobuf';
import {
  VoiceAccess as Access,
  CreateVoiceRequestSchema,
  UpdateVoiceRequestSchema,
} from '../../gen/sonant/v1/voice_pb.ts';
import type { Actor } from '../access/actor.ts';
import { checkRules } from '../contract/rules.ts';
import { Violations } from '../contract/violations.ts';
import type { Blend } from '../engines/engine.ts';
import { Failure, type FieldReason, type FieldViolation } from '../errors.ts';
import { type Lexicons, lookUpLexicons } from '../speech/request-lexicons.ts';
import { ofEveryone, type VoiceAccess } from '../speech/stored-voices.ts';
import { isOfAnother, type OfferedVoice, type Voices, type VoiceUser, voicesFor } from '../speech/voice.ts';
import { toSnakeCase } from '../store/row-store.ts';
import type { GivenTexts, VoiceChange, VoiceRow } from '../store/voice-rows.ts';
import { toLanguageCode } from '../text/language-code.ts';

export interface VoiceFields extends GivenTexts {
  languageCodes?: readonly string[] | undefined;
  labels?: Readonly<Record<string, string>> | undefined;
  /** Engine voices. An empty `voiceId` means the clone that the engine created. */
  bindings?: readonly { engine: string; voiceId: string }[] | undefined;
  /** Voices of a blend, which replaces `bindings`. */
  blend?: Blend | undefined;
  enabled?: boolean | undefined;
  /** Default for a new voice: `everyone` for the operator, and for admins except for blends; otherwise `private`. */
  access?: VoiceAccess | undefined;
  /** All aliases of the voice. Existing aliases that are omitted are removed. */
  aliases?: readonly string[] | undefined;
  /** Ids of all lexicons of the voice, in order of precedence. */
  lexiconIds?: readonly string[] | undefined;
}

export interface CloneFields {
  voiceId: string | undefined;
  name: string;
  description: string;
  labels: Readonly<Record<string, string>>;
  languageCode: string;
  reference: Uint8Array;
  referenceText: string;
  consent: Uint8Array;
  speakerName: string;
  /** Default: the engine's script, or else Sonant's script. */
  consentScript: string;
  /** Default: the first engine that can clone in the language. */
  engines: readonly string[];
  /** Default: `private`. */
  access: VoiceAccess | undefined;
}

type Fault = (field: string, reason: FieldReason, message: string, allowed?: FieldViolation['allowed']) => void;

export const faultTo =
  (faults: FieldViolation[]): Fault =>
  (field, reason, message, allowed) =>
    void faults.push({ field, reason, message, ...(allowed && { allowed }) });

/** Applies the contract's rules to fields that do not come from an API. `voiceId` selects the rules for new voices. */
export function breaksOf(fields: VoiceFields & { voiceId?: string | undefined }): readonly FieldViolation[] {
  const { voiceId, access, bindings, blend, ...others } = fields;
  const given = {
    ...Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined)),
    ...(access && { access: access === 'everyone' ? Access.EVERYONE : Access.PRIVATE }),
    ...(bindings && { bindings: [...bindings] }),
    ...(blend && { blend: [...blend] }),
  };
  const violations = new Violations();
  if ('voiceId' in fields) {
    const message = create(CreateVoiceRequestSchema, { voiceId: voiceId ?? '', spec: given });
    checkRules(CreateVoiceRequestSchema, message, violations, { given: voiceId === '' ? ['voice_id'] : [] });
  } else {
    const mask = Object.keys(given).map(toSnakeCase);
    const message = create(UpdateVoiceRequestSchema, { voiceId: '-', spec: given });
    checkRules(UpdateVoiceRequestSchema, message, violations, { mask, given: mask });
  }
  return violations.details;
}

/** Returns the codes in canonical form. */
export function checkLanguages(codes: readonly string[], fault: Fault): string[] {
  if (codes.length === 0) fault('language_codes', 'length', 'must not be empty');
  return [...new Set(codes.flatMap((code, i) => checkLanguage(`language_codes[${i}]`, code, fault) ?? []))];
}

export function checkLanguage(field: string, code: string, fault: Fault): string | undefined {
  const known = toLanguageCode(code);
  if (known === undefined) fault(field, 'format', 'must be a BCP-47 language code such as en-US');
  return known;
}

export interface LexiconChecks {
  lexicons: Lexicons;
  actor: VoiceUser;
}

/** Reports each lexicon that cannot be bound. */
export function checkBoundLexicons(
  lexiconIds: readonly string[],
  { lexicons, actor }: LexiconChecks,
  faults: FieldViolation[],
): void {
  lookUpLexicons(lexicons, lexiconIds, actor, faults);
}

/** Returns the new aliases and a check that no other voice has them; undefined if aliases do not change. */
export function toAliasChange(
  { voiceId, access, ownerId }: Pick<VoiceRow, 'voiceId' | 'access' | 'ownerId'>,
  names: readonly string[] | undefined,
  { voices, actor }: { voices: Voices; actor: Actor },
): VoiceChange['aliases'] {
  if (!names) return undefined;
  const accountId = access === 'everyone' || ownerId === null ? ofEveryone : ownerId;
  const findById = (id: string) => [voices.lookUp(id)].find((offered) => offered?.voice.voiceId === id);
  const check: NonNullable<VoiceChange['aliases']>['check'] = (held) => {
    const details = names.flatMap((alias, i): FieldViolation[] => {
      const field = `aliases[${i}]`;
      if (alias === voiceId) return [{ field, reason: 'conflict', message: 'is the id of the voice itself' }];
      const holder = held.find((each) => each.alias === alias);
      // `held` lacks the ids of engine voices, which are not stored.
      if (holder?.voiceId === alias || !isOfAnother(findById(alias), { accountId }))
        return [{ field, reason: 'taken', message: 'is the id of another voice' }];
      const other = holder && findById(holder.voiceId);
      return other ? [{ field, reason: 'taken', message: takenBy(other, voicesFor(voices, actor)) }] : [];
    });
    if (details.length > 0) throw new Failure('invalid_request', { details });
  };
  return { names, ownerId: accountId, check };
}

const takenBy = (other: OfferedVoice, usable: Voices): string =>
  usable.lookUp(other.voice.voiceId) === other
    ? `is an alias of the voice ${other.voice.voiceId}`
    : 'is an alias of another voice';
