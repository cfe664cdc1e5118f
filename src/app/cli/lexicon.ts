// `sonant lexicon list|put|show|remove`: manages lexicons, which define how words are pronounced. A lexicon file is a
// PLS document or JSON: a list of entries, or an object with a name and entries.

import { basename, extname } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { LexiconEntrySchema, type LexiconSpec, LexiconSpecSchema } from '../../../gen/sonant/v1/lexicon_pb.ts';
import { VoiceAccess, VoiceAccessSchema } from '../../../gen/sonant/v1/voice_pb.ts';
import { operator } from '../../accounts.ts';
import { checkRules, enumNames, Reading, readMembers, type Violations, writeMessage } from '../../contract.ts';
import { checkLexicon, type StoredLexicon, writePls } from '../../library.ts';
import { Failure } from '../../platform/errors.ts';
import { toLanguageCode } from '../../platform/language-code.ts';
import { atOnce } from '../../platform/runtime/steps.ts';
import type { OfferedLexicon } from '../../speech.ts';
import { Lexicon, type LexiconEntry } from '../../text.ts';
import {
  type Command,
  CommandError,
  type CommandLine,
  type FlagsOf,
  findAction,
  flag,
  formatTable,
  jsonFlag,
  onlyArgument,
  option,
  parseCommandArgs,
  readInput,
  UsageError,
  withOpened,
} from './command.ts';

const options = {
  id: option('ID', 'id of the lexicon to replace'),
  name: option('NAME', 'default: the name or title in the file, or else the name of the file'),
  access: option('WHO', 'who may use it: private or everyone; default: private, or unchanged'),
  pls: flag('print a PLS document with the entries of --language, or with the entries without a language'),
  language: option('CODE', 'with --pls: a language, such as en-GB'),
  json: jsonFlag,
};

type Flags = FlagsOf<typeof options>;
type Action = (line: CommandLine, flags: Flags, rest: readonly string[]) => Promise<void>;

export const lexiconCommand: Command = {
  name: 'lexicon',
  summary: 'manage pronunciations: list, put, show and remove lexicons',
  examples: ['sonant lexicon put names.pls', 'sonant lexicon list --json'],
  options,
  get actions() {
    return Object.keys(actions);
  },
  usage: () => `Usage: sonant lexicon list [--json]
       sonant lexicon put FILE [--id ID] [--name NAME] [--access WHO] [--json]
       sonant lexicon show ID [--pls [--language CODE]]
       sonant lexicon remove ID [--json]

A lexicon defines how words are pronounced. list prints the lexicons. put creates a lexicon from a file, or replaces the
lexicon of --id; the file is a PLS document (Pronunciation Lexicon Specification of the W3C) or JSON as show prints it.
remove deletes a lexicon; voices that use it speak without it. "sonant say --lexicon ID" speaks with a lexicon.`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({ args: line.args, options, allowPositionals: true });
    const [act, rest] = findAction(actions, positionals, `sonant lexicon ${Object.keys(actions).join(', ')}`);
    await act(line, values, rest);
    return 0;
  },
};

