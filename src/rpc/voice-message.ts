// Converts voices to messages, and messages to the fields of voices.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  type CloneVoiceRequest,
  type UpdateVoiceRequest,
  VoiceKind,
  type VoiceSchema,
  type VoiceSpec,
  VoiceStatus,
} from '../../gen/sonant/v1/voice_pb.ts';
import type { Cloning } from '../engines/engine.ts';
import { bindingIdsOf, type OfferedVoice, type VoiceConsent } from '../speech/voice.ts';
import type { CloneFields, VoiceFields } from '../voices/voice-fields.ts';
import { requirePaths } from './required.ts';

const statuses = {
  pending: VoiceStatus.PENDING,
  ready: VoiceStatus.READY,
  failed: VoiceStatus.FAILED,
  disabled: VoiceStatus.DISABLED,
  consent_revoked: VoiceStatus.CONSENT_REVOKED,
} as const;

export function toVoiceMessage(offered: OfferedVoice): MessageInitShape<typeof VoiceSchema> {
  const { voice, status, kept } = offered;
  return {
    voiceId: voice.voiceId,
    name: voice.name,
    description: voice.description,
    kind: voice.kind === 'cloned' ? VoiceKind.CLONED : VoiceKind.STOCK,
    engine: voice.engine,
    status: statuses[status],
    languageCodes: [...voice.languageCodes],
    labels: { ...voice.labels },
    bindings: bindingIdsOf(offered).map(({ engine, voiceId = '' }) => ({ engine, voiceId })),
    ...(kept && { createTime: timestampFromDate(kept.createdAt), updateTime: timestampFromDate(kept.updatedAt) }),
    ...(kept?.consent && { consent: toConsent(kept.consent) }),
  };
}

const toConsent = ({ givenAt, revokedAt, ...fields }: VoiceConsent) => ({
  ...fields,
  giveTime: timestampFromDate(givenAt),
  ...(revokedAt && { revokeTime: timestampFromDate(revokedAt) }),
});

/** A field at its proto3 default is absent; `toVoiceChange` reads those that the mask names all the same. */
export const toVoiceFields = (spec: VoiceSpec | undefined): VoiceFields => ({
  name: spec?.name || undefined,
  description: spec?.description || undefined,
  languageCodes: spec?.languageCodes.length ? spec.languageCodes : undefined,
  labels: spec?.labels,
  bindings: spec?.bindings.length ? spec.bindings : undefined,
  enabled: spec?.enabled,
});

/** The change for each path of the mask; a field that is not set is reset to its default. */
const changes: Readonly<Record<string, (spec: VoiceSpec | undefined) => VoiceFields>> = {
  name: (spec) => ({ name: spec?.name ?? '' }),
  description: (spec) => ({ description: spec?.description ?? '' }),
  language_codes: (spec) => ({ languageCodes: spec?.languageCodes ?? [] }),
  labels: (spec) => ({ labels: spec?.labels ?? {} }),
  bindings: (spec) => ({ bindings: spec?.bindings ?? [] }),
  enabled: (spec) => ({ enabled: spec?.enabled ?? true }),
};

export function toVoiceChange({ spec, updateMask }: UpdateVoiceRequest): VoiceFields {
  const paths = requirePaths(updateMask, changes);
  return Object.assign({}, ...paths.map((path) => changes[path]!(spec)));
}

export const toCloneFields = ({
  voiceId,
  referenceAudio,
  consentAudio,
  ...fields
}: CloneVoiceRequest): CloneFields => ({
  ...fields,
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
