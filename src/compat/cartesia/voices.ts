// Voices as Cartesia's API shows them.
import { Failure } from '../../errors.ts';
import type { Fields } from '../../http/known-fields.ts';
import type { OfferedVoice } from '../../speech/voice.ts';
import { type NamedVoice, pageOfVoices } from '../named-voices.ts';

const names = { size: 'limit', text: 'q', languageCode: 'language', after: 'starting_after' };
export const voicesQuery = [...Object.values(names), 'gender', 'api_key'];
const pageSizeDefault = 100;
/** Their names of genders, by ours. */
const genders: Readonly<Record<string, string>> = { male: 'masculine', female: 'feminine', neutral: 'gender_neutral' };

export const toCartesiaVoice = ({ id, voice: { name, description, languageCodes, labels } }: NamedVoice) => ({
  id,
  name,
  description,
  tagline: '',
  gender: genderOf(labels),
  language: languageCodes[0]!.split('-', 1)[0]!,
  locales: languageCodes.filter((code) => code.includes('-')).map((locale, i) => ({ locale, is_native: i === 0 })),
  access: 'public',
  visibility: 'all',
  is_owner: false,
  created_at: '1970-01-01T00:00:00Z',
});

const genderOf = ({ gender = '' }: Readonly<Record<string, string>>) => genders[gender] ?? null;

export function toVoicePage(ready: readonly OfferedVoice[], query: Fields) {
  const { gender = '' } = query;
  const allowed = Object.values(genders);
  const message = `must be one of ${allowed.join(', ')}`;
  if (gender !== '' && !allowed.includes(String(gender)))
    throw new Failure('invalid_request', { details: [{ field: 'gender', reason: 'enum', message, allowed }] });
  const wanted = ready.filter(({ voice }) => gender === '' || genderOf(voice.labels) === gender);
  const { page, hasMore, next } = pageOfVoices(wanted, query, names, pageSizeDefault);
  return { data: page.map(toCartesiaVoice), has_more: hasMore, next_page: next };
}
