// Returns a sample of a voice: a sentence in the voice's first language, spoken once and cached for all callers. The
// sample is free and needs no scope for speech, so it uses no lexicons: a lexicon could replace the sentence.
import { SynthesizeSpeechRequestSchema } from '../../../gen/sonant/v1/speech_pb.ts';
import type { Caller } from '../../accounts.ts';
import type { Delivery } from '../../clips.ts';
import { readRequest, type Speech, type Voices } from '../../speech.ts';

interface VoicePreview {
  audio: Uint8Array;
  contentType: string;
  text: string;
}

export type PreviewVoice = (voiceId: string, caller: Caller, signal: AbortSignal) => Promise<VoicePreview>;

/** The owner of all cached samples. */
const owner: Caller = { callerId: 'preview', accountId: 'preview', usesAllVoices: true };

interface VoicePreviewOptions {
  speech: Pick<Speech, 'plan'>;
  voices: Voices;
  delivery: Pick<Delivery, 'deliver'>;
}

export const createVoicePreview =
  ({ speech, voices, delivery }: VoicePreviewOptions): PreviewVoice =>
  async (voiceId, caller, signal) => {
    const { voice } = voices.usableBy(caller).find(voiceId);
    const [languageCode = 'en'] = voice.languageCodes;
    const text = sampleTextFor(languageCode);
    const { request } = readRequest(SynthesizeSpeechRequestSchema, {
      voice_id: voice.voiceId,
      text,
      language_code: languageCode,
      output_format: 'mp3',
      sample_rate: 24_000,
      return_format: 'buffer',
    });
    const planned = await speech.plan(request, owner, { hasLexicons: false });
    const { open } = await delivery.deliver(planned, owner, signal, { fresh: false });
    return { audio: Buffer.concat(await Array.fromAsync(open())), contentType: 'audio/mpeg', text };
  };

/** Sentences by language, and by script if the language has several. */
const texts: Readonly<Record<string, string>> = {
  ar: 'مرحبا. هكذا يبدو صوتي.',
  chr: 'Osiyo. Wado.',
  cs: 'Dobrý den. Takto zní můj hlas.',
  cv: 'Салам. Манӑн сасӑ ҫапла илтӗнет.',
  da: 'Hej. Sådan lyder min stemme.',
  de: 'Guten Tag. So klingt meine Stimme.',
  el: 'Γεια σας. Έτσι ακούγεται η φωνή μου.',
  en: 'Hello. This is how my voice sounds.',
  es: 'Hola. Así suena mi voz.',
  fi: 'Hei. Tältä ääneni kuulostaa.',
  fr: 'Bonjour. Voici le son de ma voix.',
  he: 'שלום. כך נשמע הקול שלי.',
  hi: 'नमस्ते। मेरी आवाज़ ऐसी सुनाई देती है।',
  hu: 'Jó napot. Így szól a hangom.',
  it: 'Buongiorno. Questo è il suono della mia voce.',
  ja: 'こんにちは。これが私の声です。',
  ko: '안녕하세요. 제 목소리는 이렇습니다.',
  nb: 'Hei. Slik høres stemmen min ut.',
  nl: 'Goedendag. Zo klinkt mijn stem.',
  nog: 'Салам. Меним тавысым булай эситиледи.',
  pl: 'Dzień dobry. Tak brzmi mój głos.',
  pt: 'Olá. É assim que soa a minha voz.',
  qya: 'Aiya. Sin lamya ómanya.',
  ro: 'Bună ziua. Așa sună vocea mea.',
  ru: 'Здравствуйте. Так звучит мой голос.',
  sjn: 'Mae govannen. Lasto beth nîn.',
  sv: 'Hej. Så här låter min röst.',
  tk: 'Salam. Sesim şeýle eşidilýär.',
  tr: 'Merhaba. Sesim böyle duyuluyor.',
  uk: 'Добрий день. Так звучить мій голос.',
  vi: 'Xin chào. Giọng của tôi nghe như thế này.',
  zh: '你好。这就是我的声音。',
  'zh-latn': 'Nǐ hǎo. Zhè jiù shì wǒ de shēngyīn.',
};
/** Text for other languages, because most voices can read digits in their language. */
const digits = '1, 2, 3, 4, 5.';

export function sampleTextFor(languageCode: string): string {
  const [language = '', script = ''] = languageCode.toLowerCase().split('-');
  return texts[`${language}-${script}`] ?? texts[language] ?? digits;
}
