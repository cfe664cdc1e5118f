// sonant.v1.SpeechService: converts messages to requests for speech, and results to messages. A message is first
// written as its JSON fields, so that the parsers in src/speech apply the same rules and defaults to every API.
import type { DescMessage, Message, MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  CaptionFormatSchema,
  EstimateSpeechRequestSchema,
  type LiveSpeechRequest,
  type LiveSpeechResponseSchema,
  LiveStartSchema,
  OutputFormatSchema,
  SpeechMark_KindSchema,
  type SpeechService,
  SpeechTimestamps_QualitySchema,
  StreamSpeechRequestSchema,
  type StreamSpeechResponseSchema,
  SynthesizeSpeechRequestSchema,
  type SynthesizeSpeechResponseSchema,
} from '../../../gen/sonant/v1/speech_pb.ts';
import {
  type LiveEvent,
  type LiveInfo,
  type LiveInput,
  type LiveOperations,
  type SpeechOperations,
  toEnum,
} from '../../api.ts';
import type { Delivered } from '../../clips.ts';
import { fieldOf, hasPresence, writeMessage } from '../../contract.ts';
import { Failure, type FieldViolation } from '../../platform/errors.ts';
import {
  amount,
  parseLiveStart,
  parseSpeechRequest,
  type SpeechEvent,
  type SpeechInfo,
  type SpeechMark,
  type SpeechTimestamps,
} from '../../speech.ts';
import { isFreshWanted } from '../net/headers.ts';
import { callOf } from './calls.ts';

export function createSpeechService(speech: SpeechOperations, live: LiveOperations): ServiceImpl<typeof SpeechService> {
  return {
    async synthesizeSpeech(message, context) {
      const violations: FieldViolation[] = [];
      const bytesMax = bufferBytesMax.parse(
        message.bufferBytesMax,
        (reason, text) => void violations.push({ field: bufferBytesMax.json, reason, message: text }),
      );
      const fields = { method: 'rest', ...fieldsOf(SynthesizeSpeechRequestSchema, message) };
      const request = parseSpeechRequest(fields, { violations });
      const call = callOf(context);
      const fresh = isFreshWanted(context.requestHeader.get('cache-control'));
      const delivered = await speech.synthesizeSpeech(call, request, { fresh, inlineBytesMax: bytesMax });
      const { chars, charsCharged, seconds, cached } = delivered;
      const sound = request.returnFormat === 'url' ? toLink(delivered) : await inline(delivered, call.signal);
      return { ...describe(delivered), chars, charsCharged, duration: toDuration(seconds), cached, ...sound };
    },
    async *streamSpeech(message, context) {
      const fields = { method: 'streaming', ...fieldsOf(StreamSpeechRequestSchema, message) };
      const events = speech.streamSpeech(callOf(context), parseSpeechRequest(fields));
      for await (const event of events) yield toStreamResponse(event);
    },
    async *liveSpeech(messages, context) {
      for await (const event of live.liveSpeech(callOf(context), toLiveInputs(messages))) yield toLiveResponse(event);
    },
    async estimateSpeech(message, context) {
      const fields = { method: 'streaming', ...fieldsOf(EstimateSpeechRequestSchema, message) };
      const estimate = await speech.estimateSpeech(callOf(context), parseSpeechRequest(fields));
      const { seconds, byteCount, segmentCount: segments, warnings, chars } = estimate;
      return { chars, duration: toDuration(seconds), bytes: BigInt(byteCount), segments, warnings: [...warnings] };
    },
    async deleteAudio({ audioId }, context) {
      const field = 'audio_id';
      if (audioId === '') throw invalid({ field, reason: 'required', message: 'is required' });
      if (audioId.includes('\0')) throw invalid({ field, reason: 'encoding', message: 'contains a NUL character' });
      await speech.deleteAudio(callOf(context), audioId);
      return {};
    },
  };
}

const bufferBytesMax = amount('buffer_bytes_max');

const invalid = (...details: FieldViolation[]) => new Failure('invalid_request', { details });

const outOfRange = (field: string, message: string): FieldViolation => ({ field, reason: 'range', message });

/** The fields of the message by their JSON names. An empty string without field presence is left out. */
const fieldsOf = (desc: DescMessage, message: Message): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(writeMessage(desc, message)).filter(
      ([name, value]) => value !== '' || hasPresence(fieldOf(desc, name)),
    ),
  );

async function* toLiveInputs(messages: AsyncIterable<LiveSpeechRequest>): AsyncGenerator<LiveInput> {
  for await (const { request } of messages) yield toLiveInput(request);
}

function toLiveInput({ case: type, value }: LiveSpeechRequest['request']): LiveInput {
  switch (type) {
    case 'start':
      return { type, start: parseLiveStart(fieldsOf(LiveStartSchema, value)) };
    case 'text':
      return { type, text: value.text };
    case 'interrupt': {
      const { playedMs, turn } = value;
      const negative = Object.entries({ played_ms: playedMs, turn }).filter(
        ([, given]) => given !== undefined && !(given >= 0),
      );
      if (negative.length > 0)
        throw invalid(...negative.map(([name]) => outOfRange(`interrupt.${name}`, 'must be 0 or more')));
      return { type, playedMs, turn };
    }
    case 'flush':
    case 'end':
      return { type };
    default:
      throw new Failure('invalid_request', { message: 'A request must contain start, text, flush, interrupt or end.' });
  }
}

