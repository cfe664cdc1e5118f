// Imitates the refusals of Google Cloud Text-to-Speech and their messages, according to its documentation and users:
// more than 5000 bytes per input, long sentences, rates outside 0.25 to 2, mismatched voices and languages, MP3 for
// clones, streams for voices other than Chirp 3 HD and clones, and inexact consent.
import { create, toBinary } from '@bufbuild/protobuf';
import { anyPack, durationFromMs } from '@bufbuild/protobuf/wkt';
import { status as code, Metadata } from '@grpc/grpc-js';
import { RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { consentScripts, toGoogleLanguage } from '../../src/engines/google/google-voices.ts';

export class Refusal extends Error {
  readonly code: number;
  readonly retrySeconds: number | undefined;

  constructor(told: string, refusedAs: number = code.INVALID_ARGUMENT, retrySeconds?: number) {
    super(told);
    this.code = refusedAs;
    this.retrySeconds = retrySeconds;
  }
}

/** Converts a refusal to an error of the gRPC server. */
export function toStatus(error: unknown) {
  const { message, code: refusedAs = code.INTERNAL, retrySeconds } = error as Refusal;
  const metadata = new Metadata();
  if (retrySeconds !== undefined) {
    const retryInfo = create(RetryInfoSchema, { retryDelay: durationFromMs(retrySeconds * 1000) });
    const status = create(StatusSchema, { code: refusedAs, message, details: [anyPack(RetryInfoSchema, retryInfo)] });
    metadata.set('grpc-status-details-bin', Buffer.from(toBinary(StatusSchema, status)));
  }
  return { code: refusedAs, details: message, metadata, name: 'Refusal', message };
}

export interface VoiceRequest {
  languageCode: string;
  name: string;
  voiceClone?: { voiceCloningKey: string };
}

export interface AudioRequest {
  audioEncoding: string;
  speakingRate: number;
  sampleRateHertz: number;
}

export interface ListedGoogleVoice {
  name: string;
  languageCodes: string[];
  ssmlGender: 'MALE' | 'FEMALE';
  naturalSampleRateHertz: number;
}

const bytesMax = 5_000;

export const googleVoice = (
  name: string,
  languageCode: string,
  ssmlGender: ListedGoogleVoice['ssmlGender'],
): ListedGoogleVoice => ({
  name,
  languageCodes: [languageCode],
  ssmlGender,
  naturalSampleRateHertz: 24_000,
});

export function checkText(text: string, sentenceBytesMax: number): void {
  if (text.trim() === '') throw new Refusal('Either `input.text` or `input.ssml` must be set.');
  if (Buffer.byteLength(text) > bytesMax) {
    throw new Refusal('Either `input.text` or `input.ssml` is longer than the limit of 5000 bytes.');
  }
  const long = text.split(/(?<=[.!?。！？।])/u).find((sentence) => Buffer.byteLength(sentence) > sentenceBytesMax);
  if (long === undefined) return;
  const start = long.trim().split(/\s/)[0]!.slice(0, 20);
  throw new Refusal(
    'This request contains sentences that are too long. Consider splitting up long sentences with sentence ending ' +
      `punctuation e.g. periods. Sentence starting with: "${start}" is too long.`,
  );
}

export function checkVoice(
  requests: VoiceRequest,
  voices: readonly ListedGoogleVoice[],
  keys: ReadonlySet<string>,
): void {
  const { languageCode, name, voiceClone } = requests;
  if (voiceClone) {
    const key = voiceClone.voiceCloningKey;
    // The message quotes the key, as careless servers do.
    if (!keys.has(key)) throw new Refusal(`Invalid voice cloning key: "${key.slice(0, 24)}..." (${key})`);
    const known = Object.keys(consentScripts).map(toGoogleLanguage);
    if (!known.includes(languageCode)) throw new Refusal(`Language ${languageCode} is not supported for voice clones.`);
    return;
  }
  const voice = voices.find((each) => each.name === name);
  if (!voice) throw new Refusal(`Voice '${name}' does not exist. Is it misspelled?`);
  if (!voice.languageCodes.includes(languageCode)) {
    throw new Refusal(`Requested language code '${languageCode}' doesn't match the voice '${name}'.`);
  }
}

export function checkAudio({ audioEncoding, speakingRate }: AudioRequest, streams: boolean, isClone: boolean): void {
  if (streams && !['PCM', 'ALAW', 'MULAW', 'OGG_OPUS'].includes(audioEncoding)) {
    throw new Refusal(`Streaming does not support the audio encoding ${audioEncoding}.`);
  }
  if (isClone && audioEncoding === 'MP3') throw new Refusal('MP3 is not supported for voice clones.');
  // 0 means unset.
  if (speakingRate !== 0 && (speakingRate < 0.25 || speakingRate > 2)) {
    throw new Refusal('Invalid speaking_rate: it must be in the range [0.25, 2.0].');
  }
}

export function checkStream({ name, voiceClone }: VoiceRequest): void {
  if (voiceClone || name.includes('-Chirp3-HD-')) return;
  throw new Refusal('Currently, only Chirp 3: HD voices are supported for streaming synthesis.');
}

interface AudioGiven {
  audio_config?: { audio_encoding?: string; sample_rate_hertz?: number };
  content?: string;
}

/** Google's error for a rejected sample; undefined for an accepted one. */
export function findFault(requests: Record<string, unknown>): string | undefined {
  const { reference_audio, voice_talent_consent, consent_script, language_code } = requests;
  const language = Object.keys(consentScripts).find((known) => toGoogleLanguage(known) === language_code);
  if (language === undefined) return `Language code ${language_code} is not supported.`;
  if (consent_script !== consentScripts[language]) return 'The consent script is not the one for the language.';
  for (const [field, given] of Object.entries({ reference_audio, voice_talent_consent })) {
    const { audio_config, content = '' } = (given ?? {}) as AudioGiven;
    const wav = Buffer.from(content, 'base64');
    const [channels, rateHz, bits] = [wav.readUInt16LE(22), wav.readUInt32LE(24), wav.readUInt16LE(34)];
    const isWav = wav.toString('latin1', 0, 4) === 'RIFF' && wav.readUInt32LE(40) === wav.length - 44;
    const isAsDeclared = audio_config?.audio_encoding === 'LINEAR16' && audio_config.sample_rate_hertz === rateHz;
    if (!isWav || !isAsDeclared || channels !== 1 || bits !== 16) return `Invalid audio in ${field}.`;
  }
  return undefined;
}
