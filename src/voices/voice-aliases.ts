// Aliases of a voice, as they are changed: each must be free, which is no id of a voice and no alias of another one. Only
// those who may use that voice learn who has it. An alias of a voice that is not there is free.
import { Failure, type FieldViolation } from '../errors.ts';
import type { Actor } from '../keys/actor.ts';
import { type OfferedVoice, type Voices, voicesFor } from '../speech/voice.ts';
import type { VoiceChange } from '../store/voice-rows.ts';

/** The aliases that the voice is given, with the check that they are free; undefined where they stay as they are. */
export function toAliasChange(
  voiceId: string,
  names: readonly string[] | undefined,
  { voices, actor }: { voices: Voices; actor: Actor },
): VoiceChange['aliases'] {
  if (!names) return undefined;
  const check: NonNullable<VoiceChange['aliases']>['check'] = (held) => {
    const byId = new Map(voices.list().map((offered) => [offered.voice.voiceId, offered]));
    const usable = new Set(voicesFor(voices, actor).list());
    const details = names.flatMap((alias, i): FieldViolation[] => {
      const field = `aliases[${i}]`;
      if (alias === voiceId) return [{ field, reason: 'conflict', message: 'is the id of the voice itself' }];
      if (byId.has(alias)) return [{ field, reason: 'taken', message: 'is the id of another voice' }];
      const holder = held.find((each) => each.alias === alias);
      if (!holder) return [];
      if (holder.voiceId === alias) return [{ field, reason: 'taken', message: 'is the id of another voice' }];
      const other = byId.get(holder.voiceId);
      return other ? [{ field, reason: 'taken', message: takenBy(other, usable) }] : [];
    });
    if (details.length > 0) throw new Failure('invalid_request', { details });
  };
  return { names, check };
}

const takenBy = (other: OfferedVoice, usable: ReadonlySet<OfferedVoice>): string =>
  usable.has(other) ? `is an alias of the voice ${other.voice.voiceId}` : 'is an alias of another voice';
