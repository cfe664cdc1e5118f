// `sonant voice list|export|import|delete|revoke|record`: who can speak here, and what becomes of the voices that are kept.
import { readFile, writeFile } from 'node:fs/promises';
import type { OpenedVoiceManagement } from '../app/command-line.ts';
import { Failure } from '../errors.ts';
import { operator } from '../keys/actor.ts';
import { isSpokenBy, type OfferedVoice, type Voices } from '../speech/voice.ts';
import { exportVoice, importVoiceFile } from '../voices/voice-file.ts';
import { type Command, type CommandLine, formatTable, parseCommandArgs, UsageError } from './command.ts';
import { importVoice } from './voice-import.ts';

const options = {
  language: { type: 'string' },
  output: { type: 'string', short: 'o' },
  name: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const voiceCommand: Command = {
  name: 'voice',
  summary: 'list, import, export and end voices',
  options,
  get actions() {
    return Object.keys(actions);
  },
  help: () => `Usage: sonant voice list [--language CODE] [--json]
       sonant voice export ID [-o FILE]
       sonant voice import PATH [--name NAME] [--json]
       sonant voice delete ID [--json]
       sonant voice revoke ID [--json]
       sonant voice record [--json]

Lists the voices that can speak here, the default one first; writes a voice that is kept here into a file, and takes one
in; deletes one, or withdraws the consent of the person cloned; prints the record of all that was done, checked.
A clone in a file is encrypted with SONANT_MASTER_KEY, and can be taken in only where that is the same. Voices that an
engine speaks by are taken in too, checked and heard: a voice file, or a neural model as a folder or an archive (.tar,
.tar.gz, .tar.bz2).

  --language CODE  only voices that speak this language, such as en-GB
  -o, --output     where to write; default: standard output
  --name NAME      what an engine's voice is to be called; default: as its file or folder is
  --json           JSON, for programs
`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({ args: line.args, options, allowPositionals: true });
    const [action, ...rest] = positionals;
    const act = action !== undefined && Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (!act) throw new UsageError(`the command is sonant voice ${this.actions!.join(', ')}`);
    await act(line, values, rest);
    return 0;
  },
};

interface Flags {
  language?: string | undefined;
  output?: string | undefined;
  name?: string | undefined;
  json?: boolean | undefined;
}
type Action = (line: CommandLine, flags: Flags, rest: readonly string[]) => Promise<void>;

const actions: Readonly<Record<string, Action>> = {
  async list({ openApp, print }, { language, json }, rest) {
    if (rest.length > 0) throw new UsageError('the command is: sonant voice list [--language CODE] [--json]');
    const app = await openApp();
    try {
      const voices = app.voices.list().filter(({ voice }) => language === undefined || isSpokenBy(voice, language));
      print(
        json
          ? JSON.stringify(voices.map(toJson), null, 2)
          : formatTable([heading, ...voices.map(toRow)], { stateColumn: 2 }),
      );
    } finally {
      await app.close();
    }
  },
  export: (line, { output }, rest) =>
    inOffice(line, async ({ rows }) => {
      const file = await exportVoice(rows, only(rest, 'export ID'));
      if (output === undefined) line.print(file.trimEnd());
      else await writeFile(output, file, { mode: 0o600 });
    }),
  async import(line, { name, json }, rest) {
    const path = only(rest, 'import PATH');
    const { signal } = line;
    const print = json ? () => {} : line.print;
    const { dataDir } = line.loadConfig();
    let voiceIds = await importVoice({ path, dataDir, ...(name !== undefined && { name }), signal, print });
    if (!voiceIds)
      await inOffice(line, async ({ rows, vault }) => {
        voiceIds = [await importVoiceFile(await readFile(path, 'utf8'), rows, vault)];
        print(`${voiceIds} is kept here now.`);
      });
    if (json) line.print(JSON.stringify({ voice_ids: voiceIds }, null, 2));
  },
  delete: (line, { json }, rest) =>
    inOffice(line, async ({ desk, voices }) => {
      const voiceId = keptOf(voices, only(rest, 'delete ID'));
      await desk.remove(voiceId, operator);
      line.print(json ? JSON.stringify({ voice_id: voiceId, deleted: true }, null, 2) : `${voiceId} is deleted.`);
    }),
  revoke: (line, { json }, rest) =>
    inOffice(line, async ({ desk, voices }) => {
      const revoked = await desk.revokeConsent(keptOf(voices, only(rest, 'revoke ID')), operator);
      const { voiceId, name } = revoked.voice;
      const told = `${voiceId} (${name}) speaks no more, and what it was made of is destroyed.`;
      line.print(json ? JSON.stringify(toJson(revoked), null, 2) : told);
    }),
  record: (line, { json }) =>
    inOffice(line, async ({ rows }) => {
      const entries = await Array.fromAsync(rows.readRecord());
      if (json) return line.print(JSON.stringify(entries, null, 2));
      const told = entries.map(({ entry, atMs, actor, action, voiceId }) => [
        ...[String(entry), new Date(atMs).toISOString(), actor, action, voiceId],
      ]);
      line.print(formatTable([['ENTRY', 'TIME', 'BY', 'WHAT', 'VOICE'], ...told]));
    }),
};

async function inOffice(
  { openVoiceManagement }: CommandLine,
  work: (office: OpenedVoiceManagement) => Promise<void>,
): Promise<void> {
  const office = await openVoiceManagement();
  try {
    await work(office);
  } finally {
    await office.close();
  }
}

function only([one, ...rest]: readonly string[], usage: string): string {
  if (one === undefined || rest.length > 0) throw new UsageError(`the command is: sonant voice ${usage}`);
  return one;
}

function keptOf(voices: Voices, voiceId: string): string {
  if (voices.list().some(({ voice }) => voice.voiceId === voiceId)) return voiceId;
  throw new Failure('voice_not_found', { message: `No voice ${voiceId} is kept here.` });
}

const heading = ['VOICE', 'NAME', 'STATUS', 'LANGUAGES', 'ENGINE', 'DESCRIPTION'];
const toRow = ({ voice: { voiceId, name, languageCodes, engine, description }, status }: OfferedVoice) => [
  ...[voiceId, name, status, languageCodes.join(','), engine, description],
];

const toJson = ({
  voice: { voiceId, name, description, kind, engine, languageCodes, labels },
  status,
}: OfferedVoice) => ({
  voice_id: voiceId,
  ...{ name, description, kind, engine, status },
  language_codes: languageCodes,
  labels,
});
