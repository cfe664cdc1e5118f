// `sonant lexicon list|put|show|remove`: keeps lexicons, which state how words are said.
import { operator } from '../access/actor.ts';
import type { StoredLexicon } from '../lexicons/lexicon-cache.ts';
import { toEntryJson } from '../lexicons/lexicon-fields.ts';
import { voiceAccesses } from '../speech/stored-voices.ts';
import { toLanguageCode } from '../text/language-code.ts';
import { writePls } from '../text/pls.ts';
import {
  type Command,
  type CommandLine,
  type FlagsOf,
  findAction,
  formatTable,
  onlyArgument,
  parseCommandArgs,
  UsageError,
  withOpened,
} from './command.ts';
import { nameOfFile, readLexiconFile, withFileFaults } from './lexicon-file.ts';

const options = {
  id: { type: 'string' },
  name: { type: 'string' },
  access: { type: 'string' },
  pls: { type: 'boolean' },
  language: { type: 'string' },
  json: { type: 'boolean' },
} as const;

type Flags = FlagsOf<typeof options>;
type Action = (line: CommandLine, flags: Flags, rest: readonly string[]) => Promise<void>;

export const lexiconCommand: Command = {
  name: 'lexicon',
  summary: 'keep pronunciations: list, put, show and remove lexicons',
  options,
  get actions() {
    return Object.keys(actions);
  },
  choices: { access: voiceAccesses },
  help: () => `Usage: sonant lexicon list [--json]
       sonant lexicon put FILE [--id ID] [--name NAME] [--access WHO] [--json]
       sonant lexicon show ID [--pls [--language CODE]]
       sonant lexicon remove ID [--json]

A lexicon states how words are said. list prints the lexicons. put makes one of a file, or replaces that of --id: a document
in the Pronunciation Lexicon Specification of the W3C, or JSON, as show prints it. remove deletes a lexicon; voices that it
is bound to speak on without it. "sonant say --lexicon ID" speaks with one.

  --id ID          the lexicon to replace
  --name NAME      default: the name or title in the file, or else the name of the file
  --access WHO     who may use it: private or everyone; default: private, or as it is
  --pls            print a PLS document, with the entries of --language, or with those of no language
  --language CODE  with --pls: a language, such as en-GB
  --json           print JSON, for programs
`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({ args: line.args, options, allowPositionals: true });
    const [act, rest] = findAction(actions, positionals, `sonant lexicon ${Object.keys(actions).join(', ')}`);
    await act(line, values, rest);
    return 0;
  },
};

const actions: Readonly<Record<string, Action>> = {
  async list(line, { json }, rest) {
    if (rest.length > 0) throw new UsageError('the command is sonant lexicon list [--json]');
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
      const fields = { ...file, name: name ?? file.name, access };
      // The title of a document is known when it is read.
      const isNameless = fields.name === undefined && !('pls' in file.content && file.content.pls.includes('<meta'));
      const named = id === undefined && isNameless ? { ...fields, name: nameOfFile(path) } : fields;
      const put = await withFileFaults(path, () =>
        id === undefined ? lexicons.create(named, operator) : lexicons.replace(id, fields, operator),
      );
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

const toJson = (lexicon: StoredLexicon) => ({
  lexicon_id: lexicon.lexiconId,
  name: lexicon.name,
  owner: lexicon.ownerId ?? null,
  access: lexicon.access,
  version: lexicon.version,
  entry_count: lexicon.entryCount,
  updated_at: lexicon.updatedAt.toISOString(),
});
