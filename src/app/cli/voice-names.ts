// `sonant voice default|alias`: chooses the default voice, and defines aliases for voices. Running services apply both
// changes without a restart.
import { operator } from '../../accounts.ts';
import { registry } from '../../engines.ts';
import { breaksOf } from '../../library.ts';
import { Failure } from '../../platform/errors.ts';
import { questionOf } from '../../platform/runtime/nearest-name.ts';
import { findDefault, nearestVoice, type OfferedVoice } from '../../speech.ts';
import type { OpenedVoiceManagement } from '../command-line.ts';
import { type CommandLine, formatTable, UsageError, withFlagNames, withOpened } from './command.ts';

interface NameFlags {
  remove?: boolean | undefined;
  json?: boolean | undefined;
}

export async function chooseDefaultVoice(
  line: CommandLine,
  { remove = false, json = false }: NameFlags,
  rest: readonly string[],
): Promise<void> {
  const [wanted] = rest;
  if (rest.length > 1 || (remove && wanted !== undefined))
    throw new UsageError('usage: sonant voice default [VOICE] or sonant voice default --remove');
  await withOpened(await line.openVoiceManagement(registry), async (opened) => {
    const chosen = wanted === undefined ? undefined : findVoice(opened, wanted).voice.voiceId;
    if (chosen !== undefined || remove) await opened.management.chooseDefault(chosen, operator);
    line.print(json ? JSON.stringify(describeDefault(opened), null, 2) : explainDefault(opened));
  });
}

function findVoice({ voices }: OpenedVoiceManagement, name: string): OfferedVoice {
  const found = voices.lookUp(name);
  if (found) return found;
  const question = questionOf(nearestVoice(name, voices.list()));
  throw new Failure('voice_not_found', {
    message: `Voice ${name} not found;${question} sonant voice list prints all voices.`,
  });
}

/** Makes the voice the default voice. Returns a sentence that describes the result. */
export async function makeDefault(opened: OpenedVoiceManagement, voiceId: string): Promise<string> {
  await opened.management.chooseDefault(voiceId, operator);
  return explainDefault(opened);
}

function describeDefault({ voices }: OpenedVoiceManagement) {
  const { offered, source, chosen } = findDefault(voices);
  return { voice_id: offered?.voice.voiceId ?? null, source, chosen_voice_id: chosen?.voice.voiceId ?? null };
}

const reasons = {
  setting: 'SONANT_DEFAULT_VOICE',
  choice: 'chosen',
  order: 'the first voice, because none is chosen',
} as const;

function explainDefault(opened: OpenedVoiceManagement): string {
  const { voice_id: voiceId, source, chosen_voice_id: chosen } = describeDefault(opened);
  const { setting, chosen: kept } = opened.voices.preferences();
  if (voiceId === null) return 'No voice can speak now.';
  if (source === 'setting' && kept !== undefined && kept !== voiceId)
    return `${voiceId} is the default voice: SONANT_DEFAULT_VOICE is ${setting} and overrides the chosen voice ${kept}.`;
  if (source !== 'choice' && kept !== undefined && kept !== voiceId)
    return `${voiceId} is the default voice, because the chosen voice ${kept} ${chosen === null ? 'does not exist' : 'cannot speak'}.`;
  return `${voiceId} is the default voice (${reasons[source]}).`;
}

export async function nameVoice(
  line: CommandLine,
  { remove = false, json = false }: NameFlags,
  rest: readonly string[],
): Promise<void> {
  const [asked, ...names] = rest;
  if (remove && names.length === 0) throw new UsageError('usage: sonant voice alias VOICE NAME... --remove');
  await withOpened(await line.openVoiceManagement(registry), async (opened) => {
    const { management, voices } = opened;
    if (names.length > 0) {
      const { voice, aliases: before } = findVoice(opened, asked!);
      const kept = before.filter((alias) => !names.includes(alias));
      const missing = names.filter((name) => !before.includes(name));
      if (remove && missing.length > 0)
        throw new UsageError(
          `${voice.voiceId} has no alias ${missing.join(', ')}; it has ${before.join(', ') || 'none'}`,
        );
      const aliases = remove ? kept : [...before, ...missing];
      await withFlagNames(
        (field) => aliases[Number(/\d+/.exec(field)?.[0])] ?? field,
        async () => {
          const details = breaksOf({ aliases });
          if (details.length > 0) throw new Failure('invalid_request', { details });
          return management.update(voice.voiceId, { aliases }, operator);
        },
      );
    }
    const listed = asked === undefined ? voices.list() : [findVoice(opened, asked)];
    const rows = listed.map(({ voice, aliases }) => ({ voice_id: voice.voiceId, aliases }));
    if (json) return line.print(JSON.stringify(asked === undefined ? rows : rows[0], null, 2));
    const cells = rows.flatMap(({ voice_id, aliases }) => aliases.map((alias) => [alias, voice_id]));
    line.print(cells.length === 0 ? 'No aliases.' : formatTable([['ALIAS', 'VOICE'], ...cells]));
  });
}
