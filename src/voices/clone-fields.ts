// Checks the fields of a clone request and chooses the engines that make the clones. What can be wrong without
// decoding the recordings is reported at once.
import type { Cloning, Engine } from '../engines/engine.ts';
import type { FieldViolation } from '../errors.ts';
import { isSpokenBy } from '../speech/voice.ts';
import { type CloneFields, checkLanguage, faultTo } from './voice-fields.ts';

export type CloningEngine = Engine & { cloning: Cloning };

export interface CheckedClone {
  chosen: readonly CloningEngine[];
  /** In canonical form, with a region if an engine needs one. */
  languageCode: string;
  consentScript: string;
}

/** The script where neither the engine nor the caller gives one. */
const defaultScript = 'I am the owner of this voice, and I agree that it is cloned and spoken with here.';

export function checkClone(
  fields: CloneFields,
  engines: readonly CloningEngine[],
  faults: FieldViolation[],
): CheckedClone {
  const fault = faultTo(faults);
  const given = checkLanguage('language_code', fields.languageCode, fault) ?? '';
  const chosen = given === '' && engines.length > 0 ? [] : chooseEngines(fields, given, engines, faults);
  const languageCode = inRegion(given, chosen);
  const consentScript = scriptFor(fields, languageCode, chosen, faults);
  if (chosen.some(({ cloning }) => cloning.needsReferenceText) && fields.referenceText.trim() === '')
    fault('reference_text', 'required', 'the engine must be told what is said in reference_audio');
  if (fields.consent.length > 0 && Buffer.compare(fields.reference, fields.consent) === 0)
    fault('consent_audio', 'conflict', 'must be another recording than reference_audio');
  return { chosen, languageCode, consentScript };
}

function chooseEngines(
  { engines: names }: CloneFields,
  languageCode: string,
  engines: readonly CloningEngine[],
  faults: FieldViolation[],
): CloningEngine[] {
  const fault = faultTo(faults);
  if (engines.length === 0) {
    fault(
      'engines',
      'unsupported',
      'no engine that can clone a voice is set up here; GET /api/cloning lists those that are',
    );
    return [];
  }
  const speaks = ({ cloning }: CloningEngine) =>
    isSpokenBy({ languageCodes: cloning.sampleLanguageCodes }, languageCode);
  if (names.length === 0) {
    const first = engines.find(speaks);
    const spoken = [...new Set(engines.flatMap(({ cloning }) => cloning.sampleLanguageCodes))].join(', ');
    if (!first) fault('language_code', 'unsupported_language', `voices can be cloned in ${spoken}`);
    return first ? [first] : [];
  }
  const known = engines.map(({ name }) => name);
  return [...new Set(names)].flatMap((name) => {
    const found = engines.find((engine) => engine.name === name);
    if (!found) {
      fault('engines', 'enum', `must be one that can clone: ${known.join(', ')}`, known);
      return [];
    }
    const languages = found.cloning.sampleLanguageCodes.join(', ');
    if (!speaks(found)) fault('language_code', 'unsupported_language', `${name} clones in ${languages}`);
    return [found];
  });
}

/** For an engine that knows only regions, a bare language becomes the first of its regions. */
function inRegion(languageCode: string, chosen: readonly CloningEngine[]): string {
  const codes = chosen.flatMap(({ cloning: { sampleLanguageCodes } }) =>
    sampleLanguageCodes.includes(languageCode)
      ? []
      : (sampleLanguageCodes.find((code) => code.startsWith(`${languageCode}-`)) ?? []),
  );
  return codes[0] ?? languageCode;
}

/** The sentence that the person must say: the engine's if it verifies one. */
function scriptFor(
  { consentScript: given }: CloneFields,
  languageCode: string,
  chosen: readonly CloningEngine[],
  faults: FieldViolation[],
): string {
  const fault = faultTo(faults);
  const required = chosen.flatMap(({ cloning }) => scriptIn(cloning.consentScripts, languageCode) ?? []);
  const [first] = required;
  if (first !== undefined) {
    if (given !== '' && given !== first) fault('consent_script', 'enum', `must be: ${first}`, [first]);
    return first;
  }
  if (chosen.length === 0) return given;
  const isEnglish = isSpokenBy({ languageCodes: ['en'] }, languageCode);
  if (given === '' && !isEnglish) fault('consent_script', 'required', 'tell what is said in consent_audio');
  return given === '' ? defaultScript : given;
}

/** The script in this language and region, else in any region of the language. */
function scriptIn(scripts: Readonly<Record<string, string>>, languageCode: string): string | undefined {
  const wanted = languageCode.toLowerCase();
  const [language] = wanted.split('-');
  const entries = Object.entries(scripts).map(([code, script]) => [code.toLowerCase(), script] as const);
  const exact = entries.find(([code]) => code === wanted);
  return (exact ?? entries.find(([code]) => code.split('-')[0] === language))?.[1];
}
