// Checks the bindings of a stored voice against the voices of the engines, and finds the languages of the bindings. The
// parts of a blend must be voices that the user may use, belong to the same voice group of one engine, and share a
// language. Weights are scaled to a sum of 1.
import type { VoiceUser } from '../../accounts.ts';
import { type Blend, type Engine, languagesOfBlend, type Voice } from '../../engines.ts';
import type { FieldViolation } from '../../platform/errors.ts';
import { isSpokenBy } from '../../platform/language-code.ts';
import type { OfferedVoice, Voices } from '../../speech.ts';
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
  const usable = voices.usableBy(user);
  return engines.map((engine) => ({
    name: engine.name,
    voices: engine.voices.filter(({ voiceId }) => usable.lookUp(voiceId)?.voice.voiceId === voiceId),
  }));
}

const voiceIdsOf = ({ voices }: BindableEngine) => voices.map(({ voiceId }) => voiceId);

/** Checks that the engines have the requested voices, and that all clones of the voice are kept. */
function checkBindings(
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

export interface SpeakerChecks {
  bindable: readonly BindableEngine[];
  voices: Voices;
  actor: VoiceUser;
}

interface FoundPart {
  engine: Engine;
  speaker: Voice;
  group: string;
}

/**
 * Returns the requested bindings; undefined if none are requested. All existing clones of the voice must be kept, and a
 * voice cannot be a part of itself.
 */
export function checkSpeakers(
  { bindings, blend }: VoiceFields,
  before: { voiceId: string | undefined; bindings: readonly BindingRecord[] },
  { bindable, voices, actor }: SpeakerChecks,
  faults: FieldViolation[],
): readonly BindingRecord[] | undefined {
  if (!blend) return bindings && checkBindings(bindings, before.bindings, bindable, faults);
  const fault = faultTo(faults);
  if (bindings?.length) fault('blend', 'conflict', 'cannot be combined with bindings; send one of the two');
  if (before.bindings.some((bound) => 'cloneId' in bound)) fault('blend', 'conflict', 'cannot replace a clone');
  for (const [i, { voiceId }] of blend.entries())
    if (voiceId === before.voiceId) fault(`blend[${i}].voice_id`, 'conflict', 'must not be the blend itself');
  return checkBlend(blend, voices, actor, faults);
}

/** Returns the binding of the blend. If there are faults, reports them and returns no binding. */
function checkBlend(blend: Blend, voices: Voices, user: VoiceUser, faults: FieldViolation[]): readonly BindingRecord[] {
  const own: FieldViolation[] = [];
  const fault = faultTo(own);
  if (blend.length === 0) fault('blend', 'length', 'must not be empty');
  const usable = voices.usableBy(user);
  const parts = blend.map(({ voiceId }, i) => {
    const offered = usable.lookUp(voiceId);
    const found = findPart(offered?.voice.voiceId === voiceId ? offered : undefined);
    if (typeof found !== 'string') return found;
    const able = usable.list().flatMap((each) => (typeof findPart(each) === 'string' ? [] : each.voice.voiceId));
    fault(`blend[${i}].voice_id`, 'enum', found, able);
    return undefined;
  });
  const found = parts.filter((part) => part !== undefined);
  const [first] = found;
  for (const [i, part] of parts.entries()) {
    if (!part || !first) continue;
    const { voiceId } = part.speaker;
    if (part.engine !== first.engine || part.group !== first.group)
      fault(`blend[${i}].voice_id`, 'conflict', `must belong to the same model as ${first.speaker.voiceId}`);
    if (parts.findIndex((each) => each?.speaker.voiceId === voiceId) < i)
      fault(`blend[${i}].voice_id`, 'conflict', `must not name ${voiceId} twice`);
  }
  const sum = blend.reduce((all, { weight }) => all + weight, 0);
  if (sum === 0) fault('blend', 'range', 'must have weights that add up to more than 0');
  const languageCodes = languagesOfBlend(found.map(({ speaker }) => speaker));
  if (own.length === 0 && languageCodes.length === 0) {
    const spoken = found.map(({ speaker }) => `${speaker.voiceId} ${speaker.languageCodes.join(', ')}`).join('; ');
    fault('blend', 'unsupported_language', `must be voices that share a language; they speak: ${spoken}`);
  }
  faults.push(...own);
  if (own.length > 0) return [];
  const made = found.map(({ speaker }, i) => ({ voiceId: speaker.voiceId, weight: blend[i]!.weight / sum }));
  return [{ engine: first!.engine.name, speakerId: '', blend: made }];
}

/** Returns the engine voice of a voice, or the reason why the voice cannot be part of a blend. */
function findPart(offered: OfferedVoice | undefined): FoundPart | string {
  if (!offered) return 'must be the id of a voice';
  const { voice, bindings } = offered;
  if (voice.kind === 'cloned') return 'must not be a clone, because a blend would outlive the consent of the person';
  const [bound] = bindings;
  const group = bound?.engine.blending?.groupOf(bound.speaker.voiceId);
  if (!bound || group === undefined) return 'must be a voice of a model with styles, and not a blend';
  return { ...bound, group };
}
