// The fields of requests that create, clone or change a voice, and their checks, which report every fault at once. An
// omitted field keeps its value, or has its default in a new voice.
import type { Blend } from '../engines/engine.ts';
import type { FieldReason, FieldViolation } from '../errors.ts';
import { type VoiceAccess, voiceAccesses } from '../speech/stored-voices.ts';
import { countChars } from '../text/count-chars.ts';
import { toLanguageCode } from '../text/language-code.ts';

export interface VoiceFields {
  name?: string | undefined;
  description?: string | undefined;
  languageCodes?: readonly string[] | undefined;
  labels?: Readonly<Record<string, string>> | undefined;
  /** An empty `voiceId` means the clone that the engine has made. */
  bindings?: readonly { engine: string; voiceId: string }[] | undefined;
  /** In place of bindings: the voices of which it is blended. */
  blend?: Blend | undefined;
  enabled?: boolean | undefined;
  /** Default: `private`, or `everyone` for what an admin makes, if it is no clone and no blend, and what the operator makes. */
  access?: string | undefined;
  /** All of them; those left out are removed. */
  aliases?: readonly string[] | undefined;
  /** All of them, the first of which wins. */
  lexiconIds?: readonly string[] | undefined;
  /** Found by the API that read the fields, and reported with the others. */
  violations?: readonly FieldViolation[] | undefined;
}

export interface CloneFields {
  voiceId: string | undefined;
  name: string;
  description: string;
  labels: Readonly<Record<string, string>>;
  languageCode: string;
  reference: Uint8Array;
  referenceText: string;
  consent: Uint8Array;
  speakerName: string;
  /** Empty: the script of the engine. */
  consentScript: string;
  /** Empty: the first engine that can. */
  engines: readonly string[];
  /** Undefined: `private`. */
  access: string | undefined;
  /** As in `VoiceFields`. */
  violations?: readonly FieldViolation[] | undefined;
}

const nameCharsMax = 200;
const textCharsMax = 1_000;
const languagesMax = 100;
const labelsMax = 20;
const labelNameCharsMax = 50;
const labelCharsMax = 200;
export const bindingsMax = 8;
export const aliasesMax = 20;
/** What ids of other vendors are made of; no comma, which separates voices on the command line. */
export const aliasForm = /^[A-Za-z0-9][A-Za-z0-9._:+/()@-]{0,127}$/;

type Fault = (field: string, reason: FieldReason, message: string, allowed?: FieldViolation['allowed']) => void;

export const faultTo =
  (faults: FieldViolation[]): Fault =>
  (field, reason, message, allowed) =>
    void faults.push({ field, reason, message, ...(allowed && { allowed }) });

export function checkVoiceId(voiceId: string, fault: Fault): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(voiceId)) return;
  fault('voice_id', 'format', 'must be 1 to 128 letters, digits, ".", "_" and "-", a letter or digit first');
}

export function checkText(field: string, text: string, fault: Fault, charsMin = 0, charsMax = textCharsMax): void {
  const chars = countChars(text);
  if (/[\p{Cc}]/u.test(text) || !text.isWellFormed()) fault(field, 'encoding', 'must be text on one line');
  else if (chars > charsMax || text.trim().length < Math.min(charsMin, 1))
    fault(field, 'length', `must be ${charsMin} to ${charsMax} characters`);
}

export const checkName = (field: string, text: string, fault: Fault) => checkText(field, text, fault, 1, nameCharsMax);

export function checkLabels(labels: Readonly<Record<string, string>>, fault: Fault): void {
  const entries = Object.entries(labels);
  if (entries.length > labelsMax) {
    fault('labels', 'length', `must be at most ${labelsMax}`);
    return;
  }
  for (const [name, label] of entries) {
    checkText(`labels.${name}`, label, fault, 0, labelCharsMax);
    if (!/^[\x21-\x7e]+$/.test(name) || name.length > labelNameCharsMax)
      fault('labels', 'format', `a label’s name must be 1 to ${labelNameCharsMax} printable ASCII characters`);
  }
}

/** Returns the codes in canonical form. */
export function checkLanguages(codes: readonly string[], fault: Fault): string[] {
  if (codes.length < 1 || codes.length > languagesMax) {
    fault('language_codes', 'length', `must be 1 to ${languagesMax} BCP-47 language codes`);
    return [];
  }
  return [...new Set(codes.flatMap((code, i) => checkLanguage(`language_codes[${i}]`, code, fault) ?? []))];
}

export function checkLanguage(field: string, code: string, fault: Fault): string | undefined {
  const known = toLanguageCode(code);
  if (known === undefined) fault(field, 'format', 'must be a BCP-47 language code such as en-US');
  return known;
}

export function checkAccess(given: string | undefined, fault: Fault): VoiceAccess | undefined {
  const access = voiceAccesses.find((each) => each === given);
  if (given !== undefined && !access)
    fault('access', 'enum', `must be one of ${voiceAccesses.join(', ')}`, voiceAccesses);
  return access;
}

/** Of one voice, each once. */
function checkAliases(aliases: readonly string[], fault: Fault): void {
  if (aliases.length > aliasesMax) {
    fault('aliases', 'length', `must be at most ${aliasesMax}`);
    return;
  }
  for (const [i, alias] of aliases.entries()) {
    const message = 'must be 1 to 128 letters, digits and any of . _ - : + / ( ) @, a letter or digit first';
    if (!aliasForm.test(alias)) fault(`aliases[${i}]`, 'format', message);
    else if (aliases.indexOf(alias) < i) fault(`aliases[${i}]`, 'conflict', 'must be given once');
  }
}

/** Checks the fields that depend on nothing else. */
export function checkVoiceFields(
  { name, description, labels, access, aliases }: VoiceFields,
  fault: Fault,
): { access: VoiceAccess | undefined } {
  if (name !== undefined) checkName('name', name, fault);
  if (description !== undefined) checkText('description', description, fault);
  if (labels !== undefined) checkLabels(labels, fault);
  if (aliases !== undefined) checkAliases(aliases, fault);
  return { access: checkAccess(access, fault) };
}
