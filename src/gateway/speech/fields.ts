// What is asked for, from the members of a JSON body or the parameters of a query to a request of the heart, by the
// one parser of the house, with every fault at once; and on to the messages of the core.
// Members that mean nothing are ignored and named, or refused where the gateway is strict.
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type EstimateSpeechRequestSchema,
  ReturnFormat,
  type StreamSpeechRequestSchema,
  type SynthesizeSpeechRequestSchema,
  TimestampKind,
} from '../../../gen/sonant/v1/speech_pb.ts';
import { Failure, type FieldViolation } from '../../errors.ts';
import { toCaptionFormat, toOutputFormat } from '../../rpc/speech-enums.ts';
import { parseSpeechRequest, type SpeechRequest } from '../../speech/request.ts';
import { fromThrown } from '../http/failure-reply.ts';
import { type Fields, sortFields } from '../http/known-fields.ts';

export interface AskedSpeech {
  request: SpeechRequest;
  /** Whether a stream was explicitly asked to be kept. */
  isKept: boolean;
  /** The names of members that were ignored. */
  ignored: readonly string[];
  /** Whether one text was given where a stream takes a list of them. */
  isSingleText: boolean;
}

const restFields = [
  'voice_id',
  'text',
  'text_chunks',
  'sample_rate',
  'language_code',
  'method',
  'return_format',
  'output_format',
  'speaking_rate',
  'captions',
];
const eventFields = [...restFields, 'timestamps'];
const numbers = ['sample_rate', 'speaking_rate'];

export interface FieldRules {
  /** Refuse members that mean nothing. */
  isStrict: boolean;
  /** Whether the answer is a stream of events. */
  isEvents: boolean;
}

/** What a body asks of POST /api/audio/speech. */
export function parseSpeechFields(given: Fields, rules: FieldRules): AskedSpeech {
  const known = rules.isEvents ? eventFields : restFields;
  const { fields, ignored, faults } = sortFields(given, known, rules.isStrict);
  return { request: parse(fields, faults), isKept: fields.return_format === 'url', ignored, isSingleText: false };
}

/** What a body or query asks of a stream of events: `text` counts as a single chunk. */
export function parseEventFields(given: Fields, isStrict: boolean): AskedSpeech {
  const { fields, ignored, faults } = sortFields(given, eventFields, isStrict);
  const { method, text, text_chunks } = fields;
  if (method !== 'streaming' && (method ?? undefined) !== undefined) {
    faults.push({ field: 'method', reason: 'enum', message: 'must be streaming, or left out' });
  }
  const isNoList = (text_chunks ?? undefined) === undefined || (Array.isArray(text_chunks) && text_chunks.length === 0);
  const isSingleText = (text ?? undefined) !== undefined && isNoList;
  const chunks = isSingleText ? { text: undefined, text_chunks: [text] } : {};
  const asked = { ...fields, ...chunks, method: 'streaming' };
  try {
    return { request: parse(asked, faults), isKept: fields.return_format === 'url', ignored, isSingleText };
  } catch (error) {
    throw isSingleText ? inTermsOfText(error) : error;
  }
}

/** A query as the members of a body: numbers are numbers, and the texts a list however many there are. */
export function fromQuery(query: Readonly<Record<string, unknown>>): Fields {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      if (name === 'text_chunks') return [name, Array.isArray(value) ? value : [value]];
      const isNumber = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value);
      return [name, isNumber && numbers.includes(name) ? Number(value) : value];
    }),
  );
}

/** The request, or one Failure with what is wrong in `fields` and the faults found before. */
function parse(fields: Fields, faults: readonly FieldViolation[]): SpeechRequest {
  let request: SpeechRequest;
  try {
    request = parseSpeechRequest(fields);
  } catch (error) {
    if (!(error instanceof Failure) || faults.length === 0) throw error;
    throw new Failure('invalid_request', { details: [...(error.facts.details ?? []), ...faults] });
  }
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
  return request;
}

/** What to throw in place of `error` where the one chunk is the caller's `text`: its faults are those of `text`. */
export function inTermsOfText(error: unknown): unknown {
  const { reason, facts } = fromThrown(error);
  const inText = (fault: FieldViolation) => ({ ...fault, field: fault.field.replace(/^text_chunks(\[0\])?$/, 'text') });
  return facts.details ? new Failure(reason, { ...facts, details: facts.details.map(inText) }, error) : error;
}

const soundOf = ({ voiceId, sampleRateHz, languageCode, format, speakingRate }: SpeechRequest) => ({
  voiceId,
  sampleRateHz,
  languageCode,
  outputFormat: toOutputFormat[format],
  speakingRate,
});

export const toSynthesize = (request: SpeechRequest): MessageInitShape<typeof SynthesizeSpeechRequestSchema> => ({
  ...soundOf(request),
  text: request.chunks[0] ?? '',
  returnFormat: request.returnFormat === 'buffer' ? ReturnFormat.INLINE : ReturnFormat.URL,
  captions: request.captions.map((kind) => toCaptionFormat[kind]),
});

export const toStream = ({ request, isKept }: AskedSpeech): MessageInitShape<typeof StreamSpeechRequestSchema> => ({
  ...soundOf(request),
  textChunks: [...request.chunks],
  timestamps: request.timestamps ? TimestampKind.WORD : TimestampKind.UNSPECIFIED,
  returnFormat: isKept ? ReturnFormat.URL : ReturnFormat.INLINE,
});

export const toEstimate = (request: SpeechRequest): MessageInitShape<typeof EstimateSpeechRequestSchema> => ({
  ...soundOf(request),
  textChunks: [...request.chunks],
});
