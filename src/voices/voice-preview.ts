// Plays a sample of a voice: a sentence in its own language, spoken once and cached for all callers.
import type { Delivery } from '../delivery/delivery.ts';
import { type Caller, parseSpeechRequest } from '../speech/request.ts';
import type { Speech } from '../speech/synthesize.ts';
import { type Voices, voicesFor } from '../speech/voice.ts';
import { sampleTextFor } from './sample-text.ts';

export interface VoicePreview {
  audio: Uint8Array;
  contentType: string;
  text: string;
}

export type PreviewVoice = (voiceId: string, caller: Caller, signal: AbortSignal) => Promise<VoicePreview>;

/** The owner of all cached samples. */
const owner: Caller = { callerId: 'preview', usesAllVoices: true };

export interface VoicePreviewOptions {
  speech: Pick<Speech, 'plan'>;
  voices: Voices;
  delivery: Pick<Delivery, 'deliver'>;
}

export const createVoicePreview =
  ({ speech, voices, delivery }: VoicePreviewOptions): PreviewVoice =>
  async (voiceId, caller, signal) => {
    const { voice } = voicesFor(voices, caller).find(voiceId);
    const [languageCode = 'en'] = voice.languageCodes;
    const text = sampleTextFor(languageCode);
    const request = parseSpeechRequest({
      voice_id: voice.voiceId,
      text,
      language_code: languageCode,
      output_format: 'mp3',
      sample_rate: 24_000,
      return_format: 'buffer',
    });
    const { open } = await delivery.deliver(await speech.plan(request, owner), owner, signal, { fresh: false });
    return { audio: Buffer.concat(await Array.fromAsync(open())), contentType: 'audio/mpeg', text };
  };
