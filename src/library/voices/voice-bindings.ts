// Checks the bindings of a stored voice against the voices of the engines, and finds the languages of the bindings.
import type { VoiceUser } from '../../accounts.ts';
import { type Engine, languagesOfBlend, type Voice } from '../../engines.ts';
import type { FieldViolation } from '../../platform/errors.ts';
import { isSpokenBy, type Voices, voicesFor } from '../../speech.ts';
import { faultTo, type VoiceFields } from './voice-fields.ts';
import type { BindingRecord } from './voice-from-row.ts';

export type BindableEngine = Pick<Engine, 'name' | 'voices'>;

export const languagesOf = ([first]: readonly BindingRecord[], engines: readonly BindableEngine[]): readonly string[] =>
  (first && speakersOf(first, engines)[0]?.languageCodes) ?? ['en'];

/** Returns the engine voices of a binding, if they exist. */
function speakersOf(bound: BindingRecord, engines: readonly BindableEngine[]): readonly Pick<Voice, 'languageCodes'>[] {
  if ('cloneId' in bound) return [bound];
  const { voices = [] } = engines.find(({ name }) => name === bound.engine) ?? {};
  const find = (voiceId: string) => voices.filter((voice) => voice.voiceId === voiceId);
  if (!bound.blend) return find(bound.speakerId);
  const parts = bound.blend.flatMap((part) => find(part.voiceId));
  return parts.length < bound.blend.length ? [] : [{ languageCodes: languagesOfBlend(parts) }];
}

/** Reports languages that none of the bindings speaks. */
export function checkSpoken(
  codes: readonly string[],
  bindings: readonly BindingRecord[],
  engines: readonly BindableEngine[],
  faults: FieldViolation[],
): void {
  const speakers = bindings.flatMap((bound) => speakersOf(bound, engines));
  const spoken = [...new Set(speakers.flatMap(({ languageCodes }) => languageCodes))];
  for (const code of codes) {
    if (speakers.length === 0 || isSpokenBy({ languageCodes: spoken }, code)) continue;
    const message = `none of its bindings speaks ${code}; they speak ${spoken.join(', ')}`;
    faults.push({ field: 'language_codes', reason: 'unsupported_language', message });
  }
}

/** Returns the engines with only the voices that the user may use. */
export function enginesFor(engines: readonly Engine[], voices: Voices, user: VoiceUser): readonly BindableEngine[] {
  const usable = voicesFor(voices, user);
  return engines.map((engine) => ({
    name: engine.name,
    voices: engine.voices.filter(({ voiceId }) => usable.lookUp(voiceId)?.voice.voiceId === voiceId),
  }));
}

const voiceIdsOf = ({ voices }: BindableEngine) => voices.map(({ voiceId }) => voiceId);

/** Checks that the engines have the requested voices, and that all clones of the voice are kept. */
export function checkBindings(
  requested: NonNullable<VoiceFields['bindings']>,
  before: readonly BindingRecord[],
  engines: readonly BindableEngine[],
  faults: FieldViolation[],
): BindingRecord[] {
  const fault = faultTo(faults);
  if (requested.length === 0) fault('bindings', 'length', 'must not be empty');
  const clones = before.filter((bound) => 'cloneId' in bound);
  const bindings = requested.flatMap(({ engine: name, voiceId }, i): BindingRecord[] => {
    const field = `bindings[${i}]`;
    const old = before.find((bound) =>
      'cloneId' in bound
        ? voiceId === '' && bound.engine === name
        : bound.engine === name && bound.speakerId === voiceId,
    );
    if (old) return [old];
    const engine = engines.find((each) => each.name === name);
    const names = engines.map((each) => each.name);
    if (!engine) fault(`${field}.engine`, 'enum', `must be one of ${names.join(', ')}`, names);
    else if (!engine.voices.some((voice) => voice.voiceId === voiceId))
      fault(`${field}.voice_id`, 'enum', `must be the id of a voice of ${name}`, voiceIdsOf(engine));
    else return [{ engine: name, speakerId: voiceId }];
    return [];
  });
  if (new Set(bindings.map((bound) => JSON.stringify(bound))).size < bindings.length)
    fault('bindings', 'conflict', 'must not contain the same binding twice');
  if (clones.some((clone) => !bindings.includes(clone)))
    fault(
      'bindings',
      'required',
      'must contain every clone of the voice, as {"engine"}; delete the voice to destroy its clones',
    );
  return bindings;
}
