// The question that follows where a voice is not found: whether one of the voices that the caller may use was meant, by a
// misspelt id, alias or name, or by a name in place of its id.
import { Failure } from '../errors.ts';
import { nearestName } from '../runtime/nearest-name.ts';

interface Named {
  voice: { voiceId: string; name: string };
  aliases: readonly string[];
}

/** What is to be written in place of the name; undefined where no voice is near. */
export function nearestVoice(given: string, usable: readonly Named[]): string | undefined {
  const ids = new Map<string, string>();
  const add = (name: string, voiceId: string) => void (ids.has(name) || ids.set(name, voiceId));
  for (const { voice, aliases } of usable) for (const name of [voice.voiceId, ...aliases]) add(name, name);
  for (const { voice } of usable) add(voice.name, voice.voiceId);
  const names = [...ids.keys()];
  // Of very many, not all are compared letter by letter.
  const nearest = names.find((name) => name.toLowerCase() === given.toLowerCase()) ?? nearestName(given, names);
  return nearest === undefined ? undefined : ids.get(nearest);
}

export function voiceNotFound(given: string, usable: readonly Named[]): never {
  const meant = nearestVoice(given, usable);
  if (meant === undefined) throw new Failure('voice_not_found');
  const message = `There is no such voice for this key; did you mean ${meant}? GET /api/voices lists those there are.`;
  throw new Failure('voice_not_found', { message, meant });
}
