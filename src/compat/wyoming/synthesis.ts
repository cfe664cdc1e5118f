// What a client asks to be spoken, and with which voice: `{"text"?,"voice"?:{"name"|"language","speaker"},"text_format"?}`.
// A name is that of one of our voices; a language is that of the first voice of its region, or else of the first that
// speaks it; without either, it is the first voice. A voice has one speaker here, so that `speaker` is ignored.
import type { Voice } from '../../engines/engine.ts';
import { Failure, type FieldViolation } from '../../errors.ts';
import { type LiveStart, parseLiveStart } from '../../speech/live-request.ts';
import { isSpokenBy } from '../../speech/voice.ts';
import { toLanguageCode } from '../../text/language-code.ts';
import { isObject, type WyomingData } from './frames.ts';

export const wyomingRateHz = 24_000;

export interface VoiceChoice {
  name: string | undefined;
  /** Canonical BCP-47. */
  languageCode: string | undefined;
}

/** BCP-47 for an unknown language: that of the voice. */
const ownLanguage = 'und';

export function textOf({ text }: WyomingData): string {
  if (typeof text === 'string') return text;
  throw violation({ field: 'text', reason: 'type', message: 'must be a string' });
}

export function choiceOf({ voice, text_format: format = null }: WyomingData): VoiceChoice {
  if (format !== null && format !== 'text')
    throw violation({ field: 'text_format', reason: 'enum', message: 'must be text' });
  const { name = null, language = null } = isObject(voice) ? voice : {};
  if (name !== null && typeof name !== 'string')
    throw violation({ field: 'voice.name', reason: 'type', message: 'must be a string' });
  return { name: name || undefined, languageCode: language === null ? undefined : languageOf(language) };
}

/** Home Assistant's own codes have an underscore. */
function languageOf(given: unknown): string {
  const code = typeof given === 'string' ? toLanguageCode(given.replaceAll('_', '-')) : undefined;
  if (code !== undefined) return code;
  throw violation({
    field: 'voice.language',
    reason: 'format',
    message: 'must be a BCP-47 language code such as en-US',
  });
}

/** The start of live speech in that voice, or a Failure where none of them is it. */
export function toStart({ name, languageCode }: VoiceChoice, voices: readonly Voice[]): LiveStart {
  const found = voices.filter((voice) => languageCode === undefined || isSpokenBy(voice, languageCode));
  // Every voice of "en" speaks en-GB, but not every one has that accent.
  const native = found.find(({ languageCodes }) =>
    languageCodes.some((code) => `${code}-`.startsWith(`${languageCode}-`)),
  );
  const voiceId = name ?? (native ?? found[0])?.voiceId;
  if (voiceId === undefined) {
    const message =
      languageCode === undefined ? 'There is no voice.' : `There is no voice that speaks ${languageCode}.`;
    throw new Failure('voice_not_found', { message });
  }
  return parseLiveStart({
    voice_id: voiceId,
    output_format: 'pcm',
    sample_rate: wyomingRateHz,
    language_code: name === undefined ? (languageCode ?? ownLanguage) : ownLanguage,
  });
}

const violation = (fault: FieldViolation) => new Failure('invalid_request', { details: [fault] });