function toStreamResponse(event: SpeechEvent): MessageInitShape<typeof StreamSpeechResponseSchema> {
  switch (event.type) {
    case 'info': {
      const { chunkCount: chunks, chars, audioUrl = '', expiresAt } = event;
      const stored = { audioUrl, ...(expiresAt && { expiresAt: timestampFromDate(expiresAt) }) };
      return { event: { case: 'info', value: { ...toInfo(event), chunks, chars, ...stored } } };
    }
    case 'audio':
      return { event: { case: 'audio', value: { chunkIndex: event.chunkIndex, audio: event.audio } } };
    case 'timestamps':
      return { event: { case: 'timestamps', value: { chunkIndex: event.chunkIndex, ...toTimestamps(event) } } };
    case 'mark':
      return { event: { case: 'mark', value: { chunkIndex: event.chunkIndex, ...toMark(event) } } };
    case 'chunk_done': {
      const { chunkIndex, chars, startSeconds: start, endSeconds: end } = event;
      return { event: { case: 'chunkDone', value: { chunkIndex, chars, start, end } } };
    }
    case 'done': {
      const { chars, seconds, byteCount, audioUrl = '' } = event;
      const value = { chars, duration: toDuration(seconds), bytes: BigInt(byteCount), audioUrl };
      return { event: { case: 'done', value } };
    }
  }
}

function toLiveResponse(event: LiveEvent): MessageInitShape<typeof LiveSpeechResponseSchema> {
  switch (event.type) {
    case 'info':
      return { event: { case: 'info', value: { turn: event.turn, ...toInfo(event) } } };
    case 'audio':
      return { event: { case: 'audio', value: { turn: event.turn, audio: event.audio } } };
    case 'timestamps':
      return { event: { case: 'timestamps', value: { turn: event.turn, ...toTimestamps(event) } } };
    case 'mark':
      return { event: { case: 'mark', value: { turn: event.turn, ...toMark(event) } } };
    case 'flushed': {
      const { turn, chars, seconds } = event;
      return { event: { case: 'flushed', value: { turn, chars, duration: toDuration(seconds) } } };
    }
    case 'interrupted': {
      const { type: _, ...value } = event;
      return { event: { case: 'interrupted', value } };
    }
    case 'done':
      return { event: { case: 'done', value: { chars: event.chars, duration: toDuration(event.seconds) } } };
  }
}

type Described = Pick<Delivered, 'audioId' | 'format' | 'sampleRateHz' | 'warnings'> & Pick<LiveInfo, 'voice'>;

const describe = ({ audioId: id, voice, format, sampleRateHz: sampleRate, warnings }: Described) => ({
  id,
  voiceId: voice.voiceId,
  voiceName: voice.name,
  format: toEnum(OutputFormatSchema, format),
  sampleRate,
  warnings: [...warnings],
});

const toInfo = (info: Described & Pick<SpeechInfo, 'contentType'>) => ({
  ...describe(info),
  contentType: info.contentType,
  channels: 1,
});

const toTimestamps = ({
  words,
  quality,
  languageCode,
}: Pick<SpeechTimestamps, 'words' | 'quality' | 'languageCode'>) => ({
  words: words.map(({ startSeconds: start, endSeconds: end, ...word }) => ({ ...word, start, end })),
  quality: toEnum(SpeechTimestamps_QualitySchema, quality),
  ...(languageCode && { languageCode }),
});

const toMark = ({ kind, name, seconds: time }: Pick<SpeechMark, 'kind' | 'name' | 'seconds'>) => ({
  kind: toEnum(SpeechMark_KindSchema, kind),
  name,
  time,
});

/** Rounds to whole microseconds. */
function toDuration(seconds: number) {
  const micros = Math.round(seconds * 1e6);
  return { seconds: BigInt(Math.floor(micros / 1e6)), nanos: (micros % 1e6) * 1000 };
}

type Sound = Pick<MessageInitShape<typeof SynthesizeSpeechResponseSchema>, 'audio' | 'expiresAt' | 'captions'>;

const toLink = ({ audioUrl, captionUrls, expiresAt }: Delivered): Sound => ({
  audio: { case: 'audioUrl', value: audioUrl },
  expiresAt: timestampFromDate(expiresAt),
  captions: Object.entries(captionUrls).map(([kind, url]) => ({ format: toEnum(CaptionFormatSchema, kind), url })),
});

async function inline(delivered: Delivered, signal: AbortSignal): Promise<Sound> {
  const pieces: Uint8Array[] = [];
  for await (const piece of delivered.open()) {
    signal.throwIfAborted();
    pieces.push(piece);
  }
  return { audio: { case: 'audioBytes', value: Buffer.concat(pieces) } };
}
