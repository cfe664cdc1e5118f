// Voices and models as ElevenLabs's API lists them.
import type { Fields } from '../../http/known-fields.ts';
import type { OfferedVoice } from '../../speech/voice.ts';
import { type NamedVoice, pageOfVoices, toNamedVoices } from '../named-voices.ts';

/** Model names that clients expect to find; any other name is accepted too, since each voice has its own engine. */
const modelIds = ['sonant', 'eleven_multilingual_v2', 'eleven_turbo_v2_5', 'eleven_flash_v2_5'];

/** Their defaults, of which only the speed has a meaning here. */
export const voiceSettings = { stability: 0.5, similarity_boost: 0.75, style: 0, use_speaker_boost: true, speed: 1 };

export const toVoices = (ready: readonly OfferedVoice[]): Fields => listOf(ready.flatMap(toNamedVoices));

const listOf = (named: readonly NamedVoice[]): Fields => ({ voices: named.map(toElevenLabsVoice) });

export const toElevenLabsVoice = ({ id, voice }: NamedVoice): Fields => ({
  voice_id: id,
  name: voice.name,
  category: 'premade',
  description: voice.description,
  labels: { ...voice.labels, language: languageOf(voice.languageCodes[0]!) },
  preview_url: null,
  available_for_tiers: [],
  settings: voiceSettings,
  samples: null,
  is_owner: false,
});

const pageSizeDefault = 10;
const pageNames = { size: 'page_size', text: 'search', after: 'next_page_token' };
export const voicePageQuery = Object.values(pageNames);

/** Those with the words of `search`; the token of a page is the last voice of the one before. */
export function toVoicePage(ready: readonly OfferedVoice[], query: Fields): Fields {
  const { page, total, hasMore, next } = pageOfVoices(ready, query, pageNames, pageSizeDefault);
  return { ...listOf(page), has_more: hasMore, total_count: total, next_page_token: next };
}

export function toModels(ready: readonly OfferedVoice[], textCharsMax: number): Fields[] {
  const codes = new Set(ready.flatMap(({ voice }) => voice.languageCodes.map(languageOf)));
  // Created here: the names take long to load, and few ask for them.
  const languageNames = new Intl.DisplayNames('en', { type: 'language' });
  const languages = [...codes].sort().map((code) => ({ language_id: code, name: languageNames.of(code) ?? code }));
  return modelIds.map((id) => ({
    model_id: id,
    name: id,
    description: 'Each voice has its own engine, whatever the model.',
    can_be_finetuned: false,
    can_do_text_to_speech: true,
    can_do_voice_conversion: false,
    can_use_style: false,
    can_use_speaker_boost: false,
    serves_pro_voices: false,
    token_cost_factor: 1,
    requires_alpha_access: false,
    max_characters_request_free_user: textCharsMax,
    max_characters_request_subscribed_user: textCharsMax,
    maximum_text_length_per_request: textCharsMax,
    languages,
  }));
}

const languageOf = (code: string) => code.split('-', 1)[0]!;
