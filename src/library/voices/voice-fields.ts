// Defines the fields of requests that create, clone or change a voice. An omitted field keeps its value, or gets its
// default in a new voice. The contract's rules check shape and range; this folder checks references and permissions.

import { create, type Message } from '@bufbuild/protobuf';
import { type CloneVoiceRequest, CreateVoiceRequestSchema, type VoiceSpec } from '../../../gen/sonant/v1/voice_pb.ts';
import type { Actor, VoiceUser } from '../../accounts.ts';
import { checkRules, Violations } from '../../contract.ts';
import { Failure, type FieldReason, type FieldViolation } from '../../platform/errors.ts';
import { toLanguageCode } from '../../platform/language-code.ts';
import type { Lexicons, OfferedVoice, Voices } from '../../speech.ts';
import { ofEveryone, type VoiceChange, type VoiceRow } from './voice-rows.ts';

type Fields<M extends Message> = Omit<M, keyof Message | 'access'>;
type Plain<T> = T extends readonly (infer Item)[] ? readonly Plain<Item>[] : T extends Message ? Fields<T> : T;

/** An empty `voiceId` of a binding means the clone that the engine created. A blend replaces the bindings. */
export type VoiceFields = { [Name in keyof Fields<VoiceSpec>]?: Plain<VoiceSpec[Name]> | undefined } & {
  /** Default for a new voice: `everyone` for the operator, and for admins except for blends; otherwise `private`. */
  access?: VoiceRow['access'] | undefined;
};

/** An empty field gets its default. */
export type CloneFields = Fields<CloneVoiceRequest> & { access: VoiceRow['access'] | undefined };

type Fault = (field: string, reason: FieldReason, message: string, allowed?: FieldViolation['allowed']) => void;

export const faultTo =
  (faults: FieldViolation[]): Fault =>
  (field, reason, message, allowed) =>
    void faults.push({ field, reason, message, ...(allowed && { allowed }) });

/** Applies the contract's rules to the fields of a new voice that do not come from an API. */
export function breaksOf({
  voiceId = '',
  ...spec
}: { voiceId?: string | undefined } & Partial<Pick<VoiceSpec, 'name' | 'description' | 'labels'>>) {
  const violations = new Violations();
  checkRules(CreateVoiceRequestSchema, create(CreateVoiceRequestSchema, { voiceId, spec }), violations, {
    given: voiceId === '' ? ['voice_id'] : [],
  });
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
      if (holder?.voiceId === alias || !voices.isFree(alias, accountId))
        return [{ field, reason: 'taken', message: 'is the id of another voice' }];
      const other = holder && findById(holder.voiceId);
      return other ? [{ field, reason: 'taken', message: takenBy(other, voices.usableBy(actor)) }] : [];
    });
    if (details.length > 0) throw new Failure('invalid_request', { details });
  };
  return { names, ownerId: accountId, check };
}

const takenBy = (other: OfferedVoice, usable: Voices): string =>
  usable.lookUp(other.voice.voiceId) === other
    ? `is an alias of the voice ${other.voice.voiceId}`
    : 'is an alias of another voice';
