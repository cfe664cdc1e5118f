// The voices there are: those of every engine that is open, each under an id of its own, and which languages they speak.
import type { Engine, Voice } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import type { Caller } from './request.ts';

/** A voice and the engine that speaks it. */
export interface OfferedVoice {
  voice: Voice;
  engine: Engine;
}

export interface Voices {
  /** All voices, by id. */
  list(): readonly Voice[];
  /** The voice with this id and the engine that speaks it, or a Failure `voice_not_found`. */
  find(voiceId: string): OfferedVoice;
}

export function createVoices(engines: readonly Engine[]): Voices {
  const offered = new Map<string, OfferedVoice>();
  for (const engine of engines) {
    for (const voice of engine.voices) {
      const rival = offered.get(voice.voiceId);
      if (rival) {
        const message = `voice ${voice.voiceId} is offered by both ${rival.engine.name} and ${engine.name}`;
        throw new Failure('engine_unavailable', { message });
      }
      offered.set(voice.voiceId, { voice, engine });
    }
  }
  const voices = [...offered.values()].map(({ voice }) => voice);
  return {
    list: () => voices,
    find(voiceId) {
      const found = offered.get(voiceId);
      if (!found) throw new Failure('voice_not_found');
      return found;
    },
  };
}

/** The voices that the caller may speak with: for them there are no others. */
export function voicesFor(voices: Voices, { voiceIds }: Caller): Voices {
  if (!voiceIds) return voices;
  return {
    list: () => voices.list().filter(({ voiceId }) => voiceIds.includes(voiceId)),
    find(voiceId) {
      if (!voiceIds.includes(voiceId)) throw new Failure('voice_not_found');
      return voices.find(voiceId);
    },
  };
}

/** Whether the voice speaks the language: RFC 4647 filtering, and a bare language stands for all its regions. */
export function isSpokenBy(voice: Voice, languageCode: string): boolean {
  const asked = languageCode.toLowerCase();
  return voice.languageCodes.some((range) => {
    const code = range.toLowerCase();
    return code === asked || asked.startsWith(`${code}-`) || code.startsWith(`${asked}-`);
  });
}
