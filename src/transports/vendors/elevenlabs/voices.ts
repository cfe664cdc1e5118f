// Voices in ElevenLabs's format, and the filters and orders of GET /v2/voices.

import { type Fields, Violations } from '../../../contract.ts';
import { languageOf } from '../../../platform/language-code.ts';
import { type OfferedVoice, ownerOf } from '../../../speech.ts';
import { choose, type NamedVoice, pageOfVoices, toNamedVoices, type Viewer } from '../named-voices.ts';

/** ElevenLabs's defaults, of which only the speed has an effect here. */
export const voiceSettings = { stability: 0.5, similarity_boost: 0.75, style: 0, use_speaker_boost: true, speed: 1 };

export const toElevenLabsVoice = ({ id, voice, kept }: NamedVoice, { caller, previewUrl }: Viewer): Fields => ({
  voice_id: id,
  name: voice.name,
  category: voice.kind === 'cloned' ? 'cloned' : 'premade',
  description: voice.description,
  labels: labelsOf(voice),
  preview_url: previewUrl(id),
  available_for_tiers: [],
  settings: voiceSettings,
  samples: null,
  is_owner: ownerOf(kept, caller) === 'self',
  created_at_unix: kept ? createdSeconds({ kept }) : null,
});

export const toVoices = (ready: readonly OfferedVoice[], viewer: Viewer): Fields => ({
  voices: ready.flatMap(toNamedVoices).map((named) => toElevenLabsVoice(named, viewer)),
});

const labelsOf = ({ labels, languageCodes }: OfferedVoice['voice']): Readonly<Record<string, string>> => ({
  ...labels,
  language: languageOf(languageCodes[0]!),
});

const createdSeconds = ({ kept }: Pick<OfferedVoice, 'kept'>): number =>
  Math.floor((kept?.createdAt.getTime() ?? 0) / 1000);

const pageSizeDefault = 10;
const pageNames = { size: 'page_size', text: 'search', after: 'next_page_token' };

/** The owners of the voices of a type. Their community is a library that Sonant does not have. */
const voiceTypes: Readonly<Record<string, readonly ReturnType<typeof ownerOf>[]>> = {
  personal: ['self'],
  default: ['operator'],
  workspace: ['self', 'other'],
  saved: ['self', 'other'],
  community: [],
  'non-default': ['self', 'other'],
  'non-community': ['self', 'other'],
};
/** Sonant's kind of the voices of a category, if there is one. */
const categories = { premade: 'stock', cloned: 'cloned', generated: '', professional: '' };
/** Labels of voices by the parameters that filter by them. */
const labelNames = { gender: 'gender', age: 'age', language: 'language', accent: 'accent', use_cases: 'use_case' };
const orders: Readonly<Record<string, (one: OfferedVoice, other: OfferedVoice) => number>> = {
  name: (one, other) => one.voice.name.localeCompare(other.voice.name),
  created_at_unix: (one, other) => createdSeconds(one) - createdSeconds(other),
};
/** Filters by what no voice here has. */
const unmatched = ['collection_id', 'fine_tuning_state', 'min_notice_period_days'];
export const voicePageQuery = [...Object.values(pageNames), ...Object.keys(labelNames), ...unmatched].concat(
  'voice_type category sort sort_direction voice_ids high_quality'.split(' '),
  'include_total_count include_custom_rates include_live_moderated'.split(' '),
);

/** Voices that match `search` and the filters. The page token is the last voice of the previous page. */
export function toVoicePage(ready: readonly OfferedVoice[], query: Fields, viewer: Viewer): Fields {
  const violations = new Violations();
  const owners = choose(query, 'voice_type', voiceTypes, violations);
  const kind = choose<string>(query, 'category', categories, violations);
  const order = choose(query, 'sort', orders, violations);
  const sign = choose(query, 'sort_direction', { asc: 1, desc: -1 }, violations) ?? 1;
  violations.throwIfAny();
  const isWanted = ({ voice, kept }: OfferedVoice) =>
    !unmatched.some((name) => query[name]) &&
    query.high_quality !== 'true' &&
    Object.entries(labelNames).every(([field, label]) => {
      const wanted: unknown[] = [query[field] ?? []].flat();
      return wanted.length === 0 || wanted.includes(labelsOf(voice)[label]);
    }) &&
    (owners?.includes(ownerOf(kept, viewer.caller)) ?? true) &&
    (kind === undefined || kind === voice.kind);
  const found = ready.filter(isWanted);
  if (order) found.sort((one, other) => sign * order(one, other));
  const ids = [query.voice_ids ?? []].flat();
  const { page, total, hasMore, next } = pageOfVoices(found, query, pageNames, pageSizeDefault, ids);
  const voices = page.map((named) => toElevenLabsVoice(named, viewer));
  return { voices, has_more: hasMore, total_count: total, next_page_token: next };
}
