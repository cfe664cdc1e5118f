// The voices there are: those of every engine that is open, each under an id of its own, and which languages they speak.
import type { Engine, Voice } from '../engines/engine.ts';
import { Failure } from '../errors.ts';

export interface Speaker {
  voice: Voice;
  engine: Engine;
}

export interface Voices {
  /** All voices, by id. */
  list(): readonly Voice[];
  /** The voice with this id and the engine that speaks it, or a Failure `voice_not_found`. */
  find(voiceId: string): Speaker;
}

export function createVoices(engines: readonly Engine[]): Voices {
  const speakers = new Map<string, Speaker>();
  for (const engine of engines) {
    for (const voice of engine.voices) {
      const rival = speakers.get(voice.voiceId);
      if (rival) throw new Error(`voice ${voice.voiceId} is offered by both ${rival.engine.name} and ${engine.name}`);
      speakers.set(voice.voiceId, { voice, engine });
    }
  }
  const voices = [...speakers.values()].map(({ voice }) => voice);
  return {
    list: () => voices,
    find(voiceId) {
      const speaker = speakers.get(voiceId);
      if (!speaker) throw new Failure('voice_not_found');
      return speaker;
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
