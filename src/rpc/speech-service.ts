// sonant.v1.SpeechService: the heart's requests, events and failures in the words of the proto, and nothing besides.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import {
  ReturnFormat,
  type SpeechInfoSchema,
  type SpeechService,
  SpeechTimestamps_Quality,
  type StreamSpeechResponseSchema,
  type SynthesizeSpeechResponseSchema,
} from '../../gen/sonant/v1/speech_pb.ts';
import type { Delivered, DeliveredInfo, Delivery } from '../delivery/delivery.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { limitStatusReporter } from '../limits/rate-limit-headers.ts';
import { inlineBytesMax } from '../operations/limits.ts';
import type { Asking, Metered } from '../operations/metering.ts';
import type { CaptionKind, SpeechRequest } from '../speech/request.ts';
import type { SpeechEvent } from '../speech/speech-events.ts';
import { callerOf, handoverKey } from './call.ts';
import { requireText } from './required.ts';
import { toCaptionFormat, toOutputFormat } from './speech-enums.ts';
import { parseEstimate, parseStream, parseSynthesize } from './speech-fields.ts';

type Service = ServiceImpl<typeof SpeechService>;
type Event = MessageInitShape<typeof StreamSpeechResponseSchema>;

export function createSpeechService(delivery: Delivery, metered: Metered): Service {
  const synthesizeSpeech: Service['synthesizeSpeech'] = async (message, context) => {
    const { value: bytesMax, faults } = readInlineBytesMax(message.inlineBytesMax);
    const request = parseSynthesize(message, faults);
    const audioUrlWanted = message.returnFormat !== ReturnFormat.INLINE;
    const options = { fresh: isFreshWanted(context), audioUrlWanted };
    const asking = askingOf(request, context);
    delivery.checkVoice(request, asking.caller);
    const delivered = await metered.deliver(asking, () =>
      delivery.deliver(request, asking.caller, asking.signal, options),
    );
    const handover = context.values.get(handoverKey);
    if (handover) handover.delivered = delivered;
    return {
      ...describe(delivered),
      ...(audioUrlWanted && linkTo(delivered)),
      ...(!audioUrlWanted && !handover && (await inline(delivered, bytesMax, context.signal))),
    };
  };

  async function* stream(...[message, context]: Parameters<Service['streamSpeech']>): AsyncGenerator<Event> {
    const request = parseStream(message);
    let audioUrl = '';
    const asking = askingOf(request, context);
    delivery.checkVoice(request, asking.caller);
    const events = () => delivery.streamSpeech(request, asking.caller, asking.signal);
    for await (const event of metered.stream(asking, events)) {
      if (event.type === 'info') audioUrl = (event as DeliveredInfo).audioUrl ?? '';
      yield toEvent(event, audioUrl);
    }
  }

  return {
    synthesizeSpeech,
    streamSpeech: stream,
    async estimateSpeech(message, context) {
      const { seconds, byteCount, warnings, ...estimate } = await delivery.estimate(
        parseEstimate(message),
        callerOf(context),
      );
      return { ...estimate, warnings: [...warnings], duration: toDuration(seconds), byteCount: BigInt(byteCount) };
    },
    async deleteAudio({ audioId }, context) {
      const named = requireText('audio_id', audioId, 'name the audio to delete');
      await delivery.remove(named, callerOf(context));
      return {};
    },
  };
}

const askingOf = (request: SpeechRequest, context: HandlerContext): Asking => ({
  caller: callerOf(context),
  request,
  signal: context.signal,
  tell: limitStatusReporter(context),
});

function readInlineBytesMax(value = inlineBytesMax): { value: number; faults: FieldViolation[] } {
  const field = 'inline_bytes_max';
  const isValid = value >= 1 && value <= inlineBytesMax;
  const fault = { field, reason: 'range', message: `must be 1 to ${inlineBytesMax}` };
  return { value, faults: isValid ? [] : [fault] };
}

const isFreshWanted = ({ requestHeader }: HandlerContext) =>
  /\bno-cache\b/i.test(requestHeader.get('cache-control') ?? '');

const describe = (delivered: Delivered) => ({
  audioId: delivered.audioId,
  voiceId: delivered.voice.voiceId,
  voiceName: delivered.voice.name,
  chars: delivered.chars,
  outputFormat: toOutputFormat[delivered.format],
  sampleRateHz: delivered.sampleRateHz,
  duration: toDuration(delivered.seconds),
  cached: delivered.cached,
  warnings: [...delivered.warnings],
});

type Audio = Pick<MessageInitShape<typeof SynthesizeSpeechResponseSchema>, 'audio' | 'expireTime' | 'captions'>;

const linkTo = ({ audioUrl, captionUrls, expiresAt }: Delivered) =>
  ({
    audio: { case: 'audioUrl', value: audioUrl },
    expireTime: timestampFromDate(expiresAt),
    captions: Object.entries(captionUrls).map(([kind, url]) => ({ format: toCaptionFormat[kind as CaptionKind], url })),
  }) satisfies Audio;

async function inline(delivered: Delivered, bytesMax: number, signal: AbortSignal) {
  const { byteCount } = delivered;
  if (byteCount > bytesMax) {
    const message = `The audio has ${byteCount} bytes, more than the ${bytesMax} that may be inline; ask for a link, or call StreamSpeech.`;
    const details = [{ field: 'inline_bytes_max', reason: 'too_long', message }];
    throw new Failure('invalid_request', { message, limit: bytesMax, actual: byteCount, details });
  }
  const pieces: Uint8Array[] = [];
  for await (const piece of delivered.open()) {
    signal.throwIfAborted();
    pieces.push(piece);
  }
  return {
    audio: { case: 'audioBytes', value: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces) },
  } satisfies Audio;
}

function toEvent(event: SpeechEvent | DeliveredInfo, audioUrl: string): Event {
  switch (event.type) {
    case 'info':
      return { event: { case: 'info', value: toInfo(event) } };
    case 'audio':
      return { event: { case: 'audio', value: { chunkIndex: event.chunkIndex, audioBytes: event.audio } } };
    case 'timestamps': {
      const { chunkIndex, words, quality } = event;
      return { event: { case: 'timestamps', value: { chunkIndex, words: [...words], quality: toQuality[quality] } } };
    }
    case 'chunk_done': {
      const { type: _, ...done } = event;
      return { event: { case: 'chunkDone', value: done } };
    }
    case 'done': {
      const { chars, seconds, byteCount } = event;
      const value = { chars, duration: toDuration(seconds), byteCount: BigInt(byteCount), audioUrl };
      return { event: { case: 'done', value } };
    }
  }
}

const toInfo = (info: DeliveredInfo): MessageInitShape<typeof SpeechInfoSchema> => ({
  audioId: info.audioId,
  voiceId: info.voice.voiceId,
  voiceName: info.voice.name,
  outputFormat: toOutputFormat[info.format],
  contentType: info.contentType,
  sampleRateHz: info.sampleRateHz,
  channelCount: 1,
  chunkCount: info.chunkCount,
  chars: info.chars,
  warnings: [...info.warnings],
  audioUrl: info.audioUrl ?? '',
  ...(info.expiresAt && { expireTime: timestampFromDate(info.expiresAt) }),
});

const toQuality = {
  engine: SpeechTimestamps_Quality.ENGINE,
  estimated: SpeechTimestamps_Quality.ESTIMATED,
} as const;

/** To the microsecond, in whole nanoseconds. */
function toDuration(seconds: number) {
  const micros = Math.round(seconds * 1e6);
  return { seconds: BigInt(Math.floor(micros / 1e6)), nanos: (micros % 1e6) * 1000 };
}
