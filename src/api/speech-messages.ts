// Converts the results of speech to messages, which gRPC sends and the other transports write as JSON.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  CaptionFormatSchema,
  type LiveSpeechResponseSchema,
  OutputFormatSchema,
  SpeechMark_KindSchema,
  SpeechTimestamps_QualitySchema,
  type StreamSpeechResponseSchema,
  type SynthesizeSpeechResponseSchema,
} from '../../gen/sonant/v1/speech_pb.ts';
import type { Clip } from '../clips.ts';
import type { Plan, SpeechEvent, SpeechFindings } from '../speech.ts';
import type { LiveEvent, LiveInfo } from './live-session.ts';
import { toEnum } from './messages.ts';

/** Rounds to microseconds. */
export const roundSeconds = (seconds: number): number => Math.round(seconds * 1e6) / 1e6;

const toEvent = <Case extends string, Value>(name: Case, value: Value) => ({ event: { case: name, value } });

/** The response to a whole text: with a link to the audio, or with the audio itself. */
export async function toSynthesizeResponse(delivered: Clip, isLink: boolean, signal: AbortSignal) {
  const { chars, charsCharged, seconds, cached } = delivered;
  const sound = isLink ? toLink(delivered) : await inline(delivered, signal);
  return { ...describe(delivered), chars, charsCharged, duration: toDuration(seconds), cached, ...sound };
}

export function toStreamResponse(event: SpeechEvent): MessageInitShape<typeof StreamSpeechResponseSchema> {
  switch (event.type) {
    case 'info': {
      const { chunkCount: chunks, chars, audioUrl = '', expiresAt } = event;
      const stored = { audioUrl, ...(expiresAt && { expiresAt: timestampFromDate(expiresAt) }) };
      return toEvent('info', { ...toInfo(event), chunks, chars, ...stored });
    }
    case 'audio':
      return toEvent('audio', { chunkIndex: event.chunkIndex, audio: event.audio });
    case 'timestamps':
      return toEvent('timestamps', { chunkIndex: event.chunkIndex, ...toTimestamps(event) });
    case 'mark':
      return toEvent('mark', { chunkIndex: event.chunkIndex, ...toMark(event) });
    case 'chunk_done': {
      const { chunkIndex, chars, startSeconds, endSeconds } = event;
      const [start, end] = [roundSeconds(startSeconds), roundSeconds(endSeconds)];
      return toEvent('chunkDone', { chunkIndex, chars, start, end });
    }
    case 'done': {
      const { chars, seconds, byteCount, audioUrl = '' } = event;
      const checked = toChecked(event);
      return toEvent('done', { chars, duration: toDuration(seconds), bytes: BigInt(byteCount), audioUrl, ...checked });
    }
  }
}

export function toLiveResponse(event: LiveEvent): MessageInitShape<typeof LiveSpeechResponseSchema> {
  switch (event.type) {
    case 'info':
      return toEvent('info', { turn: event.turn, ...toInfo(event) });
    case 'audio':
    case 'interrupted': {
      const { type, ...value } = event;
      return toEvent(type, value) as MessageInitShape<typeof LiveSpeechResponseSchema>;
    }
    case 'timestamps':
      return toEvent('timestamps', { turn: event.turn, ...toTimestamps(event) });
    case 'mark':
      return toEvent('mark', { turn: event.turn, ...toMark(event) });
    case 'flushed':
      return toEvent('flushed', {
        turn: event.turn,
        chars: event.chars,
        duration: toDuration(event.seconds),
        ...toChecked(event),
      });
    case 'checked':
      return toEvent('checked', { turn: event.turn, ...toChecked(event) });
    case 'done':
      return toEvent('done', { chars: event.chars, duration: toDuration(event.seconds) });
  }
}

export const toEstimateResponse = (estimate: Awaited<ReturnType<Plan['estimate']>>) => ({
  chars: estimate.chars,
  duration: toDuration(estimate.seconds),
  bytes: BigInt(estimate.byteCount),
  segments: estimate.segmentCount,
  warnings: [...estimate.warnings],
});

type Described = Pick<Clip, 'audioId' | 'format' | 'sampleRateHz' | 'warnings'> & Pick<LiveInfo, 'voice'>;

const describe = ({ audioId: id, voice, format, sampleRateHz: sampleRate, warnings }: Described) => ({
  id,
  voiceId: voice.voiceId,
  voiceName: voice.name,
  format: toEnum(OutputFormatSchema, format),
  sampleRate,
  warnings: [...warnings],
});

const toInfo = (info: Described & Pick<SpeechEvent<'info'>, 'contentType'>) => ({
  ...describe(info),
  contentType: info.contentType,
  channels: 1,
});

const toTimestamps = ({
  words,
  quality,
  languageCode,
}: Pick<SpeechEvent<'timestamps'>, 'words' | 'quality' | 'languageCode'>) => ({
  words: words.map(({ startSeconds, endSeconds, ...word }) => ({
    ...word,
    start: roundSeconds(startSeconds),
    end: roundSeconds(endSeconds),
  })),
  quality: toEnum(SpeechTimestamps_QualitySchema, quality),
  ...(languageCode && { languageCode }),
});

const toMark = ({ kind, name, seconds }: Pick<SpeechEvent<'mark'>, 'kind' | 'name' | 'seconds'>) => ({
  kind: toEnum(SpeechMark_KindSchema, kind),
  name,
  time: roundSeconds(seconds),
});

const toChecked = ({ suspects = [], unchecked = 0 }: SpeechFindings) => ({
  suspects: suspects.map(({ startSeconds: start, seconds, chunkIndex, faults = [], text, heard }) => ({
    chunkIndex,
    start,
    end: roundSeconds(start + seconds),
    faults: [...faults],
    ...(faults.includes('words_differ') && { said: text, heard: heard ?? '' }),
  })),
  unchecked,
});

/** Rounds to whole microseconds. */
function toDuration(seconds: number) {
  const micros = Math.round(seconds * 1e6);
  return { seconds: BigInt(Math.floor(micros / 1e6)), nanos: (micros % 1e6) * 1000 };
}

type Sound = Pick<MessageInitShape<typeof SynthesizeSpeechResponseSchema>, 'audio' | 'expiresAt' | 'captions'>;

const toLink = ({ audioUrl, captionUrls, expiresAt }: Clip): Sound => ({
  audio: { case: 'audioUrl', value: audioUrl },
  expiresAt: timestampFromDate(expiresAt),
  captions: Object.entries(captionUrls).map(([kind, url]) => ({ format: toEnum(CaptionFormatSchema, kind), url })),
});

async function inline(delivered: Clip, signal: AbortSignal): Promise<Sound> {
  const pieces: Uint8Array[] = [];
  for await (const piece of delivered.open()) {
    signal.throwIfAborted();
    pieces.push(piece);
  }
  return { audio: { case: 'audioBytes', value: Buffer.concat(pieces) } };
}
