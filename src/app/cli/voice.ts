// `sonant voice`: lists voices, and blends, exports, imports, changes and deletes stored voices. `voice-models.ts` has
// the actions get, models and remove; `voice-names.ts` has default and alias.
import { readFile, writeFile } from 'node:fs/promises';
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import type { Fields } from '../../contract.ts';
import { registry } from '../../engines.ts';
import { breaksOf } from '../../library.ts';
import { Failure } from '../../platform/errors.ts';
import { isSpokenBy, toLanguageCode } from '../../platform/language-code.ts';
import { type OfferedVoice, type StoredVoice, speechFields, type Voices } from '../../speech.ts';
import {
  type Command,
  type CommandLine,
  cutText,
  findAction,
  formatTable,
  onlyArgument,
  parseCommandArgs,
  UsageError,
  withFlagNames,
  withOpened,
} from './command.ts';
import { callAsOperator } from './operator-call.ts';
import { type VoiceFlags, voiceOptions } from './voice-flags.ts';
import { getVoice, importVoice, printModels, removeVoiceModel } from './voice-models.ts';
import { chooseDefaultVoice, nameVoice } from './voice-names.ts';

export const voiceCommand: Command = {
  name: 'voice',
  summary: 'install natural voices; list, blend, import, export and delete voices',
  examples: [
    'sonant voice list --language fr',
    'sonant voice get kokoro --default',
    'sonant voice alias clara alloy nova',
  ],
  options: voiceOptions,
  get actions() {
    return Object.keys(actions);
  },
  usage: () => `Usage: sonant voice list [--language CODE] [--json]
       sonant voice get NAME|URL|FILE [FILE...] [--name NAME] [--default] [--yes] [--accept-licence] [--offline] [--json]
       sonant voice models [NAME] [--language CODE] [--json]
       sonant voice remove NAME [--json]
       sonant voice default [ID | --remove] [--json]
       sonant voice alias [ID [NAME...]] [--remove] [--json]
       sonant voice blend NAME PART:WEIGHT PART:WEIGHT... [--voice-id ID] [--json]
       sonant voice export ID [-o FILE]
       sonant voice import PATH [--name NAME] [--access WHO] [--json]
       sonant voice access ID private|everyone [--json]
       sonant voice delete ID [--json]
       sonant voice revoke ID [--json]
       sonant voice record [--json]

list     prints the available voices: those of the language of the locale first, and of them the default voice, then the
         others by engine. With --json, it prints everything about them, the default voice first.
get      installs a neural model by a name that models lists, from a URL or from a file. An interrupted download resumes.
         If the library that runs models is missing, get asks to accept its licence and installs it with npm.
models   prints the models that can be installed, with their licences, or everything about one model.
remove   removes a model.
default  prints or chooses the default voice, which is first in lists and speaks if a request names no voice.
         SONANT_DEFAULT_VOICE overrides it.
alias    prints, adds or removes other names of a voice, such as its id at another vendor. Requests may use an alias.
blend    creates a voice from two to eight voices of one Kokoro or Supertonic model, such as
         "sonant voice blend warm af_heart:0.6 af_bella:0.4". A part is an id or the end of an id. The weights are
         relative. The accent is that of the first part.
export   writes a stored voice to a file. A clone in it is encrypted with SONANT_MASTER_KEY.
import   adds an exported voice (needs the same SONANT_MASTER_KEY for a clone), a voice file of an engine, or a neural
         model as a folder or an archive (tar, gzip, bzip2 or zip), which is tested first.
access   sets who may speak with a stored voice: its owner, or every key.
delete   deletes a stored voice.
revoke   withdraws the consent of the cloned person and destroys the clone.
record   verifies and prints the audit log of voices.`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({
      args: line.args,
      options: voiceOptions,
      allowPositionals: true,
    });
    const [act, rest] = findAction(actions, positionals, `sonant voice ${Object.keys(actions).join(', ')}`);
    await act(line, values, rest);
    return 0;
  },
};

const { createVoice, updateVoice, deleteVoice, revokeVoiceConsent } = VoiceService.method;

type Action = (line: CommandLine, flags: VoiceFlags, rest: readonly string[]) => Promise<void>;

