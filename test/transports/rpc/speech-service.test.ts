// Tests sonant.v1.SpeechService through every protocol: gRPC by @grpc/grpc-js, gRPC-Web and Connect by Connect's
// clients. Identical requests return the same bytes and the same result.
import { toJson } from '@bufbuild/protobuf';
import type { ConnectError } from '@connectrpc/connect';
import { describe, expect, test } from 'vitest';
import {
  OutputFormat,
  ReturnFormat,
  SpeechTimestamps_Quality,
  type StreamSpeechResponse,
  StreamSpeechResponseSchema,
  TimestampKind,
} from '../../../gen/sonant/v1/speech_pb.ts';
import { explain, failureOf } from './grpc-client.ts';
import { connectClients, goodKey, openTestServices } from './open-services.ts';
import { fromConnectError } from './received-failure.ts';

const key = { headers: { 'x-api-key': 'good' } };
const collect = (events: AsyncIterable<StreamSpeechResponse>) => Array.fromAsync(events);
const joined = (events: StreamSpeechResponse[]) =>
  Buffer.concat(events.flatMap(({ event }) => (event.case === 'audio' ? [event.value.audio] : [])));
const plain = (events: StreamSpeechResponse[]) =>
  events.map((event) => JSON.stringify(toJson(StreamSpeechResponseSchema, event)));

describe('a stream', () => {
  const request = {
    voiceId: 'björk',
    textChunks: ['One pieces=3 bytes=9000', 'Two'],
    outputFormat: OutputFormat.MP3,
    sampleRate: 24000,
    languageCode: 'is',
    timestamps: TimestampKind.WORD,
  };

  test('has the same events and bytes through every way in', async () => {
    const services = await openTestServices();
    const byGrpc = (await services.speech.stream('streamSpeech', request, goodKey).toArray()) as StreamSpeechResponse[];
    expect(joined(byGrpc).length).toBe(3 * 9000 + 3 * 64);
    for (const [name, client] of Object.entries(connectClients(services))) {
      expect(plain(await collect(client.streamSpeech(request, key))), name).toEqual(plain(byGrpc));
    }
    expect(services.fakeSpeech.counts).toMatchObject({ begun: 5, finished: 5, running: 0 });
    expect(services.calls.map(({ api, status }) => `${api} ${status}`).sort()).toEqual([
      'connect OK',
      'connect OK',
      'grpc OK',
      'grpc-web OK',
      'grpc-web OK',
    ]);
    expect(services.calls.every(({ messageCount }) => messageCount === byGrpc.length)).toBe(true);
  });

  test('has every field of the speech events', async () => {
    const services = await openTestServices();
    const events = (await services.speech.stream('streamSpeech', request, goodKey).toArray()) as StreamSpeechResponse[];
    const of = (wanted: string) => events.flatMap(({ event }) => (event.case === wanted ? [event.value] : []));
    expect(of('info')).toMatchObject([
      {
        id: 'aud_tiny',
        voiceId: 'björk',
        voiceName: 'Björk 声 🎙',
        format: OutputFormat.MP3,
        contentType: 'audio/mpeg',
        sampleRate: 24000,
        channels: 1,
        chunks: 2,
        chars: 26,
        warnings: ['transliterated'],
        audioUrl: '',
        cached: false,
      },
    ]);
    expect(of('timestamps')).toMatchObject([
      {
        chunkIndex: 0,
        quality: SpeechTimestamps_Quality.ESTIMATED,
        words: [{ text: 'a', start: 0, end: 0.5 }],
      },
      { chunkIndex: 1 },
    ]);
    expect(of('chunkDone')).toMatchObject([
      { chunkIndex: 0, end: 1 },
      { chunkIndex: 1, chars: 3 },
    ]);
    const bytes = BigInt(joined(events).length);
    expect(of('done')).toMatchObject([{ chars: 26, bytes, duration: { seconds: 1n, nanos: 234_568_000 } }]);
    expect(events.at(-1)?.event.case).toBe('done');
  });

  test('has its link, if requested, in the first event and the last', async () => {
    const { speech } = await openTestServices();
    const linkOf = async (returnFormat: ReturnFormat) => {
      const events = await speech.stream('streamSpeech', { ...request, returnFormat }, goodKey).toArray();
      const [first, last] = [events[0], events.at(-1)].map(({ event }: StreamSpeechResponse) => event.value);
      return [first, last];
    };
    const audioUrl = 'http://sonant.test/audio/aud_tiny';
    expect(await linkOf(ReturnFormat.URL)).toMatchObject([
      { audioUrl, expiresAt: { seconds: 1_893_553_445n } },
      { audioUrl },
    ]);
    expect(await linkOf(ReturnFormat.UNSPECIFIED)).toMatchObject([{ audioUrl: '' }, { audioUrl: '' }]);
  });

  test('speaks a text as its only chunk', async () => {
    const { speech } = await openTestServices();
    const read = (fields: object) => speech.stream('streamSpeech', { voiceId: 'ada', ...fields }, goodKey).toArray();
    const [one, same] = [await read({ text: 'pieces=3 a' }), await read({ textChunks: ['pieces=3 a'] })];
    expect(joined(one).equals(joined(same))).toBe(true);
    expect(one.filter(({ event }) => event.case === 'chunkDone')).toHaveLength(1);
    const both = speech.stream('streamSpeech', { voiceId: 'ada', text: 'a', textChunks: ['b'] }, goodKey).toArray();
    expect(explain(await failureOf(both)).violations).toMatchObject([{ field: 'text', reason: 'CONFLICT' }]);
  });

  test('that fails after its first sound ends in the failure through every way in, never cleanly', async () => {
    const services = await openTestServices();
    const request = { voiceId: 'ada', textChunks: ['pieces=9 fail=2'] };
    const seen: string[] = [];
    const stream = services.speech.stream('streamSpeech', request, goodKey);
    stream.on('data', ({ event }: StreamSpeechResponse) => seen.push(event.case!));
    const error = await new Promise((resolve) => stream.on('error', resolve));
    expect(seen).toEqual(['info', 'audio', 'audio']);
    expect(explain(error)).toMatchObject({ code: 'INTERNAL', info: { reason: 'ENGINE_ERROR', domain: 'sonant' } });
    for (const [name, client] of Object.entries(connectClients(services))) {
      const seen: string[] = [];
      const read = async () => {
        for await (const { event } of client.streamSpeech(request, key)) seen.push(event.case!);
      };
      const failure = fromConnectError((await failureOf(read())) as ConnectError);
      expect([failure.reason, ...seen], name).toEqual(['engine_error', 'info', 'audio', 'audio']);
    }
  });
});

