// Google's stock voices. The id of a voice is Google's name, which states language, kind and speaker:
// en-US-Chirp3-HD-Charon. Voices with other names, which also need a model, and kinds without a speaking rate are not
// offered.
import type { Voice } from '../engine.ts';

/** A voice as ListVoices returns it. */
export interface ListedVoice {
  name: string;
  languageCodes: readonly string[];
  gender: string;
}

const streamingKind = 'Chirp3-HD';
const ratelessKinds = /^(Chirp-HD|Journey)$/;
const voicesMax = 10_000;
const languagesMax = 100;

interface NameParts {
  languageCode: string;
  kind: string;
  speaker: string;
}

function parseName(name: string): NameParts | undefined {
  const [, languageCode, kind, speaker] =
    /^([a-z]{2,3}-[A-Za-z0-9]{2,4})-([\x21-\x7e]+)-([A-Za-z0-9]+)$/.exec(name) ?? [];
  return languageCode && kind && speaker ? { languageCode, kind, speaker } : undefined;
}

/** Whether Google streams this voice's audio while generating it. */
export const isStreaming = ({ voiceId }: Voice): boolean => parseName(voiceId)?.kind === streamingKind;

/** Google's code for the language of a stock voice, which requests must repeat. */
export const languageOf = ({ voiceId }: Voice): string => parseName(voiceId)!.languageCode;

/** The voices whose names equal or begin with one of `wanted`; all streaming voices if `wanted` is empty. */
export function toVoices(listed: readonly ListedVoice[], wanted: readonly string[], engine: string): Voice[] {
  const voices = new Map<string, Voice>();
  for (const { name, languageCodes, gender } of listed.slice(0, voicesMax)) {
    const parts = name.length <= 128 && parseName(name);
    if (!parts || ratelessKinds.test(parts.kind)) continue;
    const isWanted =
      wanted.length === 0 ? parts.kind === streamingKind : wanted.some((start) => `${name}-`.startsWith(`${start}-`));
    const codes = canonical([parts.languageCode, ...languageCodes.slice(0, languagesMax)]);
    if (!isWanted || codes.length === 0) continue;
    const { kind, speaker } = parts;
    voices.set(name, {
      voiceId: name,
      name: kind === streamingKind ? speaker : `${kind} ${speaker}`,
      description: `Google’s voice ${speaker} of the kind ${kind}.`,
      kind: 'stock',
      engine,
      languageCodes: codes,
      labels: { kind, ...(/^(MALE|FEMALE|NEUTRAL)$/.test(gender) && { gender: gender.toLowerCase() }) },
      version: kind,
      gainDb: 0,
    });
  }
  return [...voices.values()];
}

/** The valid codes in canonical form, each once. */
function canonical(codes: readonly string[]): string[] {
  const known = codes.flatMap((code) => {
    try {
      return Intl.getCanonicalLocales(code);
    } catch {
      return [];
    }
  });
  return [...new Set(known)];
}

const english =
  'I am the owner of this voice and I consent to Google using this voice to create a synthetic voice model.';
const french =
  "Je suis le propriétaire de cette voix et j'autorise Google à utiliser cette voix pour créer un modèle de voix synthétique.";
const spanish =
  'Soy el propietario de esta voz y doy mi consentimiento para que Google la utilice para crear un modelo de voz sintética.';

/** Languages that a clone from an en-US sample also speaks. Other clones speak only their own language. */
export const languagesOfAmericans: readonly string[] = ['de-DE', 'es-US', 'es-ES', 'fr-CA', 'fr-FR', 'pt-BR'];

