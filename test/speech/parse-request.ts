// Makes requests for speech from fields with JSON names, without a transport.
import {
  LiveStartSchema,
  StreamSpeechRequestSchema,
  SynthesizeSpeechRequestSchema,
} from '../../gen/sonant/v1/speech_pb.ts';
import { readRequest, type SpeechRequest } from '../../src/speech/request.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A request of StreamSpeech, if `method` is `streaming` or there is a field that only streams have. */
export function parseSpeechRequest({ method, ...fields }: Fields): SpeechRequest {
  const isStream = method === 'streaming' || 'timestamps' in fields;
  return readRequest(isStream ? StreamSpeechRequestSchema : SynthesizeSpeechRequestSchema, fields).request;
}

export const parseLiveStart = (fields: Fields): SpeechRequest => readRequest(LiveStartSchema, fields).request;
