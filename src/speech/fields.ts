// Facts about the fields of a speech request that other code needs, read from the protos.
import type { DescMessage } from '@bufbuild/protobuf';
import {
  type CaptionFormat,
  CaptionFormatSchema,
  LiveStartSchema,
  StreamSpeechRequestSchema,
  SynthesizeSpeechRequestSchema,
} from '../../gen/sonant/v1/speech_pb.ts';
import type { PublicFormatName } from '../audio.ts';
import { enumNames, memberSchema } from '../contract.ts';
import { pausesMsMax } from '../text.ts';

/** Parts of the JSON schema of a field. */
interface FieldSchema {
  enum: readonly any[];
  default: any;
  minimum: number;
  maximum: number;
  maxLength: number;
  maxItems: number;
  items: FieldSchema;
}

const schemaOf = (name: string, desc: DescMessage = SynthesizeSpeechRequestSchema) =>
  memberSchema(desc, name, 'request') as Readonly<Record<string, unknown>> & FieldSchema;

/** Maximum number of lexicons per request, and per voice. */
export const lexiconIdsMax = schemaOf('lexicon_ids').maxItems;

export interface TextLimits {
  charsMax: number;
  chunksMax: number;
  chunkCharsMax: number;
  totalCharsMax: number;
}

/** Maximum length of a text with markup, as a multiple of the number of spoken characters allowed. */
export const markedLengthFactor = 5;
const chunks = schemaOf('text_chunks', StreamSpeechRequestSchema);
/** Limits on the text of one API request, in spoken code points. */
export const textLimits: TextLimits = {
  charsMax: schemaOf('text').maxLength / markedLengthFactor,
  chunksMax: chunks.maxItems,
  chunkCharsMax: chunks.items.maxLength / markedLengthFactor,
  totalCharsMax: 50_000,
};

/** Message about a request or turn with more pauses than `pausesMsMax`. */
export const pausesTooLong = `has more than ${pausesMsMax / 1000} s of pauses, which is the limit; shorten them`;

/** Caption formats. */
export type CaptionKind = Exclude<Lowercase<Extract<keyof typeof CaptionFormat, string>>, 'unspecified'>;
export const captionKinds = enumNames(CaptionFormatSchema).names as readonly CaptionKind[];

export const languageCodeDefault: string = schemaOf('language_code').default;
/** BCP-47 code for an undetermined language. The voice's own language is used instead. */
export const ownLanguage = 'und';
/** Value of `language_code` with which Sonant chooses the language of each sentence. */
export const autoLanguage = 'auto';

/** Sample rates and formats for responses and for live speech. */
export const outputSampleRatesHz: readonly number[] = schemaOf('sample_rate').enum;
export const liveSampleRatesHz: readonly number[] = schemaOf('sample_rate', LiveStartSchema).enum;
export const formatNames: readonly Exclude<PublicFormatName, 'ulaw' | 'alaw'>[] = schemaOf('output_format').enum;

const { minimum: min, maximum: max } = schemaOf('speaking_rate');
export const speakingRates = { min, max };

/** Who may use a voice or lexicon: the owner's account, or every key. */
const voiceAccesses = ['private', 'everyone'] as const;
export type VoiceAccess = (typeof voiceAccesses)[number];

/** What other rooms need to know of the fields. */
export const speechFields = {
  autoLanguage,
  captionKinds,
  formatNames,
  lexiconIdsMax,
  liveSampleRatesHz,
  outputSampleRatesHz,
  ownLanguage,
  speakingRates,
  voiceAccesses,
} as const;
