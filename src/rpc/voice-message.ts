// A voice, and what is asked of one, between the heart and the proto.
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
import type { OfferedVoice, VoiceConsent } from '../speech/voice.ts';
import type { CloneFields, VoiceFields } from '../voices/voice-fields.ts';
import { requirePaths } from './required.ts';

const statuses = {
  pending: VoiceStatus.PENDING,
  ready: VoiceStatus.READY,
  failed: VoiceStatus.FAILED,
  disabled: VoiceStatus.DISABLED,
  consent_revoked: VoiceStatus.CONSENT_REVOKED,
} as const;

export function toVoiceMessage({ voice, status, bindings, kept }: OfferedVoice): MessageInitShape<typeof VoiceSchema> {
  const bound = kept
    ? kept.bindings.map((each) => ({ engine: each.engine, voiceId: 'speakerId' in each ? each.speakerId : '' }))
    : bindings.map(({ engine, speaker }) => ({ engine: engine.name, voiceId: speaker.voiceId }));
  return {
    voiceId: voice.voiceId,
    name: voice.name,
    description: voice.description,
    kind: voice.kind === 'cloned' ? VoiceKind.CLONED : VoiceKind.STOCK,
    engine: voice.engine,
    status: statuses[status],
    languageCodes: [...voice.languageCodes],
    labels: { ...voice.labels },
    bindings: bound,
    ...(kept && { createTime: timestampFromDate(kept.createdAt), updateTime: timestampFromDate(kept.updatedAt) }),
    ...(kept?.consent && { consent: toConsent(kept.consent) }),
  };
}

const toConsent = ({ givenAt, revokedAt, ...told }: VoiceConsent) => ({
  ...told,
  giveTime: timestampFromDate(givenAt),
  ...(revokedAt && { revokeTime: timestampFromDate(revokedAt) }),
});

/** What is not set is not asked for; `toAskedChange` tells what is meant all the same. */
export const toAsked = (spec: VoiceSpec | undefined): VoiceFields => ({
  name: spec?.name || undefined,
  description: spec?.description || undefined,
  languageCodes: spec?.languageCodes.length ? spec.languageCodes : undefined,
  labels: spec?.labels,
  bindings: spec?.bindings.length ? spec.bindings : undefined,
  enabled: spec?.enabled,
});

/** What each path of the mask stands for, where its field is set and where it is not. */
const changes: Readonly<Record<string, (spec: VoiceSpec | undefined) => VoiceFields>> = {
  name: (spec) => ({ name: spec?.name ?? '' }),
  description: (spec) => ({ description: spec?.description ?? '' }),
  language_codes: (spec) => ({ languageCodes: spec?.languageCodes ?? [] }),
  labels: (spec) => ({ labels: spec?.labels ?? {} }),
  bindings: (spec) => ({ bindings: spec?.bindings ?? [] }),
  enabled: (spec) => ({ enabled: spec?.enabled ?? true }),
};

export function toAskedChange({ spec, updateMask }: UpdateVoiceRequest): VoiceFields {
  const paths = requirePaths(updateMask, changes);
  return Object.assign({}, ...paths.map((path) => changes[path]!(spec)));
}

export const toAskedClone = ({ voiceId, referenceAudio, consentAudio, ...asked }: CloneVoiceRequest): CloneFields => ({
  ...asked,
  voiceId: voiceId || undefined,
  reference: referenceAudio,
  consent: consentAudio,
});
