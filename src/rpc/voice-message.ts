// Converts voices to messages, and messages to the fields of voices.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  type BlendPart,
  type CloneVoiceRequest,
  type DefaultVoiceSchema,
  DefaultVoiceSource,
  type UpdateVoiceRequest,
  VoiceAccess,
  VoiceKind,
  VoiceOwner,
  type VoiceSchema,
  type VoiceSpec,
  VoiceStatus,
} from '../../gen/sonant/v1/voice_pb.ts';
import type { ListedVoice } from '../api/voices.ts';
import type { Cloning } from '../engines/engine.ts';
import type { DefaultVoice } from '../speech/default-voice.ts';
import type { VoiceConsent } from '../speech/stored-voices.ts';
import { bindingIdsOf, blendOf } from '../speech/voice.ts';
import type { CloneFields, VoiceFields } from '../voices/voice-fields.ts';
import { requirePaths } from './required.ts';

const statuses = {
  pending: VoiceStatus.PENDING,
  ready: VoiceStatus.READY,
  failed: VoiceStatus.FAILED,
  disabled: VoiceStatus.DISABLED,
  consent_revoked: VoiceStatus.CONSENT_REVOKED,
} as const;

export const accesses = { private: VoiceAccess.PRIVATE, everyone: VoiceAccess.EVERYONE } as const;
export const owners = { self: VoiceOwner.SELF, operator: VoiceOwner.OPERATOR, other: VoiceOwner.OTHER } as const;

const sources = {
  setting: DefaultVoiceSource.SETTING,
  choice: DefaultVoiceSource.CHOICE,
  order: DefaultVoiceSource.ORDER,
} as const;

export const toDefaultVoice = ({
  offered,
  source,
  chosen,
}: DefaultVoice): MessageInitShape<typeof DefaultVoiceSchema> => ({
  voiceId: offered?.voice.voiceId ?? '',
  source: sources[source],
  chosenVoiceId: chosen?.voice.voiceId ?? '',
});

export function toVoiceMessage(listed: ListedVoice): MessageInitShape<typeof VoiceSchema> {
  const { voice, status, kept, owner, aliases } = listed;
  return {
    voiceId: voice.voiceId,
    name: voice.name,
    description: voice.description,
    kind: voice.kind === 'cloned' ? VoiceKind.CLONED : VoiceKind.STOCK,
    engine: voice.engine,
    status: statuses[status],
    languageCodes: [...voice.languageCodes],
    labels: { ...voice.labels },
    bindings: bindingIdsOf(listed).map(({ engine, voiceId = '' }) => ({ engine, voiceId })),
    blend: (blendOf(listed) ?? []).map((part) => ({ ...part })),
    access: accesses[kept?.access ?? 'everyone'],
    owner: owners[owner],
    aliases: [...aliases],
    lexiconIds: [...(kept?.lexiconIds ?? [])],
    ...(kept && { createTime: timestampFromDate(kept.createdAt), updateTime: timestampFromDate(kept.updatedAt) }),
    ...(kept?.consent && { consent: toConsent(kept.consent) }),
  };
}

const toConsent = ({ givenAt, revokedAt, ...fields }: VoiceConsent) => ({
  ...fields,
  giveTime: timestampFromDate(givenAt),
  ...(revokedAt && { revokeTime: timestampFromDate(revokedAt) }),
});

/** Undefined where it is not set. A value that is unknown here becomes its number, which the check of fields reports. */
export function toAccess(given: VoiceAccess | undefined): string | undefined {
  if (given === undefined || given === VoiceAccess.UNSPECIFIED) return undefined;
  const known = Object.entries(accesses).find(([, value]) => value === given);
  return known?.[0] ?? String(given);
}

const toBlendPart = ({ voiceId, weight }: BlendPart) => ({ voiceId, weight });

/** The fields of a new voice; those that are empty have their defaults. */
export const toVoiceFields = (spec: VoiceSpec | undefined): VoiceFields => ({
  name: spec?.name,
  description: spec?.description,
  languageCodes: spec?.languageCodes,
  labels: spec?.labels,
  bindings: spec?.bindings,
  blend: spec?.blend.map(toBlendPart),
  enabled: spec?.enabled,
  access: toAccess(spec?.access),
  aliases: spec?.aliases,
  lexiconIds: spec?.lexiconIds,
});

/** The change for each path of the mask; a field that is not set is reset to its default. */
const changes: Readonly<Record<string, (spec: VoiceSpec | undefined) => VoiceFields>> = {
  name: (spec) => ({ name: spec?.name ?? '' }),
  description: (spec) => ({ description: spec?.description ?? '' }),
  language_codes: (spec) => ({ languageCodes: spec?.languageCodes ?? [] }),
  labels: (spec) => ({ labels: spec?.labels ?? {} }),
  bindings: (spec) => ({ bindings: spec?.bindings ?? [] }),
  blend: (spec) => ({ blend: spec?.blend.map(toBlendPart) ?? [] }),
  enabled: (spec) => ({ enabled: spec?.enabled ?? true }),
  access: (spec) => ({ access: toAccess(spec?.access) ?? '' }),
  aliases: (spec) => ({ aliases: spec?.aliases ?? [] }),
  lexicon_ids: (spec) => ({ lexiconIds: spec?.lexiconIds ?? [] }),
};

export function toVoiceChange({ spec, updateMask }: UpdateVoiceRequest): VoiceFields {
  const paths = requirePaths(updateMask, changes);
  return Object.assign({}, ...paths.map((path) => changes[path]!(spec)));
}

export const toCloneFields = ({
  voiceId,
  referenceAudio,
  consentAudio,
  access,
  ...fields
}: CloneVoiceRequest): CloneFields => ({
  ...fields,
  access: toAccess(access),
  voiceId: voiceId || undefined,
  reference: referenceAudio,
  consent: consentAudio,
});

export const toCloningEngine = ({ engine, cloning }: { engine: string; cloning: Cloning }) => ({
  engine,
  sampleLanguageCodes: [...cloning.sampleLanguageCodes],
  sampleSecondsMin: cloning.sampleSeconds.min,
  sampleSecondsMax: cloning.sampleSeconds.max,
  needsReferenceText: cloning.needsReferenceText,
  consentScripts: { ...cloning.consentScripts },
});
