// The voices of eSpeak NG, from the table that `espeak-ng --voices` prints. Each language has one voice, the first in
// the table. Malformed rows, voices that need MBROLA, and languages without a BCP-47 tag ("piqd") are skipped.
//     Pty Language       Age/Gender VoiceName          File                 Other Languages
//      5  fr-be           --/M      French_(Belgium)   roa/fr-BE            (fr 8)
import type { Voice } from '../engine.ts';

const usualGainDb = 1;
const gains: readonly (readonly [codes: string, gainDb: number])[] = [
  ['mi', -9],
  ['haw', -4],
  ['gn mt tk tn', -0.5],
  ['bn cmn-latn-pinyin om sl vi-vn-x-south', 0],
  ['az en-gb-x-gbclan fa fa-latn ga gu ja ko ku pa si th ur uz vi yue', 0.5],
  ['af am be bs cs cy en-gb en-us-nyc et hr id io is kk la pt pt-br qu sv ta', 1.5],
  ['ar ca de el en-us es-419 eu hu ia kl nl pap pl ru sk uk', 2],
  ['bg eo es nb ro tt', 2.5],
  ['cmn fr-be fr-ch fr-fr it ru-lv', 3],
  ['chr-us-qaaa-x-west he', 7],
];

const byCode: ReadonlyMap<string, number> = new Map(
  gains.flatMap(([codes, gainDb]) => codes.split(' ').map((code) => [code, gainDb] as const)),
);

/** Gain in decibels. A voice that is not in the table gets the usual gain. */
const espeakGainDb = (code: string): number => byCode.get(code.toLowerCase()) ?? usualGainDb;

/** A voice before the library's version is added to it. */
interface EspeakVoice extends Omit<Voice, 'version'> {
  /** Identifies the voice to eSpeak NG. The language cannot identify it, since some languages have two voices. */
  file: string;
}

const voicesMax = 1_000;

/** Created on first use, because the names take long to load. */
let languageNames: Intl.DisplayNames | undefined;
const englishNameOf = (languageCode: string): string | undefined => {
  const options = { type: 'language', languageDisplay: 'standard', fallback: 'none' } as const;
  languageNames ??= new Intl.DisplayNames('en', options);
  return languageNames.of(languageCode);
};

function toCanonical(languageCode: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(languageCode)[0];
  } catch {
    return undefined;
  }
}

/** The BCP-47 tag for an eSpeak NG language code. Invalid subtags become private: en-US-x-nyc. */
function toLanguageTag(code: string): string | undefined {
  const subtags = code.split('-');
  for (let length = subtags.length; length > 0; length--) {
    const rest = subtags.slice(length).filter((subtag) => subtag !== 'x');
    const languageCode = toCanonical([...subtags.slice(0, length), ...(rest.length ? ['x', ...rest] : [])].join('-'));
    if (languageCode) return languageCode;
  }
  return undefined;
}

/** "French (Belgium)" if English has a name for the language, else eSpeak NG's own name: "English (Lancaster)". */
function nameOf(languageCode: string, ownName: string): string {
  const named = languageCode.includes('-x-') ? undefined : englishNameOf(languageCode);
  return named ?? ownName.replaceAll('_', ' ').trim();
}

function parseRow(row: string): EspeakVoice | undefined {
  const [priority, code, ageAndGender, ownName, file] = row.trim().split(/\s+/);
  if (!ownName || !file || !ageAndGender || !/^\d+$/.test(priority!)) return undefined;
  if (!/^[a-zA-Z0-9-]{2,40}$/.test(code!) || !/^\w[\w+-]*(\/\w[\w+-]*)*$/.test(file) || file.startsWith('mb/')) {
    return undefined;
  }
  const languageCode = toLanguageTag(code!);
  if (!languageCode) return undefined;
  const others = [...row.matchAll(/\(([\w-]+) \d+\)/g)].flatMap(([, other]) => toCanonical(other!) ?? []);
  const name = nameOf(languageCode, ownName);
  return {
    voiceId: `espeak-${code!.toLowerCase()}`,
    name: `${name} (eSpeak NG)`,
    description: 'Small, fast and clearly synthetic.',
    kind: 'stock',
    engine: 'espeak-ng',
    languageCodes: [...new Set([languageCode, new Intl.Locale(languageCode).language, ...others])],
    labels: { gender: ageAndGender.endsWith('F') ? 'female' : 'male' },
    gainDb: espeakGainDb(code!),
    file,
  };
}

/** The voices in the table, each id once; empty if the text is not a voice table. */
export function parseEspeakVoices(table: string): EspeakVoice[] {
  const voices = new Map<string, EspeakVoice>();
  for (const row of table.split('\n')) {
    const voice = parseRow(row);
    if (voice && !voices.has(voice.voiceId) && voices.size < voicesMax) voices.set(voice.voiceId, voice);
  }
  return [...voices.values()];
}
