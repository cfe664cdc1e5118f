// `sonant voice default|alias`: chooses the default voice, and defines aliases for voices. Running services apply both
// changes without a restart.
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import { registry } from '../../engines.ts';
import { Failure } from '../../platform/errors.ts';
import { questionOf } from '../../platform/runtime/nearest-name.ts';
import type { OfferedVoice } from '../../speech.ts';
import type { OpenedVoiceManagement } from '../command-line.ts';
import { type CommandLine, formatTable, UsageError, withFlagNames, withOpened } from './command.ts';
import { callAsOperator } from './operator-call.ts';
import type { VoiceFlags } from './voice-flags.ts';

export async function chooseDefaultVoice(
  line: CommandLine,
  { remove = false, json = false }: VoiceFlags,
  rest: readonly string[],
): Promise<void> {
  const [wanted] = rest;
  if (rest.length > 1 || (remove && wanted !== undefined))
    throw new UsageError('usage: sonant voice default [VOICE] or sonant voice default --remove');
  await withOpened(await line.openVoiceManagement(registry), async (opened) => {
    const voice_id = wanted === undefined ? null : findVoice(opened, wanted).voice.voiceId;
    const isChange = voice_id !== null || remove;
    const chosen = await callDefault(opened, isChange ? { voice_id } : undefined);
    line.print(json ? JSON.stringify(chosen, null, 2) : explainDefault(opened, chosen));
  });
}

function findVoice({ voices }: OpenedVoiceManagement, name: string): OfferedVoice {
  const found = voices.lookUp(name);
  if (found) return found;
  const question = questionOf(voices.nearest(name));
  throw new Failure('voice_not_found', {
    message: `Voice ${name} not found;${question} sonant voice list prints all voices.`,
  });
}

/** Returns the default voice, after the change if there is one. */
async function callDefault({ callRpc }: OpenedVoiceManagement, change?: { voice_id: string | null }) {
  const { setDefaultVoice, getDefaultVoice } = VoiceService.method;
  const { json } = await callAsOperator(change ? setDefaultVoice : getDefaultVoice, callRpc, change ?? {});
  return json.default_voice;
}

/** Makes the voice the default voice. Returns a sentence that describes the result. */
export const makeDefault = async (opened: OpenedVoiceManagement, voice_id: string): Promise<string> =>
  explainDefault(opened, await callDefault(opened, { voice_id }));

const reasons = {
  setting: 'SONANT_DEFAULT_VOICE',
  choice: 'chosen',
  order: 'the first voice, because none is chosen',
} as const;

function explainDefault(
  { voices }: OpenedVoiceManagement,
  { voice_id: voiceId, source, chosen_voice_id: chosen }: Awaited<ReturnType<typeof callDefault>>,
): string {
  const { setting, chosenId: kept } = voices.findDefault();
  if (voiceId === null) return 'No voice can speak now.';
  if (source === 'setting' && kept !== undefined && kept !== voiceId)
    return `${voiceId} is the default voice: SONANT_DEFAULT_VOICE is ${setting} and overrides the chosen voice ${kept}.`;
  if (source !== 'choice' && kept !== undefined && kept !== voiceId)
    return `${voiceId} is the default voice, because the chosen voice ${kept} ${chosen === null ? 'does not exist' : 'cannot speak'}.`;
  return `${voiceId} is the default voice (${reasons[source as keyof typeof reasons]}).`;
}

export async function nameVoice(
  line: CommandLine,
  { remove = false, json = false }: VoiceFlags,
  rest: readonly string[],
): Promise<void> {
  const [asked, ...names] = rest;
  if (remove && names.length === 0) throw new UsageError('usage: sonant voice alias VOICE NAME... --remove');
  await withOpened(await line.openVoiceManagement(registry), async (opened) => {
    const { callRpc, voices } = opened;
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
        () => callAsOperator(VoiceService.method.updateVoice, callRpc, { voice_id: voice.voiceId, aliases }),
      );
    }
    const listed = asked === undefined ? voices.list() : [findVoice(opened, asked)];
    const rows = listed.map(({ voice, aliases }) => ({ voice_id: voice.voiceId, aliases }));
    if (json) return line.print(JSON.stringify(asked === undefined ? rows : rows[0], null, 2));
    const cells = rows.flatMap(({ voice_id, aliases }) => aliases.map((alias) => [alias, voice_id]));
    line.print(cells.length === 0 ? 'No aliases.' : formatTable([['ALIAS', 'VOICE'], ...cells]));
  });
}
