// Voices as the lists of other vendors' APIs have them: once under their id, and once more under each of their aliases, so
// that a client finds the voice that it looks for.
import type { OfferedVoice } from '../../speech/voice.ts';

export const toNamedVoices = <Offered extends OfferedVoice>(offered: Offered) =>
  [offered.voice.voiceId, ...offered.aliases].map((id) => ({ id, voice: offered.voice }));
