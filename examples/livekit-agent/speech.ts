// Opens Sonant for a LiveKit agent, by LiveKit's own plugins for Cartesia and ElevenLabs with another base URL.
import { TTS as Cartesia, type TTSOptions as CartesiaOptions } from '@livekit/agents-plugin-cartesia';
import { TTS as ElevenLabs, type TTSOptions as ElevenLabsOptions } from '@livekit/agents-plugin-elevenlabs';

const { SONANT_URL: url = 'http://127.0.0.1:8080', SONANT_API_KEY: apiKey = '', SONANT_VOICE = 'clara' } = process.env;

/** Prefer this plugin, because it stops at once when the user interrupts. */
export const openCartesia = (more: Partial<CartesiaOptions> = {}): Cartesia =>
  new Cartesia({ baseUrl: url, apiKey, voice: SONANT_VOICE, ...more });

/** The plugin does not decode MP3, so the encoding must be a PCM encoding. */
export const openElevenLabs = (more: ElevenLabsOptions = {}): ElevenLabs =>
  new ElevenLabs({ baseURL: `${url}/v1`, apiKey, voiceId: SONANT_VOICE, encoding: 'pcm_22050', ...more });
