// A voice as JSON.
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type CloningEngine,
  type Voice,
  type VoiceConsent,
  VoiceKind,
  VoiceStatus,
} from '../../../gen/sonant/v1/voice_pb.ts';
import { audioFormats, outputSampleRatesHz } from '../../audio/formats.ts';
import { speakingRates } from '../../speech/request.ts';

const statusNames: Readonly<Record<number, string>> = {
  [VoiceStatus.PENDING]: 'pending',
  [VoiceStatus.READY]: 'ready',
  [VoiceStatus.FAILED]: 'failed',
  [VoiceStatus.DISABLED]: 'disabled',
  [VoiceStatus.CONSENT_REVOKED]: 'consent_revoked',
};

/** What every voice can do, since the heart does what an engine cannot. */
const capabilities = {
  sample_rates: outputSampleRatesHz,
  output_formats: Object.keys(audioFormats),
  speaking_rate: speakingRates,
};

const toTime = (time: Timestamp | undefined) => (time ? new Date(timestampMs(time)).toISOString() : null);

export const toVoiceJson = (voice: Voice) => ({
  voice_id: voice.voiceId,
  name: voice.name,
  description: voice.description,
  kind: voice.kind === VoiceKind.CLONED ? 'cloned' : 'stock',
  engine: voice.engine,
  status: statusNames[voice.status],
  language_codes: voice.languageCodes,
  labels: voice.labels,
  bindings: voice.bindings.map(({ engine, voiceId }) => ({ engine, voice_id: voiceId || null })),
  capabilities,
  consent: voice.consent ? toConsentJson(voice.consent) : null,
  created_at: toTime(voice.createTime),
  updated_at: toTime(voice.updateTime),
});

const toConsentJson = (consent: VoiceConsent) => ({
  speaker_name: consent.speakerName,
  statement: consent.statement,
  language_code: consent.languageCode,
  audio_sha256: consent.audioSha256,
  given_at: toTime(consent.giveTime),
  confirmed_by: consent.confirmedBy,
  revoked_at: toTime(consent.revokeTime),
});

export const toCloningJson = (engine: CloningEngine) => ({
  engine: engine.engine,
  sample_language_codes: engine.sampleLanguageCodes,
  sample_seconds: { min: engine.sampleSecondsMin, max: engine.sampleSecondsMax },
  needs_reference_text: engine.needsReferenceText,
  consent_scripts: engine.consentScripts,
});
