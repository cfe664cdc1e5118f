// Sonant as the speech of a LiveKit agent: LiveKit's own plugins for Cartesia and for ElevenLabs, with another base URL.
import { TTS as Cartesia, type TTSOptions as CartesiaOptions } from '@livekit/agents-plugin-cartesia';
import { TTS as ElevenLabs, type TTSOptions as ElevenLabsOptions } from '@livekit/agents-plugin-elevenlabs';

const { SONANT_URL: url = 'http://127.0.0.1:8080', SONANT_API_KEY: apiKey = '', SONANT_VOICE = 'clara' } = process.env;

/** Stops at once when the user interrupts, so prefer this one. */
export const openCartesia = (more: Partial<CartesiaOptions> = {}): Cartesia =>
  new Cartesia({ baseUrl: url, apiKey, voice: SONANT_VOICE, ...more });

/** The plugin does not decode MP3: the encoding must be one of PCM. */
export const openElevenLabs = (more: ElevenLabsOptions = {}): ElevenLabs =>
  new ElevenLabs({ baseURL: `${url}/v1`, apiKey, voiceId: SONANT_VOICE, encoding: 'pcm_22050', ...more });
