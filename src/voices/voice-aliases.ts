// Aliases of a voice, as they are changed. Those of a voice that everyone may use are of everyone, and only keys with the
// scope admin change them; those of a private voice are of its account. Each must be free, which is no id of a voice that the
// same callers may use and no alias of theirs of another voice. Only those who may use that voice learn who has it. An alias
// of a voice that is not there is free.
import type { Actor } from '../access/actor.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { ofEveryone } from '../speech/stored-voices.ts';
import { isOfAnother, type OfferedVoice, type Voices, voicesFor } from '../speech/voice.ts';
import type { VoiceChange, VoiceRow } from '../store/voice-rows.ts';

/** The aliases that the voice is given, with the check that they are free; undefined where they stay as they are. */
export function toAliasChange(
  { voiceId, access, ownerId }: Pick<VoiceRow, 'voiceId' | 'access' | 'ownerId'>,
  names: readonly string[] | undefined,
  { voices, actor }: { voices: Voices; actor: Actor },
): VoiceChange['aliases'] {
  if (!names) return undefined;
  const accountId = access === 'everyone' || ownerId === null ? ofEveryone : ownerId;
  const findById = (id: string) => [voices.lookUp(id)].find((offered) => offered?.voice.voiceId === id);
  const check: NonNullable<VoiceChange['aliases']>['check'] = (held) => {
    const details = names.flatMap((alias, i): FieldViolation[] => {
      const field = `aliases[${i}]`;
      if (alias === voiceId) return [{ field, reason: 'conflict', message: 'is the id of the voice itself' }];
      const holder = held.find((each) => each.alias === alias);
      // Voices of engines are not stored.
      if (holder?.voiceId === alias || !isOfAnother(findById(alias), { accountId }))
        return [{ field, reason: 'taken', message: 'is the id of another voice' }];
      const other = holder && findById(holder.voiceId);
      return other ? [{ field, reason: 'taken', message: takenBy(other, voicesFor(voices, actor)) }] : [];
    });
    if (details.length > 0) throw new Failure('invalid_request', { details });
  };
  return { names, ownerId: accountId, check };
}

const takenBy = (other: OfferedVoice, usable: Voices): string =>
  usable.lookUp(other.voice.voiceId) === other
    ? `is an alias of the voice ${other.voice.voiceId}`
    : 'is an alias of another voice';