const actions: Readonly<Record<string, Action>> = {
  async list(line, { json }, rest) {
    if (rest.length > 0) throw new UsageError('usage: sonant lexicon list [--json]');
    await withOpened(await line.openVoiceManagement(), async ({ lexicons }) => {
      const all = lexicons.list(operator);
      const rows = all.map(({ lexiconId, name, access, entryCount, updatedAt }) => {
        return [lexiconId, name, access, String(entryCount), updatedAt.toISOString()];
      });
      const heading = ['LEXICON', 'NAME', 'ACCESS', 'ENTRIES', 'CHANGED'];
      line.print(json ? JSON.stringify(all.map(toJson), null, 2) : formatTable([heading, ...rows]));
    });
  },
  async put(line, { id, name, access, json }, rest) {
    const path = onlyArgument(rest, 'sonant lexicon put FILE [--id ID] [--name NAME] [--access WHO]');
    const file = await readLexiconFile(path);
    await withOpened(await line.openVoiceManagement(), async ({ lexicons }) => {
      file.spec.name = name ?? file.spec.name;
      file.spec.access = access
        ? (enumNames(VoiceAccessSchema).toNumber(access) as VoiceAccess)
        : VoiceAccess.UNSPECIFIED;
      // The title of a document is known only once the document is parsed.
      if (id === undefined && file.spec.name === '' && !file.spec.pls.includes('<meta'))
        file.spec.name = basename(path, extname(path));
      const put = await withFileFaults(path, async () => {
        const checked = checkFile(file, id === undefined);
        return id === undefined ? lexicons.create(checked, operator) : lexicons.replace(id, checked, operator);
      });
      const { lexiconId, entryCount } = put;
      const words = `${lexiconId} (${put.name}) has ${entryCount} ${entryCount === 1 ? 'entry' : 'entries'}.`;
      line.print(json ? JSON.stringify(toJson(put), null, 2) : words);
    });
  },
  async show(line, { pls, language }, rest) {
    const lexiconId = onlyArgument(rest, 'sonant lexicon show ID [--pls [--language CODE]]');
    const languageCode = language === undefined ? undefined : toLanguageCode(language);
    if (language !== undefined && languageCode === undefined)
      throw new UsageError(`--language ${language}: must be a BCP-47 language code such as en-GB`);
    await withOpened(await line.openVoiceManagement(), async ({ lexicons }) => {
      const lexicon = lexicons.find(lexiconId, operator);
      const entries = lexicon.entries();
      const chosen = entries.filter((entry) => entry.languageCode === languageCode);
      const whole = () => JSON.stringify({ ...toJson(lexicon), entries: entries.map(toEntryJson) }, null, 2);
      line.print(pls ? writePls(lexicon.name, chosen, languageCode).trimEnd() : whole());
    });
  },
  async remove(line, { json }, rest) {
    const lexiconId = onlyArgument(rest, 'sonant lexicon remove ID');
    await withOpened(await line.openVoiceManagement(), async ({ lexicons }) => {
      await lexicons.remove(lexiconId, operator);
      const removed = { lexicon_id: lexiconId, deleted: true };
      line.print(json ? JSON.stringify(removed, null, 2) : `${lexiconId} is deleted.`);
    });
  },
};

const toEntryJson = (entry: LexiconEntry) => writeMessage(LexiconEntrySchema, entry);

const toJson = (lexicon: StoredLexicon) => ({
  lexicon_id: lexicon.lexiconId,
  name: lexicon.name,
  owner: lexicon.ownerId ?? null,
  access: lexicon.access,
  version: lexicon.version,
  entry_count: lexicon.entryCount,
  updated_at: lexicon.updatedAt.toISOString(),
});

interface LexiconFile {
  spec: LexiconSpec;
  /** Violations that were found while the file was read. */
  violations: Violations;
}

async function readLexiconFile(path: string): Promise<LexiconFile> {
  const text = (await readInput(path)).toString();
  const spec = create(LexiconSpecSchema);
  const reading = new Reading(false);
  if (/^\s*\ufeff?</.test(text)) spec.pls = text.replace(/^\ufeff/, '');
  else {
    try {
      const value: unknown = JSON.parse(text);
      const { name, entries } = Array.isArray(value) ? { entries: value } : (value as Record<string, unknown>);
      readMembers(spec, LexiconSpecSchema, { name, entries }, reading);
    } catch (error) {
      throw new UsageError(`${path} is neither a PLS document nor valid JSON: ${(error as Error).message}`);
    }
  }
  return { spec, violations: reading.violations };
}

function checkFile({ spec, violations }: LexiconFile, isNew = false) {
  checkRules(LexiconSpecSchema, spec, violations);
  const checked = atOnce(checkLexicon(spec, violations, { isNew }));
  violations.throwIfAny();
  return checked;
}

/** Runs `work` with the lexicon from a file. Errors in its entries are reported with the path. */
async function withFileFaults<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const details = error instanceof Failure ? error.facts.details : undefined;
    if (!details) throw error;
    const faults = details.map(({ field, message }) => (field === 'pls' ? message : `${field} ${message}`));
    throw new CommandError(`${path}: ${faults.join('\n  ')}`);
  }
}

/** Opens the lexicon in a file, for requests that name it by its path. */
export const openLexiconFile = (path: string): Promise<OfferedLexicon> =>
  withFileFaults(path, async () => {
    const { entries, version } = checkFile(await readLexiconFile(path));
    const compiled = atOnce(Lexicon.compile(JSON.parse(entries)));
    return { lexiconId: path, version, compile: async () => compiled };
  });
