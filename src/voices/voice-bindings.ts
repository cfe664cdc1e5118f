// Who speaks a kept voice: what is asked of that, checked against what the engines have, and the languages that follow.
import type { Engine, Voice } from '../engines/engine.ts';
import type { FieldViolation } from '../errors.ts';
import { isSpokenBy } from '../speech/voice.ts';
import type { BindingRecord } from './stored-voice.ts';
import { bindingsMax, faultTo, type VoiceFields } from './voice-fields.ts';

export const languagesOf = ([first]: readonly BindingRecord[], engines: readonly Engine[]): readonly string[] => {
  if (!first || !('speakerId' in first)) return ['en'];
  const engine = engines.find(({ name }) => name === first.engine);
  return engine?.voices.find(({ voiceId }) => voiceId === first.speakerId)?.languageCodes ?? ['en'];
};

/** A language that nobody whom the voice is bound to speaks is none of its own. */
export function checkSpoken(
  codes: readonly string[],
  bindings: readonly BindingRecord[],
  engines: readonly Engine[],
  faults: FieldViolation[],
): void {
  const speakers = bindings.flatMap((bound): readonly Pick<Voice, 'languageCodes'>[] => {
    const engine = engines.find(({ name }) => name === bound.engine);
    if ('cloneId' in bound) return [bound];
    return engine?.voices.filter(({ voiceId }) => voiceId === bound.speakerId) ?? [];
  });
  const spoken = [...new Set(speakers.flatMap(({ languageCodes }) => languageCodes))];
  for (const code of codes) {
    if (speakers.length === 0 || isSpokenBy({ languageCodes: spoken }, code)) continue;
    const message = `${code} is spoken by none of its bindings, which speak ${spoken.join(', ')}`;
    faults.push({ field: 'language_codes', reason: 'unsupported_language', message });
  }
}

export type BindableEngine = Pick<Engine, 'name' | 'voices'>;

/** Voices that engines have here, and all the clones that there were; faults are noted. */
export function checkBindings(
  asked: NonNullable<VoiceFields['bindings']>,
  before: readonly BindingRecord[],
  engines: readonly BindableEngine[],
  faults: FieldViolation[],
): BindingRecord[] {
  const fault = faultTo(faults);
  if (asked.length < 1 || asked.length > bindingsMax) fault('bindings', 'length', `must be 1 to ${bindingsMax}`);
  const clones = before.filter((bound) => 'cloneId' in bound);
  const bindings = asked.flatMap(({ engine: name, voiceId }, i): BindingRecord[] => {
    const field = `bindings[${i}]`;
    const kept = before.find((bound) =>
      'cloneId' in bound
        ? voiceId === '' && bound.engine === name
        : bound.engine === name && bound.speakerId === voiceId,
    );
    if (kept) return [kept];
    const engine = engines.find((each) => each.name === name);
    const names = engines.map((each) => each.name).join(', ');
    if (!engine) fault(`${field}.engine`, 'enum', `must be one of ${names}`);
    else if (!engine.voices.some((voice) => voice.voiceId === voiceId))
      fault(`${field}.voice_id`, 'enum', `must be the id of a voice that ${name} has`);
    else return [{ engine: name, speakerId: voiceId }];
    return [];
  });
  if (new Set(bindings.map((bound) => JSON.stringify(bound))).size < bindings.length)
    fault('bindings', 'conflict', 'must be different ones');
  if (clones.some((clone) => !bindings.includes(clone)))
    fault(
      'bindings',
      'required',
      'must hold every clone of the voice, as {"engine"}; delete the voice to destroy them',
    );
  return bindings;
}
