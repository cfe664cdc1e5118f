// `sonant voice blend`: makes a voice of several voices of one model. A part is named by its id, or by what its id ends with:
// "af_heart" is kokoro-af_heart.
import { operator } from '../access/actor.ts';
import { registry } from '../engines/registry.ts';
import type { OfferedVoice, Voices } from '../speech/voice.ts';
import { checkVoiceId } from '../voices/voice-fields.ts';
import { type CommandLine, UsageError, withFlagNames, withOpened } from './command.ts';

const usage = 'sonant voice blend NAME PART:WEIGHT PART:WEIGHT... [--voice-id ID] [--json]';

export async function blendVoice(
  { openVoiceManagement }: CommandLine,
  voiceId: string | undefined,
  [name, ...given]: readonly string[],
): Promise<OfferedVoice> {
  if (name === undefined || given.length === 0) throw new UsageError(`the command is ${usage}`);
  const parts = given.map(parsePart);
  // A name that can be an id is the id, so that what was just named can be spoken with.
  const id = voiceId ?? (isVoiceId(name) ? name : undefined);
  const flagOf = (field: string) => {
    const part = /^blend\[(\d+)\]/.exec(field)?.[1];
    if (part !== undefined) return given[Number(part)]!;
    return field === 'voice_id' ? (voiceId === undefined ? 'NAME' : '--voice-id') : field === 'name' ? 'NAME' : 'PART';
  };
  return withOpened(await openVoiceManagement(registry), ({ management, voices }) => {
    const blend = parts.map(({ part, weight }) => ({ voiceId: findPart(part, voices), weight }));
    return withFlagNames(flagOf, () => management.create(id, { name, blend }, operator));
  });
}

function parsePart(given: string): { part: string; weight: number } {
  const [, part, weight = ''] = /^(.+):([^:]*)$/.exec(given) ?? [];
  if (part === undefined || !/^\d*\.?\d+$/.test(weight))
    throw new UsageError(`${given}: must be a voice and its weight, such as af_heart:0.6`);
  return { part, weight: Number(weight) };
}

function isVoiceId(name: string): boolean {
  let isId = true;
  checkVoiceId(name, () => {
    isId = false;
  });
  return isId;
}

function findPart(part: string, voices: Voices): string {
  const ids = voices.list().flatMap(({ voice: { voiceId }, bindings: [bound] }) => {
    const group = bound?.engine.blending?.groupOf(bound.speaker.voiceId);
    return voiceId === part || (voiceId.endsWith(`-${part}`) && group !== undefined) ? voiceId : [];
  });
  if (ids.includes(part)) return part;
  if (ids.length > 1) throw new UsageError(`${part}: is ${ids.join(' or ')}; name one of them`);
  if (ids.length === 1) return ids[0]!;
  throw new UsageError(`${part}: there is no such voice that can be blended; "sonant voice list" prints all voices`);
}
