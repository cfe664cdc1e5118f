// The fields of requests that make or replace a lexicon, and their checks, which report the faults of several entries at
// once. Entries come as JSON, under the names that are used in all APIs, or as a PLS document.
import { createHash } from 'node:crypto';
import { Failure, type FieldReason, type FieldViolation } from '../errors.ts';
import { didYouMean } from '../runtime/nearest-name.ts';
import type { Steps } from '../runtime/steps.ts';
import { type VoiceAccess, voiceAccesses } from '../speech/stored-voices.ts';
import { countChars } from '../text/count-chars.ts';
import { toLanguageCode } from '../text/language-code.ts';
import {
  findPhonemeFault,
  type LetterCase,
  type LexiconEntry,
  letterCases,
  type PhoneticAlphabet,
  phoneticAlphabets,
} from '../text/lexicon.ts';
import { MarkupFault } from '../text/marked-text.ts';
import { readPls } from '../text/pls.ts';
import {
  aliasCharsMax,
  entryFaultsMax,
  graphemeCharsMax,
  lexiconBytesMax,
  lexiconEntriesMax,
  lexiconNameCharsMax,
  phonemeCharsMax,
} from './lexicon-limits.ts';

export interface LexiconFields {
  /** Undefined: as it was, or as the document is titled. */
  name: string | undefined;
  access: string | undefined;
  content: { entries: unknown } | { pls: string; field: string };
  /** Found by the API that read the fields, and reported with the others. */
  violations?: readonly FieldViolation[];
}

export interface CheckedLexicon {
  name: string | undefined;
  access: VoiceAccess | undefined;
  /** JSON. */
  entries: string;
  entryCount: number;
  byteCount: number;
  version: string;
}

/** The members of an entry in JSON. */
const entryFields = ['grapheme', 'alias', 'phoneme', 'alphabet', 'language_code', 'case'];

/** In steps: there may be many entries. With `isNamed`, there must be a name, of the document if of nothing else. */
export function* checkLexicon(
  { name: given, access, content, violations = [] }: LexiconFields,
  { isNamed = false } = {},
): Steps<CheckedLexicon> {
  const faults: FieldViolation[] = [];
  const { title, entries, isUnread = false } = yield* readContent(content, faults);
  const name = given || title;
  const isNameTold = violations.some(({ field }) => field === 'name');
  if (isNamed && name === undefined && !isUnread && !isNameTold)
    faults.push({ field: 'name', reason: 'required', message: 'name the lexicon' });
  if (name !== undefined && (name.trim() === '' || countChars(name) > lexiconNameCharsMax || /\p{Cc}/u.test(name)))
    faults.push({
      field: 'name',
      reason: 'length',
      message: `must be 1 to ${lexiconNameCharsMax} characters on a line`,
    });
  const known = voiceAccesses.find((each) => each === access);
  if (access !== undefined && !known) {
    const message = `must be one of ${voiceAccesses.join(', ')}`;
    faults.push({ field: 'access', reason: 'enum', message, allowed: voiceAccesses });
  }
  const json = JSON.stringify(entries);
  const byteCount = Buffer.byteLength(json);
  if (byteCount > lexiconBytesMax) {
    const message = `have ${byteCount} bytes, over the limit of ${lexiconBytesMax}`;
    faults.push({ field: 'entries', reason: 'too_long', message });
  }
  const details = [...violations, ...faults];
  if (details.length > 0) throw new Failure('invalid_request', { details });
  const version = createHash('sha256').update(json).digest('base64url');
  return { name, access: known, entries: json, entryCount: entries.length, byteCount, version };
}

/** What could not be read may have a title. */
type Content = { title: string | undefined; entries: LexiconEntry[]; isUnread?: boolean };

function* readContent(content: LexiconFields['content'], faults: FieldViolation[]): Steps<Content> {
  if ('entries' in content) return { title: undefined, entries: yield* checkEntries(content.entries, faults) };
  try {
    const { name: title, entries } = yield* readPls(content.pls, lexiconEntriesMax);
    for (const [i, entry] of entries.entries()) {
      checkLengths(entry, `entries[${i}]`, faults);
      yield;
    }
    return { title, entries };
  } catch (error) {
    if (!(error instanceof MarkupFault)) throw error;
    faults.push({ field: content.field, reason: 'markup', message: error.message });
    return { title: undefined, entries: [], isUnread: true };
  }
}