/** The consent sentence by canonical language code. */
export const consentScripts: Readonly<Record<string, string>> = {
  'ar-XA': 'أنا مالك هذا الصوت وأوافق على أن تستخدم Google هذا الصوت لإنشاء نموذج صوتي اصطناعي.',
  'bn-IN': 'আমি এই ভয়েসের মালিক এবং আমি একটি সিন্থেটিক ভয়েস মডেল তৈরি করতে এই ভয়েস ব্যবহার করে Google-এর সাথে সম্মতি দিচ্ছি।',
  'de-DE':
    'Ich bin der Eigentümer dieser Stimme und bin damit einverstanden, dass Google diese Stimme zur Erstellung eines synthetischen Stimmmodells verwendet.',
  'en-US': english,
  'en-AU': english,
  'en-GB': english,
  'en-IN': english,
  'es-ES': spanish,
  'es-US': spanish,
  'fr-FR': french,
  'fr-CA': french,
  'gu-IN': 'હું આ વોઈસનો માલિક છું અને સિન્થેટિક વોઈસ મોડલ બનાવવા માટે આ વોઈસનો ઉપયોગ કરીને google ને હું સંમતિ આપું છું',
  'hi-IN': 'मैं इस आवाज का मालिक हूं और मैं सिंथेटिक आवाज मॉडल बनाने के लिए Google को इस आवाज का उपयोग करने की सहमति देता हूं',
  'id-ID':
    'Saya pemilik suara ini dan saya menyetujui Google menggunakan suara ini untuk membuat model suara sintetis.',
  'it-IT':
    'Sono il proprietario di questa voce e acconsento che Google la utilizzi per creare un modello di voce sintetica.',
  'ja-JP': '私はこの音声の所有者であり、Googleがこの音声を使用して音声合成モデルを作成することを承認します。',
  'kn-IN': 'ನಾನು ಈ ಧ್ವನಿಯ ಮಾಲಿಕ ಮತ್ತು ಸಂಶ್ಲೇಷಿತ ಧ್ವನಿ ಮಾದರಿಯನ್ನು ರಚಿಸಲು ಈ ಧ್ವನಿಯನ್ನು ಬಳಸಿಕೊಂಡುಗೂಗಲ್ ಗೆ ನಾನು ಸಮ್ಮತಿಸುತ್ತೇನೆ.',
  'ko-KR': '나는 이 음성의 소유자이며 구글이 이 음성을 사용하여 음성 합성 모델을 생성할 것을 허용합니다.',
  'ml-IN': 'ഈ ശബ്ദത്തിന്റെ ഉടമ ഞാനാണ്, ഒരു സിന്തറ്റിക് വോയ്സ് മോഡൽ സൃഷ്ടിക്കാൻ ഈ ശബ്ദം ഉപയോഗിക്കുന്നതിന് ഞാൻ Google-ന് സമ്മതം നൽകുന്നു.',
  'mr-IN': 'मी या आवाजाचा मालक आहे आणि सिंथेटिक व्हॉइस मॉडेल तयार करण्यासाठी हा आवाज वापरण्यासाठी मी Google ला संमती देतो',
  'nl-NL':
    'Ik ben de eigenaar van deze stem en ik geef Google toestemming om deze stem te gebruiken om een synthetisch stemmodel te maken.',
  'pl-PL':
    'Jestem właścicielem tego głosu i wyrażam zgodę na wykorzystanie go przez Google w celu utworzenia syntetycznego modelu głosu.',
  'pt-BR': 'Eu sou o proprietário desta voz e autorizo o Google a usá-la para criar um modelo de voz sintética.',
  'ru-RU':
    'Я являюсь владельцем этого голоса и даю согласие Google на использование этого голоса для создания модели синтетического голоса.',
  'ta-IN': 'நான் இந்த குரலின் உரிமையாளர் மற்றும் செயற்கை குரல் மாதிரியை உருவாக்க இந்த குரலை பயன்படுத்த குகல்க்கு நான் ஒப்புக்கொள்கிறேன்.',
  'te-IN': 'నేను ఈ వాయిస్ యజమానిని మరియు సింతటిక్ వాయిస్ మోడల్ ని రూపొందించడానికి ఈ వాయిస్ ని ఉపయోగించడానికి googleకి నేను సమ్మతిస్తున్నాను.',
  'th-TH': 'ฉันเป็นเจ้าของเสียงนี้ และฉันยินยอมให้ Google ใช้เสียงนี้เพื่อสร้างแบบจำลองเสียงสังเคราะห์',
  'tr-TR':
    "Bu sesin sahibi benim ve Google'ın bu sesi kullanarak sentetik bir ses modeli oluşturmasına izin veriyorum.",
  'vi-VN':
    'Tôi là chủ sở hữu giọng nói này và tôi đồng ý cho Google sử dụng giọng nói này để tạo mô hình giọng nói tổng hợp.',
  'zh-CN': '我是此声音的拥有者并授权谷歌使用此声音创建语音合成模型',
};

/** Google's code for the language: always with a region, and a special code for Mandarin. */
export function toGoogleLanguage(languageCode: string): string {
  const { language, region } = new Intl.Locale(languageCode);
  const known = Object.keys(consentScripts).find((code) => code.startsWith(`${language}-`));
  const code = region === undefined ? (known ?? languageCode) : `${language}-${region}`;
  return code.replace(/^zh-/, 'cmn-');
}
