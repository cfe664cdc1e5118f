// The names that stand for voices besides their ids: aliases, and the choice of the default voice. Where an id of a voice
// and an alias are the same, the id goes before the alias, which is out of force until the voice has gone.

export interface VoiceNames {
  /** The id of a voice, by alias. The voice may not be there. */
  aliases: ReadonlyMap<string, string>;
  /** The id of the voice that was chosen as the default; undefined where none was. */
  chosen: string | undefined;
}

/** Answers another object when anything in it is another. */
export type ReadNames = () => VoiceNames;

export const noNames: VoiceNames = { aliases: new Map(), chosen: undefined };

/** The aliases that are in force, by the id of their voice, in order. */
export function aliasesById(
  { aliases }: VoiceNames,
  isThere: (voiceId: string) => boolean,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [alias, voiceId] of aliases) {
    if (isThere(alias) || !isThere(voiceId)) continue;
    found.set(voiceId, [...(found.get(voiceId) ?? []), alias]);
  }
  for (const own of found.values()) own.sort();
  return found;
}
