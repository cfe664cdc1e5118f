// Filters a list of voices by language, engine or words. The lower-case search text of a voice is cached; the words of
// a query are converted to lower case once per query.

import { countChars } from '../platform/count-chars.ts';
import { Failure, type FieldViolation } from '../platform/errors.ts';
import { isSpokenBy, type OfferedVoice } from '../speech.ts';
import { toLanguageCode } from '../text.ts';
import { voiceFilterCharsMax } from './call-limits.ts';

interface VoiceFilter {
  /** Language in canonical BCP-47. An empty string in any field of the filter matches all voices. */
  languageCode: string;
  engine: string;
  /** Words to find in the id, aliases, name, description or labels of a voice. */
  text: string;
}

/**
 * Parses a filter into a predicate; an empty string matches all voices. `names` are the names of the fields in the API.
 * Violations are added to `violations`.
 */
export function parseVoiceFilter(
  { languageCode, engine, text }: VoiceFilter,
  names: { text: string; languageCode?: string },
  violations: FieldViolation[],
): (offered: OfferedVoice) => boolean {
  let tooLong: { limit: number; actual: number } | undefined;
  for (const [field, given] of Object.entries({ engine, [names.text]: text })) {
    const actual = countChars(given);
    if (actual <= voiceFilterCharsMax) continue;
    tooLong ??= { limit: voiceFilterCharsMax, actual };
    const message = `has ${actual} characters, over the limit of ${voiceFilterCharsMax}`;
    violations.push({ field, reason: 'too_long', message });
  }
  const code = languageCode === '' ? '' : toLanguageCode(languageCode);
  if (code === undefined) {
    const message = 'must be a BCP-47 language code such as en-US';
    violations.push({ field: names.languageCode ?? 'language_code', reason: 'format', message });
  }
  if (violations.length > 0) throw new Failure('invalid_request', { details: violations, ...tooLong });
  return toPredicate({ languageCode: code!, engine, text });
}

export function toPredicate({ languageCode, engine, text }: VoiceFilter): (offered: OfferedVoice) => boolean {
  const words = [...new Set(text.toLowerCase().split(/\s+/))].filter((word) => word !== '');
  return (offered) => {
    const { voice } = offered;
    if (languageCode !== '' && !isSpokenBy(voice, languageCode)) return false;
    if (engine !== '' && voice.engine !== engine) return false;
    if (words.length === 0) return true;
    const searched = searchTextOf(offered);
    const aliases = offered.aliases.join('\n').toLowerCase();
    return words.every((word) => searched.includes(word) || aliases.includes(word));
  };
}

/** Lower-case search texts, keyed by the object that describes a voice. A changed voice has a new object. */
const searchTexts = new WeakMap<object, string>();

function searchTextOf({ voice, kept }: OfferedVoice): string {
  const source = kept ?? voice;
  const known = searchTexts.get(source);
  if (known !== undefined) return known;
  const { voiceId, name, description, labels } = voice;
  const text = [voiceId, name, description, ...Object.values(labels)].join('\n').toLowerCase();
  searchTexts.set(source, text);
  return text;
}
