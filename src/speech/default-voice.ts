// The default voice: of requests that name none, and the first of every list. It is the voice of SONANT_DEFAULT_VOICE; else
// the one that was chosen; else the first of the first engine: the first of these that can speak. For those who may not use
// it, it is the next one in the order of voices.
import type { OfferedVoice, Voices } from './voice.ts';

/** What makes a voice the default one: the setting SONANT_DEFAULT_VOICE, the choice, or neither. */
type DefaultSource = 'setting' | 'choice' | 'order';

export interface DefaultVoice {
  /** Undefined where no voice can speak. */
  offered: OfferedVoice | undefined;
  source: DefaultSource;
  /** The voice that was chosen, also where the setting goes before it; undefined where none was, or it is not there. */
  chosen: OfferedVoice | undefined;
}

/** Of these voices, such as those of a user. */
export function findDefault(voices: Voices): DefaultVoice {
  const { setting, chosen } = voices.preferences();
  const list = voices.list();
  const offered = list.find(({ status, bindings }) => status === 'ready' && bindings.length > 0);
  const isOffered = (name = '') =>
    offered !== undefined && (offered.voice.voiceId === name || offered.aliases.includes(name));
  const source = isOffered(setting) ? 'setting' : isOffered(chosen) ? 'choice' : 'order';
  return { offered, source, chosen: list.find(({ voice }) => voice.voiceId === chosen) };
}