function* checkEntries(given: unknown, faults: FieldViolation[]): Steps<LexiconEntry[]> {
  if (!Array.isArray(given)) {
    const isMissing = given === undefined || given === null;
    const message = isMissing ? 'give the entries, or a PLS document' : 'must be an array of entries';
    faults.push({ field: 'entries', reason: isMissing ? 'required' : 'type', message });
    return [];
  }
  if (given.length > lexiconEntriesMax) {
    const message = `has ${given.length} items, over the limit of ${lexiconEntriesMax}`;
    faults.push({ field: 'entries', reason: 'too_long', message });
    return [];
  }
  const entries: LexiconEntry[] = [];
  for (const [i, entry] of given.entries()) {
    const checked = checkEntry(entry, `entries[${i}]`, faults);
    if (checked) entries.push(checked);
    yield;
  }
  return entries;
}

function checkEntry(given: unknown, path: string, faults: FieldViolation[]): LexiconEntry | undefined {
  if (faults.length >= entryFaultsMax) return undefined;
  const before = faults.length;
  const fault = (member: string, reason: FieldReason, message: string, allowed?: readonly string[]) =>
    void faults.push({ field: `${path}${member && `.${member}`}`, reason, message, ...(allowed && { allowed }) });
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    fault('', 'type', 'must be an object with grapheme, and alias or phoneme');
    return undefined;
  }
  const fields = given as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(fields)) {
    if (!entryFields.includes(name))
      fault(name.slice(0, 40), 'unknown', `means nothing here${didYouMean(name, entryFields) || '; leave it out'}`);
  }
  const take = (name: string): string | undefined => {
    const value = fields[name] ?? undefined;
    if (value === undefined || (typeof value === 'string' && value.isWellFormed())) return value || undefined;
    fault(name, 'type', 'must be text');
    return undefined;
  };
  const choose = <Name extends string>(name: string, names: readonly Name[]): Name | undefined => {
    const value = take(name);
    const chosen = names.find((each) => each === value);
    if (value !== undefined && !chosen) fault(name, 'enum', `must be one of ${names.join(', ')}`, names);
    return chosen;
  };
  const [grapheme = '', alias, phoneme] = [take('grapheme'), take('alias'), take('phoneme')];
  const alphabet = choose<PhoneticAlphabet>('alphabet', phoneticAlphabets);
  const letterCase = choose<LetterCase>('case', letterCases);
  const language = take('language_code');
  const languageCode = language === undefined ? undefined : toLanguageCode(language);
  if (language !== undefined && languageCode === undefined)
    fault('language_code', 'format', 'must be a BCP-47 language code such as en-US');
  if ((fields.grapheme ?? undefined) === undefined) fault('grapheme', 'required', 'must be given');
  if (alias === undefined && phoneme === undefined) fault('', 'required', 'must have alias or phoneme');
  if (alias !== undefined && phoneme !== undefined) fault('phoneme', 'conflict', 'stands in place of alias; give one');
  const entry: LexiconEntry = {
    grapheme,
    ...(phoneme === undefined ? { alias: alias ?? '' } : { phoneme, ...(alphabet && { alphabet }) }),
    ...(languageCode !== undefined && { languageCode }),
    ...(letterCase && { case: letterCase }),
  };
  const told = new Set(faults.slice(before).map(({ field }) => field));
  const isMissing = alias === undefined && phoneme === undefined;
  checkLengths(entry, path, faults, (field) => told.has(field) || (isMissing && field === `${path}.alias`));
  return entry;
}

/** Members with a fault that was told have no other. */
function checkLengths(
  entry: LexiconEntry,
  path: string,
  faults: FieldViolation[],
  wasTold: (field: string) => boolean = () => false,
): void {
  const limits = { grapheme: graphemeCharsMax, alias: aliasCharsMax, phoneme: phonemeCharsMax };
  for (const [member, charsMax] of Object.entries(limits) as [keyof typeof limits, number][]) {
    const value = entry[member];
    const field = `${path}.${member}`;
    if (value === undefined || faults.length >= entryFaultsMax || wasTold(field)) continue;
    const fault = (reason: FieldReason, message: string) => void faults.push({ field, reason, message });
    if (value.trim() === '' || countChars(value) > charsMax) fault('length', `must be 1 to ${charsMax} characters`);
    else if (/\p{Cc}/u.test(value)) fault('encoding', 'must be text on one line');
    else if (member === 'phoneme' && !wasTold(`${path}.alphabet`)) {
      const ofPhoneme = findPhonemeFault(value, entry.alphabet ?? 'ipa');
      if (ofPhoneme !== undefined) fault('format', ofPhoneme);
    }
  }
}

/** Entries as JSON has them. */
export const toEntryJson = ({ languageCode, ...entry }: LexiconEntry) => ({
  ...entry,
  ...(languageCode !== undefined && { language_code: languageCode }),
});
