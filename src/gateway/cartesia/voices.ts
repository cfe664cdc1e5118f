// Voices as Cartesia's API shows them. Its clients ask for the next page by the id that a page ends with, or for the page
// before by the id that it begins with.
import type { FieldViolation } from '../../errors.ts';
import { parseVoiceFilter, toPredicate } from '../../operations/voice-filter.ts';
import type { OfferedVoice } from '../../speech/voice.ts';
import type { Fields } from '../http/known-fields.ts';
import { type NamedVoice, pageOfVoices, toNamedVoices } from '../http/named-voices.ts';
import { takeText } from '../http/page-query.ts';

/** Their names of genders, by ours. */
const genders: Readonly<Record<string, string>> = { male: 'masculine', female: 'feminine', neutral: 'gender_neutral' };
const pageSizeDefault = 100;
export const voicesQuery = ['limit', 'starting_after', 'ending_before', 'q', 'gender', 'language', 'api_key'];

export const toCartesiaVoice = ({ id, voice: { name, description, languageCodes, labels } }: NamedVoice) => ({
  id,
  name,
  tagline: '',
  description,
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
  const violations: FieldViolation[] = [];
  const [text, gender, languageCode] = ['q', 'gender', 'language'].map((name) => takeText(query, name, violations));
  const allowed = Object.values(genders);
  if (gender !== '' && !allowed.includes(gender!))
    violations.push({ field: 'gender', reason: 'enum', message: `must be one of ${allowed.join(', ')}`, allowed });
  const filter = { languageCode: languageCode!, engine: '', text: text! };
  const isFound = toPredicate(parseVoiceFilter(filter, { text: 'q', languageCode: 'language' }, violations));
  const isWanted = (offered: OfferedVoice) =>
    isFound(offered) && (gender === '' || genderOf(offered.voice.labels) === gender);
  const { page, hasMore, next } = pageOfVoices(ready.filter(isWanted).flatMap(toNamedVoices), {
    size: ['limit', query.limit],
    sizeDefault: pageSizeDefault,
    after: ['starting_after', query.starting_after],
    before: ['ending_before', query.ending_before],
  });
  return { data: page.map(toCartesiaVoice), has_more: hasMore, next_page: next };
}
