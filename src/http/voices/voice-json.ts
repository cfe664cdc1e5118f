// Renders a voice as JSON.
import type { ListedVoice } from '../../api/voices.ts';
import { formatNames, outputSampleRatesHz } from '../../audio/formats.ts';
import type { Cloning } from '../../engines/engine.ts';
import type { DefaultVoice } from '../../speech/default-voice.ts';
import { speakingRates } from '../../speech/fields.ts';
import type { VoiceConsent } from '../../speech/stored-voices.ts';
import { bindingIdsOf, blendOf } from '../../speech/voice.ts';

/** The same for all voices: Sonant does what an engine cannot. */
const capabilities = {
  sample_rates: outputSampleRatesHz,
  output_formats: formatNames,
  speaking_rate: speakingRates,
};

const toTime = (time: Date | undefined) => time?.toISOString() ?? null;

export const toVoiceJson = (listed: ListedVoice) => {
  const { voice, status, kept, owner, aliases } = listed;
  return {
    voice_id: voice.voiceId,
    aliases,
    name: voice.name,
    description: voice.description,
    kind: voice.kind,
    engine: voice.engine,
    status,
    language_codes: voice.languageCodes,
    labels: voice.labels,
    bindings: bindingIdsOf(listed).map(({ engine, voiceId }) => ({ engine, voice_id: voiceId ?? null })),
    blend: blendOf(listed)?.map(({ voiceId, weight }) => ({ voice_id: voiceId, weight })) ?? null,
    capabilities,
    owner,
    access: kept?.access ?? 'everyone',
    lexicon_ids: kept?.lexiconIds ?? [],
    consent: kept?.consent ? toConsentJson(kept.consent) : null,
    created_at: toTime(kept?.createdAt),
    updated_at: toTime(kept?.updatedAt),
  };
};

export const toDefaultVoiceJson = ({ offered, source, chosen }: DefaultVoice) => ({
  voice_id: offered?.voice.voiceId ?? null,
  source,
  chosen_voice_id: chosen?.voice.voiceId ?? null,
});

const toConsentJson = (consent: VoiceConsent) => ({
  speaker_name: consent.speakerName,
  statement: consent.statement,
  language_code: consent.languageCode,
  audio_sha256: consent.audioSha256,
  given_at: toTime(consent.givenAt),
  confirmed_by: consent.confirmedBy,
  revoked_at: toTime(consent.revokedAt),
});

export const toCloningJson = ({ engine, cloning }: { engine: string; cloning: Cloning }) => ({
  engine,
  sample_language_codes: cloning.sampleLanguageCodes,
  sample_seconds: cloning.sampleSeconds,
  needs_reference_text: cloning.needsReferenceText,
  consent_scripts: cloning.consentScripts,
});
