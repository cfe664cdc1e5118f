// Tests SpeechService.LiveSpeech with @grpc/grpc-js, which shares no code with the server, and Connect on HTTP/1.1.
import { on } from 'node:events';
import { create } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { expect, test } from 'vitest';
import {
  LiveSpeechRequestSchema,
  OutputFormat,
  SpeechService,
  TimestampKind,
} from '../../../gen/sonant/v1/speech_pb.ts';
import { openTestGateway } from '../http/open-gateway.ts';
import { explain } from './grpc-client.ts';
import { openCore } from './open-core.ts';

async function openLive(options: Parameters<typeof openTestGateway>[0] = {}) {
  const gateway = await openTestGateway(options);
  const { target, clientOf } = await openCore(gateway);
  const client = clientOf(SpeechService);
  const begin = (fields: object = {}) => {
    const stream = client.bidi('liveSpeech', { metadata: { 'x-api-key': gateway.key } });
    const events = on(stream, 'data', { close: ['end'] });
    const send = (request: object) => void stream.write({ request } as never);
    send({ case: 'start', value: { voiceId: 'tone-low', ...fields } });
    const until = async (type: string) => {
      const seen: { case: string; value: Record<string, unknown> }[] = [];
      for (;;) {
        const { value, done } = await events.next();
        if (done) throw new Error(`it ended before ${type}`);
        seen.push(value[0].event);
        if (seen.at(-1)!.case === type) return seen;
      }
    };
    return { stream, send, until, events };
  };
  return { ...gateway, target, client, begin };
}

/** A timeout longer than any pause on a busy machine. */
const patient = { timeout: 20_000 };

const soundOf = (events: { case: string; value: Record<string, unknown> }[]) =>
  Buffer.concat(events.flatMap((event) => (event.case === 'audio' ? [event.value.audio as Uint8Array] : [])));

test.each([-1, 99])('an interrupt of turn %i is refused', async (turn) => {
  const { begin } = await openLive();
  const { stream, send, until } = begin();
  const failed = new Promise<Error>((resolve) => void stream.once('error', resolve));
  until('done').catch(() => {});
  send({ case: 'text', value: { text: 'Hello.' } });
  send({ case: 'interrupt', value: { turn } });
  const failure = explain((await failed) as never);
  expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(JSON.stringify(failure)).toContain('"turn"');
});

test('text goes in and sound comes out, turn by turn, at the rate of telephones', async () => {
  const { begin } = await openLive();
  const { send, until } = begin({
    sampleRate: 8000,
    outputFormat: OutputFormat.ULAW,
    timestamps: TimestampKind.WORD,
  });
  send({ case: 'text', value: { text: 'Good morn' } });
  send({ case: 'text', value: { text: 'ing. How' } });
  const first = await until('timestamps');
  expect(first[0]).toMatchObject({
    case: 'info',
    value: {
      turn: 0,
      voiceId: 'tone-low',
      format: OutputFormat.ULAW,
      contentType: 'audio/PCMU',
      sampleRate: 8000,
    },
  });
  expect(first.at(-1)!.value.words).toMatchObject([{ text: 'Good' }, { text: 'morning', offset: 5 }]);
  send({ case: 'text', value: { text: ' are you?' } });
  send({ case: 'flush', value: {} });
  const rest = await until('flushed');
  const { duration, chars } = rest.at(-1)!.value as { duration: { seconds: bigint; nanos: number }; chars: number };
  expect(chars).toBe(26);
  const seconds = Number(duration.seconds) + duration.nanos / 1e9;
  expect(soundOf([...first, ...rest]).length).toBe(Math.round(seconds * 8000));
  send({ case: 'text', value: { text: 'Never mind, this is long enough to be stopped. '.repeat(20) } });
  await until('audio');
  send({ case: 'interrupt', value: { playedMs: 1 } });
  const stopped = await until('interrupted');
  expect(stopped.at(-1)).toMatchObject({ value: { turn: 1, playedMs: 1, textSpoken: 'Never' } });
  send({ case: 'end', value: {} });
  expect((await until('done')).map((event) => event.case)).toEqual(['done']);
});

test.each([
  ['no start', { case: 'flush', value: {} }, 'INVALID_ARGUMENT'],
  ['an empty request', undefined, 'INVALID_ARGUMENT'],
  [
    'a rate that there is not',
    { case: 'start', value: { voiceId: 'tone-low', sampleRate: 11025 } },
    'INVALID_ARGUMENT',
  ],
  ['a voice that there is not', { case: 'start', value: { voiceId: 'nobody' } }, 'NOT_FOUND'],
])('%s is refused', async (_, request, code) => {
  const { key, client } = await openLive();
  const stream = client.bidi('liveSpeech', { metadata: { 'x-api-key': key } });
  const failed = new Promise((resolve) => stream.once('error', resolve));
  stream.write({ request } as never);
  expect(explain(await failed)).toMatchObject({ code, info: { domain: 'sonant' } });
});

test('a caller who leaves frees the engine and its place', async () => {
  const { begin, tone, schedule, calls } = await openLive({ trouble: { pieceDelayMs: 5 } });
  const { stream, send, until } = begin();
  stream.on('error', () => {});
  send({ case: 'text', value: { text: 'This goes on and on and on and on. '.repeat(20) } });
  await until('audio');
  stream.cancel();
  await expect.poll(() => [tone.counts.running, schedule.state.speaking], patient).toEqual([0, 0]);
  await expect
    .poll(() => calls.at(-1))
    .toMatchObject({ method: 'sonant.v1.SpeechService/LiveSpeech', status: 'CANCELLED' });
});

test.each(['2', '1.1'] as const)('over Connect on HTTP/%s', async (httpVersion) => {
  const { url, key, target } = await openLive();
  const baseUrl = httpVersion === '2' ? `http://${target}` : url;
  const client = createClient(SpeechService, createConnectTransport({ baseUrl, httpVersion } as never));
  const requests = async function* () {
    for (const request of [
      { case: 'start', value: { voiceId: 'tone-low' } },
      { case: 'text', value: { text: 'One. Two.' } },
    ])
      yield create(LiveSpeechRequestSchema, { request: request as never });
  };
  const cases: (string | undefined)[] = [];
  const read = async () => {
    for await (const { event } of client.liveSpeech(requests(), { headers: { 'x-api-key': key } }))
      cases.push(event.case);
  };
  if (httpVersion === '1.1') return expect(read()).rejects.toThrow('HTTP 505');
  await read();
  expect(cases[0]).toBe('info');
  expect(cases.slice(-2)).toEqual(['flushed', 'done']);
});
