// Checks lexicon fields beyond the contract's rules. Entries arrive as messages or as a PLS document, and both forms
// follow the same rules.
import { createHash } from 'node:crypto';
import type { Message } from '@bufbuild/protobuf';
import {
  type LexiconEntry as EntryMessage,
  LexiconEntrySchema,
  type LexiconSpec,
} from '../../../gen/sonant/v1/lexicon_pb.ts';
import { VoiceAccess } from '../../../gen/sonant/v1/voice_pb.ts';
import { checkRules, Violations } from '../../contract.ts';
import { findPhonemeFault } from '../../platform/ipa.ts';
import { toLanguageCode } from '../../platform/language-code.ts';
import type { Steps } from '../../platform/runtime/steps.ts';
import { type LexiconEntry, MarkupFault } from '../../text.ts';
import type { LexiconRow } from './lexicon-rows.ts';
import { readPls } from './pls.ts';

export interface CheckedLexicon {
  /** New name; undefined leaves the name unchanged. */
  name: string | undefined;
  access: LexiconRow['access'] | undefined;
  /** The entries as JSON. */
  entries: string;
  entryCount: number;
  byteCount: number;
  version: string;
}

/**
 * Checks the fields in steps, because there may be many entries. A new lexicon needs a name, from the request or from
 * the document.
 */
export function* checkLexicon(
  spec: LexiconSpec,
  violations: Violations,
  { isNew, isEmptied }: { isNew?: boolean; isEmptied?: boolean } = {},
): Steps<CheckedLexicon> {
  const { title, entries } =
    spec.pls === '' ? yield* readEntries(spec, violations, isEmptied) : yield* readDocument(spec, violations);
  const name = spec.name || title;
  if (isNew && name === undefined && !violations.has('pls')) violations.report('name', 'required', 'is required');
  if (name !== undefined && (name.trim() === '' || /\p{Cc}/u.test(name)))
    violations.report('name', 'length', `must be 1 to ${lexiconNameCharsMax} characters on one line`);
  const json = JSON.stringify(entries);
  const byteCount = Buffer.byteLength(json);
  if (byteCount > lexiconBytesMax)
    violations.report('entries', 'too_long', `have ${byteCount} bytes, over the limit of ${lexiconBytesMax}`);
  const version = createHash('sha256').update(json).digest('base64url');
  return { name, access: accessOf(spec), entries: json, entryCount: entries.length, byteCount, version };
}

function accessOf({ access }: LexiconSpec): CheckedLexicon['access'] {
  if (access === VoiceAccess.UNSPECIFIED) return undefined;
  return access === VoiceAccess.EVERYONE ? 'everyone' : 'private';
}

interface Content {
  title: string | undefined;
  entries: LexiconEntry[];
}

function* readEntries(
  { entries: given }: LexiconSpec,
  violations: Violations,
  isEmptied: boolean | undefined,
): Steps<Content> {
  // A message without entries must not delete the existing ones.
  if (given.length === 0 && !isEmptied)
    violations.report('entries', 'required', 'are required unless a PLS document is sent');
  const entries: LexiconEntry[] = [];
  // Entries beyond the limit are only counted.
  for (const [i, entry] of given.slice(0, lexiconEntriesMax).entries()) {
    entries.push(toEntry(entry));
    checkEntry(entry, `entries[${i}]`, violations);
    yield;
  }
  return { title: undefined, entries };
}

function* readDocument({ pls, entries: given }: LexiconSpec, violations: Violations): Steps<Content> {
  if (given.length > 0)
    violations.report('entries', 'conflict', 'cannot be combined with a PLS document; send one of the two');
  try {
    const { name: title, entries } = yield* readPls(pls, lexiconEntriesMax);
    for (const [i, entry] of entries.entries()) {
      const own = new Violations();
      checkRules(LexiconEntrySchema, entry as unknown as Message, own);
      violations.add(own.details.map((each) => ({ ...each, field: `entries[${i}].${each.field}` })));
      yield;
    }
    if (title !== undefined && [...title].length > lexiconNameCharsMax)
      violations.report('name', 'length', `must be 1 to ${lexiconNameCharsMax} characters on one line`);
    return { title, entries };
  } catch (error) {
    if (!(error instanceof MarkupFault)) throw error;
    violations.report('pls', 'markup', error.message);
    return { title: undefined, entries: [] };
  }
}

const toEntry = ({
  grapheme,
  alias,
  phoneme,
  alphabet,
  languageCode,
  case: letterCase,
}: EntryMessage): LexiconEntry => ({
  grapheme,
  ...(phoneme === '' ? { alias } : { phoneme, ...(alphabet !== '' && { alphabet }) }),
  ...(languageCode !== '' && { languageCode: toLanguageCode(languageCode) ?? languageCode }),
  ...(letterCase !== '' && { case: letterCase as NonNullable<LexiconEntry['case']> }),
});

function checkEntry(entry: EntryMessage, path: string, violations: Violations): void {
  const { alias, phoneme, languageCode } = entry;
  if (alias === '' && phoneme === '') violations.report(`${path}.alias`, 'required', 'must have alias or phoneme');
  if (alias !== '' && phoneme !== '')
    violations.report(`${path}.phoneme`, 'conflict', 'cannot be combined with alias; send one of the two');
  if (languageCode !== '' && toLanguageCode(languageCode) === undefined)
    violations.report(`${path}.language_code`, 'format', 'must be a BCP-47 language code such as en-US');
  if (phoneme === '' || violations.has(`${path}.phoneme`) || violations.has(`${path}.alphabet`)) return;
  const fault = findPhonemeFault(phoneme);
  if (fault !== undefined) violations.report(`${path}.phoneme`, 'format', fault);
}

/** Limits on one lexicon. */
const lexiconEntriesMax = 20_000;
const lexiconBytesMax = 2 << 20;
const lexiconNameCharsMax = 200;
/** Limits on the lexicons of one account, and on the lexicons of all accounts together. */
export const accountLexiconBytesMax = 16 << 20;
export const allLexiconBytesMax = 256 << 20;
/** Maximum number of entries in compiled lexicons. Evicted lexicons are compiled again when they are used. */
export const compiledEntriesMax = 400_000;