describe('a unary call', () => {
  test('takes the defaults of the specification and answers with a link', async () => {
    const { speech } = await openTestServices();
    const answer = await speech.unary('synthesizeSpeech', { voiceId: 'ada', text: '😀 Hello' }, goodKey);
    expect(answer).toMatchObject({
      voiceId: 'ada',
      voiceName: 'Ada',
      chars: 7,
      format: OutputFormat.WAV,
      sampleRate: 44100,
      duration: { seconds: 2n, nanos: 500_000_000 },
      cached: false,
      audio: { case: 'audioUrl', value: expect.stringMatching(/^http:\/\/sonant\.test\/audio\/aud_\d+\.wav$/) },
      expiresAt: { seconds: 1_893_553_445n },
    });
  });

  test('with more inline audio than may be, is refused with the way out', async () => {
    const { speech } = await openTestServices();
    const post = (text: string, bufferBytesMax?: number) =>
      failureOf(
        speech.unary(
          'synthesizeSpeech',
          {
            voiceId: 'ada',
            text,
            returnFormat: ReturnFormat.BUFFER,
            ...(bufferBytesMax !== undefined && { bufferBytesMax }),
          },
          goodKey,
        ),
      ).then(explain);
    const refused = await post('pieces=2 bytes=600', 1000);
    expect(refused).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('call StreamSpeech'),
      info: { reason: 'INVALID_REQUEST', metadata: { limit: '1000', actual: '1200' } },
      violations: [{ field: 'buffer_bytes_max', reason: 'TOO_LONG' }],
    });
    expect((await post('pieces=5 bytes=1000000')).violations).toMatchObject([{ field: 'buffer_bytes_max' }]);
    expect((await post('x', 4_000_001)).violations).toMatchObject([{ field: 'buffer_bytes_max', reason: 'RANGE' }]);
    expect((await post('x', 0)).violations).toMatchObject([{ field: 'buffer_bytes_max', reason: 'RANGE' }]);
  });

  test('of 4 000 000 bytes passes a client with the usual limit of 4 MiB a message', async () => {
    const { speech } = await openTestServices();
    const request = { voiceId: 'ada', text: 'pieces=4 bytes=1000000', returnFormat: ReturnFormat.BUFFER };
    const { audio } = await speech.unary('synthesizeSpeech', request, goodKey);
    expect(audio.value).toHaveLength(4_000_000);
  });
});

test('an estimate counts without speaking', async () => {
  const { speech, fakeSpeech } = await openTestServices();
  const estimate = await speech.unary('estimateSpeech', { voiceId: 'ada', textChunks: ['ab', 'cd'] }, goodKey);
  expect(estimate).toMatchObject({
    chars: 4,
    segments: 2,
    bytes: 2n ** 33n,
    duration: { seconds: 0n, nanos: 5e8 },
  });
  expect(fakeSpeech.counts.begun).toBe(0);
});

test('audio is deleted by its owner, once', async () => {
  const { speech } = await openTestServices();
  const { id: audioId } = await speech.unary('synthesizeSpeech', { voiceId: 'ada', text: 'x' }, goodKey);
  const remove = (audioId: string) => speech.unary('deleteAudio', { audioId }, goodKey);
  await remove(audioId);
  expect(explain(await failureOf(remove(audioId)))).toMatchObject({ code: 'NOT_FOUND', info: { reason: 'NOT_FOUND' } });
  expect(explain(await failureOf(remove(''))).violations).toMatchObject([{ field: 'audio_id', reason: 'REQUIRED' }]);
});
