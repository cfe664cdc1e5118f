// Requests of the speech service as the heart takes them: read by `parseSpeechRequest`, so that every rule and every
// default is the one of the whole house. What proto3 cannot tell from absent counts as absent, and a number that is none
// of an enum's goes on as it is, to be refused along with all other faults.

import {
  type EstimateSpeechRequest,
  OutputFormat,
  ReturnFormat,
  type StreamSpeechRequest,
  type SynthesizeSpeechRequest,
  TimestampKind,
} from '../../gen/sonant/v1/speech_pb.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { parseSpeechRequest, type SpeechRequest } from '../speech/request.ts';
import { fromCaptionFormat, fromOutputFormat } from './speech-enums.ts';

type Message = SynthesizeSpeechRequest | StreamSpeechRequest | EstimateSpeechRequest;

const formats = { [OutputFormat.UNSPECIFIED]: undefined, ...fromOutputFormat };
const returnFormats: Readonly<Record<number, string | undefined>> = {
  [ReturnFormat.UNSPECIFIED]: 'url',
  [ReturnFormat.URL]: 'url',
  [ReturnFormat.INLINE]: 'buffer',
};
const timestampKinds: Readonly<Record<number, string | undefined>> = {
  [TimestampKind.UNSPECIFIED]: undefined,
  [TimestampKind.WORD]: 'word',
};

/** Fields that have another name in JSON. */
const protoNames: Readonly<Record<string, string>> = { sample_rate: 'sample_rate_hz' };

export const parseSynthesize = (message: SynthesizeSpeechRequest, faults: readonly FieldViolation[]): SpeechRequest =>
  parse(
    {
      ...soundFields(message),
      method: 'rest',
      text: message.text || undefined,
      return_format: named(returnFormats, message.returnFormat),
      captions: message.captions.map((kind) => named(fromCaptionFormat, kind)),
    },
    faults,
  );

/** A stream is kept only if it says so. */
export const parseStream = (message: StreamSpeechRequest): SpeechRequest =>
  parse({
    ...soundFields(message),
    method: 'streaming',
    text_chunks: message.textChunks,
    return_format: named({ ...returnFormats, [ReturnFormat.UNSPECIFIED]: 'buffer' }, message.returnFormat),
    timestamps: named(timestampKinds, message.timestamps),
  });

export const parseEstimate = (message: EstimateSpeechRequest): SpeechRequest =>
  parse({ ...soundFields(message), method: 'streaming', text_chunks: message.textChunks });

const soundFields = ({ voiceId, sampleRateHz, languageCode, outputFormat, speakingRate }: Message) => ({
  voice_id: voiceId || undefined,
  sample_rate: sampleRateHz,
  language_code: languageCode,
  output_format: named(formats, outputFormat),
  speaking_rate: speakingRate,
});

const named = (names: Readonly<Record<number, string | undefined>>, value: number): unknown =>
  Object.hasOwn(names, value) ? names[value] : value;

/** The request, or one Failure with what is wrong in `fields` and the faults found before. */
function parse(fields: Readonly<Record<string, unknown>>, faults: readonly FieldViolation[] = []): SpeechRequest {
  let request: SpeechRequest;
  try {
    request = parseSpeechRequest(fields);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const details = [...(error.facts.details ?? []), ...faults].map(inProto);
    throw faults.length > 0
      ? new Failure('invalid_request', { details })
      : new Failure(error.reason, { ...error.facts, details });
  }
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
  return request;
}

const inProto = (violation: FieldViolation): FieldViolation => ({
  ...violation,
  field: protoNames[violation.field] ?? violation.field,
});