const actions: Readonly<Record<string, Action>> = {
  async list({ openApp, print }, { language, json }, rest) {
    if (rest.length > 0) throw new UsageError('usage: sonant voice list [--language CODE] [--json]');
    if (language !== undefined && toLanguageCode(language) === undefined)
      throw new UsageError(`--language ${language}: must be a BCP-47 language code such as en-GB`);
    await withOpened(await openApp(), async (app) => {
      const voices = app.voices.list().filter(({ voice }) => language === undefined || isSpokenBy(voice, language));
      print(json ? JSON.stringify(voices.map(toJson), null, 2) : toTable(voices));
    });
  },
  get: getVoice,
  models: printModels,
  remove: removeVoiceModel,
  default: chooseDefaultVoice,
  alias: nameVoice,
  async blend(line, { 'voice-id': voiceId, json }, rest) {
    const blended = await blendVoice(line, voiceId, rest);
    const parts = blended.blend?.map((part) => `${part.voiceId} ${part.weight}`).join(', ');
    line.print(json ? JSON.stringify(toJson(blended), null, 2) : `${blended.voice.voiceId} is a blend of ${parts}.`);
  },
  export: async (line, { output }, rest) =>
    withOpened(await line.openVoiceManagement(), async ({ exportVoice, voices }) => {
      const asked = onlyArgument(rest, 'sonant voice export ID');
      const file = await exportVoice(voices.lookUp(asked)?.voice.voiceId ?? asked);
      if (output === undefined) line.print(file.trimEnd());
      else await writeFile(output, file, { mode: 0o600 });
    }),
  async import(line, { name, access: given, json }, rest) {
    const path = onlyArgument(rest, 'sonant voice import PATH');
    const access = given === undefined ? undefined : toAccess(given);
    const { signal } = line;
    const print = json ? () => {} : line.print;
    const { dataDir } = line.loadConfig();
    const source = { path, dataDir, ...(name !== undefined && { name }), signal, print };
    // A voice that an engine imports cannot have an access setting, because every key may use such a voice.
    let voiceIds = access === undefined ? await importVoice(source) : undefined;
    if (!voiceIds)
      await withOpened(await line.openVoiceManagement(), async ({ importVoiceFile }) => {
        voiceIds = [await importVoiceFile(await readFile(path, 'utf8'), access)];
        print(`${voiceIds} was imported.`);
      });
    if (json) line.print(JSON.stringify({ voice_ids: voiceIds }, null, 2));
  },
  async access(line, { json }, rest) {
    if (rest.length !== 2) throw new UsageError('usage: sonant voice access ID private|everyone');
    const [asked, given] = rest as [string, string];
    const access = toAccess(given);
    const { found: changed } = await callAbout(line, asked, updateVoice, { access });
    const text = `${changed!.voice.voiceId} can be used by ${accessWords[access]}.`;
    line.print(json ? JSON.stringify(toJson(changed!), null, 2) : text);
  },
  async delete(line, { json }, rest) {
    const asked = onlyArgument(rest, 'sonant voice delete ID');
    const { voice_id } = await callAbout(line, asked, deleteVoice);
    line.print(json ? JSON.stringify({ voice_id, deleted: true }, null, 2) : `${voice_id} is deleted.`);
  },
  async revoke(line, { json }, rest) {
    const asked = onlyArgument(rest, 'sonant voice revoke ID');
    const { found: revoked } = await callAbout(line, asked, revokeVoiceConsent);
    const { voiceId, name } = revoked!.voice;
    const text = `${voiceId} (${name}) can no longer speak; its clones are destroyed.`;
    line.print(json ? JSON.stringify(toJson(revoked!), null, 2) : text);
  },
  async record(line, { json }, rest) {
    if (rest.length > 0) throw new UsageError('usage: sonant voice record [--json]');
    await withOpened(await line.openVoiceManagement(), async ({ readRecord }) => {
      const entries = await Array.fromAsync(readRecord());
      if (json) return line.print(JSON.stringify(entries, null, 2));
      const cells = entries.map(({ entry, atMs, actor, action, voiceId }) => [
        String(entry),
        new Date(atMs).toISOString(),
        actor,
        action,
        voiceId,
      ]);
      line.print(formatTable([['ENTRY', 'TIME', 'ACTOR', 'ACTION', 'VOICE'], ...cells]));
    });
  },
};

const accessWords: Readonly<Record<StoredVoice['access'], string>> = { private: 'its owner', everyone: 'every key' };

function toAccess(given: string) {
  const access = speechFields.voiceAccesses.find((each) => each === given);
  if (!access) throw new UsageError(`access must be one of ${speechFields.voiceAccesses.join(', ')}`);
  return access;
}

/** Calls an RPC about a voice. `found` is the voice as it is then; undefined if it is deleted. */
const callAbout = async (line: CommandLine, asked: string, method: DescMethodUnary, members: Fields = {}) =>
  withOpened(await line.openVoiceManagement(), async ({ callRpc, voices }) => {
    const voice_id = checkStored(voices, asked);
    await callAsOperator(method, callRpc, { voice_id, ...members });
    return { voice_id, found: voices.lookUp(voice_id) };
  });

/** Returns the id of the stored voice. */
function checkStored(voices: Voices, idOrAlias: string): string {
  const found = voices.lookUp(idOrAlias);
  if (found) return found.voice.voiceId;
  const meant = voices.nearest(idOrAlias);
  const question = meant === undefined ? '' : ` Did you mean ${meant}?`;
  throw new Failure('voice_not_found', { message: `No stored voice ${idOrAlias} exists.${question}` });
}

const lineCharsMax = 100;
const languageCharsMax = 20;

