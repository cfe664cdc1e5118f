// What `describe` is answered with: one program, with every voice that the key may use. Home Assistant lists the voices by
// language, shows their description, and asks for them by name.
import type { Voice } from '../../engines/engine.ts';

export const toInfo = (voices: readonly Voice[]) => ({
  tts: [
    {
      name: 'Sonant',
      description: 'Text-to-speech',
      attribution: { name: 'Sonant', url: '' },
      installed: true,
      version: null,
      voices: voices.map(({ voiceId, name, engine, languageCodes }) => ({
        name: voiceId,
        description: name,
        attribution: { name: engine, url: '' },
        installed: true,
        version: null,
        languages: languageCodes,
        speakers: null,
      })),
      supports_synthesize_streaming: true,
    },
  ],
  asr: [],
  handle: [],
  intent: [],
  wake: [],
  mic: [],
  snd: [],
});
