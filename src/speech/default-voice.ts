// Finds the default voice of a caller, for requests that name no voice: the first voice on the caller's list that can
// speak. The list from `voice.ts` begins with the voice of SONANT_DEFAULT_VOICE, or else with the chosen voice, or else
// with the first engine's first voice.
import type { OfferedVoice, Voices } from './voice.ts';

/** Source of the default voice: SONANT_DEFAULT_VOICE, the chosen voice, or the order of the voices. */
type DefaultSource = 'setting' | 'choice' | 'order';

export interface DefaultVoice {
  /** The default voice; undefined if no voice can speak. */
  offered: OfferedVoice | undefined;
  source: DefaultSource;
  /** The chosen voice, even if SONANT_DEFAULT_VOICE overrides the choice; undefined if no existing voice is chosen. */
  chosen: OfferedVoice | undefined;
}

/** Finds the default voice among these voices, such as those of one user. */
export function findDefault(voices: Voices): DefaultVoice {
  const { setting, chosen } = voices.preferences();
  const list = voices.list();
  const offered = list.find(({ status, bindings }) => status === 'ready' && bindings.length > 0);
  const isOffered = (name = '') =>
    offered !== undefined && (offered.voice.voiceId === name || offered.aliases.includes(name));
  const source = isOffered(setting) ? 'setting' : isOffered(chosen) ? 'choice' : 'order';
  return { offered, source, chosen: list.find(({ voice }) => voice.voiceId === chosen) };
}