/** The columns of the table. A column is omitted if all voices have its usual value. */
const columns: readonly { title: string; usual?: string; cell(offered: OfferedVoice): string }[] = [
  { title: 'VOICE', cell: ({ voice }) => voice.voiceId },
  { title: 'STATUS', usual: 'ready', cell: ({ status }) => status },
  { title: 'ACCESS', usual: 'everyone', cell: ({ kept }) => kept?.access ?? 'everyone' },
  { title: 'LANGUAGES', cell: ({ voice }) => cutText(voice.languageCodes.join(','), languageCharsMax) },
  { title: 'ENGINE', cell: ({ voice }) => voice.engine },
  {
    title: 'DESCRIPTION',
    cell: ({ kept, voice: { name, description } }) => (kept || !description ? `${name} ${description}` : description),
  },
];

/** Formats the table of voices, by engine. Voices that speak the user's language come first. */
function toTable(voices: readonly OfferedVoice[]): string {
  const language = userLanguage();
  const engines = [...new Set(voices.map(({ voice }) => voice.engine))];
  const isOwn = ({ voice }: OfferedVoice) => language !== undefined && isSpokenBy(voice, language);
  const rank = (offered: OfferedVoice) => engines.indexOf(offered.voice.engine) - (isOwn(offered) ? engines.length : 0);
  const sorted = voices.toSorted((one, other) => rank(one) - rank(other));
  const shown = columns.filter(({ usual, cell }) => usual === undefined || voices.some((each) => cell(each) !== usual));
  const rows = sorted.map((offered) => shown.map(({ cell }) => cell(offered)));
  const stateColumn = shown.findIndex(({ title }) => title === 'STATUS');
  return formatTable([shown.map(({ title }) => title), ...rows], { stateColumn, charsMax: lineCharsMax });
}

/** The language of the locale: `de-AT` for `de_AT.UTF-8`; undefined for the locale `C`. */
function userLanguage(): string | undefined {
  const { LC_ALL, LC_MESSAGES, LANG = '' } = process.env;
  return toLanguageCode((LC_ALL || LC_MESSAGES || LANG).replace(/[.@].*/, '').replaceAll('_', '-'));
}

const toJson = (offered: OfferedVoice) => {
  const { voice, status, kept, aliases } = offered;
  const { voiceId, name, description, kind, engine, languageCodes, labels } = voice;
  return {
    voice_id: voiceId,
    aliases,
    name,
    description,
    kind,
    engine,
    status,
    language_codes: languageCodes,
    labels,
    owner: kept?.ownerId ?? null,
    access: kept?.access ?? 'everyone',
    blend: offered.blend?.map((part) => ({ voice_id: part.voiceId, weight: part.weight })) ?? null,
  };
};

const blendUsage = 'sonant voice blend NAME PART:WEIGHT PART:WEIGHT... [--voice-id ID] [--json]';

/** Creates a blend. Each PART is a voice id or the end of a voice id: "af_heart" means kokoro-af_heart. */
async function blendVoice(
  { openVoiceManagement }: CommandLine,
  voiceId: string | undefined,
  [name, ...given]: readonly string[],
): Promise<OfferedVoice> {
  if (name === undefined || given.length === 0) throw new UsageError(`usage: ${blendUsage}`);
  const parts = given.map(parsePart);
  // A name that is a valid id becomes the voice's id, so that the new voice can be used by its name.
  const id = voiceId ?? (isVoiceId(name) ? name : undefined);
  const flagOf = (field: string) => {
    const part = /^blend\[(\d+)\]/.exec(field)?.[1];
    if (part !== undefined) return given[Number(part)]!;
    return field === 'voice_id' ? (voiceId === undefined ? 'NAME' : '--voice-id') : field === 'name' ? 'NAME' : 'PART';
  };
  return withOpened(await openVoiceManagement(registry), ({ callRpc, voices }) => {
    const blend = parts.map(({ part, weight }) => ({ voice_id: findPart(part, voices), weight }));
    return withFlagNames(flagOf, async () => {
      const { json } = await callAsOperator(createVoice, callRpc, { voice_id: id, name, blend });
      return voices.find(json.voice.voice_id);
    });
  });
}

function parsePart(given: string): { part: string; weight: number } {
  const [, part, weight = ''] = /^(.+):([^:]*)$/.exec(given) ?? [];
  if (part === undefined || !/^\d*\.?\d+$/.test(weight))
    throw new UsageError(`${given}: must be a voice and its weight, such as af_heart:0.6`);
  return { part, weight: Number(weight) };
}

const isVoiceId = (name: string) => !breaksOf({ voiceId: name }).some(({ field }) => field === 'voice_id');

function findPart(part: string, voices: Voices): string {
  const ids = voices.list().flatMap(({ voice: { voiceId }, bindings: [bound] }) => {
    const group = bound?.engine.blending?.groupOf(bound.speaker.voiceId);
    return voiceId === part || (voiceId.endsWith(`-${part}`) && group !== undefined) ? voiceId : [];
  });
  if (ids.includes(part)) return part;
  if (ids.length > 1) throw new UsageError(`${part} is ambiguous: it can be ${ids.join(' or ')}`);
  if (ids.length === 1) return ids[0]!;
  throw new UsageError(`${part}: no such voice can be blended; "sonant voice list" prints all voices`);
}
