// Tests one request through every transport: the same bytes if the container is the same, the same number of
// characters, and the same reason if it is refused.
import { type ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { afterAll, describe, expect, test } from 'vitest';
import { OutputFormat, ReturnFormat, SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { formatNames } from '../../src/speech/fields.ts';
import { type ReadEvent, readEvents, soundIn } from '../transports/http/event-reader.ts';
import { bytesOf, openTestGateway } from '../transports/http/open-gateway.ts';
import { explain, failureOf } from '../transports/rpc/grpc-client.ts';
import { openCore } from '../transports/rpc/open-core.ts';
import { fromConnectError } from '../transports/rpc/received-failure.ts';

const trouble: NonNullable<Parameters<typeof openTestGateway>[0]>['trouble'] = {};
const gateway = await openTestGateway({ trouble }, afterAll);
const { target, clientOf } = await openCore(gateway, afterAll);
const grpcJs = clientOf(SpeechService);

const key = { 'X-API-Key': gateway.key };
const metadata = { 'x-api-key': gateway.key };
const baseUrl = gateway.url;
const transports: Record<string, Transport> = {
  'Connect binary': createConnectTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: true }),
  'Connect JSON': createConnectTransport({ baseUrl, httpVersion: '1.1' }),
  'gRPC-Web': createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }),
  'gRPC (Connect)': createGrpcTransport({ baseUrl: `http://${target}` }),
};
const clients = Object.entries(transports).map(([name, one]) => [name, createClient(SpeechService, one)] as const);

const outputFormats = {
  wav: OutputFormat.WAV,
  pcm: OutputFormat.PCM,
  mp3: OutputFormat.MP3,
  opus: OutputFormat.OPUS,
  flac: OutputFormat.FLAC,
} as const;
const cases = formatNames.flatMap((format) => [24_000, 44_100, 48_000].map((rate) => [format, rate] as const));

/** Audio events that follow the end of their own chunk. */
const audioAfterItsChunk = (events: readonly ReadEvent[]) =>
  events.filter(
    ({ data }, i) =>
      data.type === 'speech.audio.delta' &&
      events
        .slice(0, i)
        .some((before) => before.event === 'speech.chunk.done' && before.data.chunk_index === data.chunk_index),
  );

describe.each(cases)('%s at %i Hz', (format, sampleRateHz) => {
  const text = `Hello there, this is ${format} at ${sampleRateHz}.`;
  const message = { voiceId: 'tone-low', sampleRate: sampleRateHz, outputFormat: outputFormats[format] };
  const fields = { voice_id: 'tone-low', output_format: format, sample_rate: sampleRateHz };

  test('whole', async () => {
    const sound = await gateway.speak({ ...fields, text, return_format: 'buffer' });
    const bytes = await bytesOf(sound);
    const chars = Number(sound.headers.get('X-Chars'));
    const link = (await (await gateway.speak({ ...fields, text })).json()) as { audio_url: string; chars: number };
    expect(link.chars).toBe(chars);
    expect((await bytesOf(await fetch(gateway.here(link.audio_url)))).equals(bytes)).toBe(true);

    const request = { ...message, text, returnFormat: ReturnFormat.BUFFER };
    const answers = await Promise.all([
      grpcJs.unary('synthesizeSpeech', request, { metadata }),
      ...clients.map(([, client]) => client.synthesizeSpeech(request, { headers: key })),
    ]);
    for (const answer of answers) {
      expect(answer.chars).toBe(chars);
      expect(bytes.equals(answer.audio.value as Uint8Array)).toBe(true);
    }
  });

  test('as a stream', async () => {
    const chunks = [text, 'And more.'];
    const body = { ...fields, text_chunks: chunks };
    const bytes = await bytesOf(await gateway.speak({ ...body, method: 'streaming' }));
    const { sse_url } = (await (await gateway.send('/api/audio/speech/sse/tickets', { body })).json()) as {
      sse_url: string;
    };
    const query = new URLSearchParams({ ...fields, sample_rate: String(sampleRateHz), text: chunks.join(' ') });
    const joined = await bytesOf(
      await gateway.speak({ ...fields, text_chunks: [chunks.join(' ')], method: 'streaming' }),
    );
    const events = await readEvents(await gateway.send('/api/audio/speech/sse', { body }));
    expect(soundIn(events).equals(bytes)).toBe(true);
    expect(audioAfterItsChunk(events)).toEqual([]);
    expect(soundIn(await readEvents(await fetch(gateway.here(sse_url)))).equals(bytes)).toBe(true);
    expect(soundIn(await readEvents(await gateway.send(`/api/audio/speech/sse?${query}`))).equals(joined)).toBe(true);

    const request = { ...message, textChunks: chunks };
    const streams = [
      grpcJs.stream('streamSpeech', request, { metadata }),
      ...clients.map(([, client]) => client.streamSpeech(request, { headers: key })),
    ];
    const read = async (stream: (typeof streams)[number]) => {
      const pieces: Uint8Array[] = [];
      const ended = new Set<number>();
      for await (const { event } of stream) {
        if (event.case === 'chunkDone') ended.add(event.value.chunkIndex);
        if (event.case === 'audio') expect(ended).not.toContain(event.value.chunkIndex);
        if (event.case === 'audio') pieces.push(event.value.audio);
        if (event.case === 'done') expect(event.value.chars).toBe(chunks.join('').length);
      }
      expect(bytes.equals(Buffer.concat(pieces))).toBe(true);
    };
    // The streams are read at the same time: Node 24.21 reports a premature close to a reader that starts after an
    // HTTP/2 response's last frame.
    await Promise.all(streams.map(read));
  });
});

const wrong: [string, object, object, string][] = [
  ['no text', { text: '' }, { text: '' }, 'invalid_request'],
  ['too much text', { text: 'x'.repeat(5001) }, { text: 'x'.repeat(5001) }, 'text_too_long'],
  ['nobody', { text: 'a', voice_id: 'nobody' }, { text: 'a', voiceId: 'nobody' }, 'voice_not_found'],
  ['a language of others', { text: 'a', language_code: 'fr' }, { text: 'a', languageCode: 'fr' }, 'invalid_request'],
  ['no language', { text: 'a', language_code: '??' }, { text: 'a', languageCode: '??' }, 'invalid_request'],
  ['too fast', { text: 'a', speaking_rate: 9 }, { text: 'a', speakingRate: 9 }, 'invalid_request'],
  ['too slow', { text: 'a', speaking_rate: 0.1 }, { text: 'a', speakingRate: 0.1 }, 'invalid_request'],
  ['a rate of none', { text: 'a', sample_rate: 8000 }, { text: 'a', sampleRate: 8000 }, 'invalid_request'],
];
const streamed = (fields: object) => {
  const { text, ...rest } = fields as { text: string };
  return { ...rest, text_chunks: [text] };
};

test.each(wrong)('a fault is the same over every transport: %s', async (_, fields, message, reason) => {
  const replies = await Promise.all([
    gateway.speak(fields),
    gateway.speak({ ...fields, return_format: 'buffer' }),
    gateway.speak({ ...streamed(fields), method: 'streaming' }),
    gateway.send('/api/audio/speech/sse', { body: { voice_id: 'tone-low', ...streamed(fields) } }),
  ]);
  const errors = replies.map(async (reply) => ((await reply.json()) as { error: string }).error);
  // A chunk may be as long as a whole text, but not longer.
  expect(await Promise.all(errors)).toEqual(replies.map(() => reason));

  const request = { voiceId: 'tone-low', ...message };
  const told = explain(await failureOf(grpcJs.unary('synthesizeSpeech', request, { metadata })));
  expect(told.info).toMatchObject({ reason: reason.toUpperCase(), domain: 'sonant' });
  for (const [name, client] of clients) {
    const refused = fromConnectError(
      (await failureOf(client.synthesizeSpeech(request, { headers: key }))) as ConnectError,
    );
    expect(refused, name).toMatchObject({ reason, message: told.message });
    const violations = refused.facts.details?.map(({ field, reason, message: description }) => ({
      ...{ field, reason: reason.toUpperCase(), description },
    }));
    expect(violations, name).toEqual(told.violations);
  }
});

test('over gRPC all that is wrong is reported at once, with the field names of the proto', async () => {
  const everything = {
    ...{ voiceId: 'x'.repeat(129), text: ' \n', sampleRate: 8000, languageCode: 'en_', bufferBytesMax: -1 },
    ...{ outputFormat: 9 as OutputFormat, returnFormat: -1 as ReturnFormat, speakingRate: Number.NaN },
  };
  const faultsOf = async (request: object) => {
    const { code, violations } = explain(await failureOf(grpcJs.unary('synthesizeSpeech', request, { metadata })));
    return [code, ...violations!.map(({ field, reason }) => `${field} ${reason}`).sort()];
  };
  const { begun } = gateway.tone.counts;
  expect(await faultsOf({})).toEqual(['INVALID_ARGUMENT', 'text REQUIRED', 'voice_id REQUIRED']);
  expect(await faultsOf(everything)).toEqual([
    'INVALID_ARGUMENT',
    ...['buffer_bytes_max RANGE', 'language_code FORMAT', 'output_format ENUM', 'return_format ENUM'],
    ...['sample_rate ENUM', 'speaking_rate RANGE', 'text BLANK', 'voice_id LENGTH'],
  ]);
  expect(gateway.tone.counts.begun).toBe(begun);
});

test('a key that comes as a bearer token is told where it belongs, over every transport', async () => {
  const authorization = `Bearer ${gateway.key}`;
  const heard = [
    explain(await failureOf(grpcJs.unary('synthesizeSpeech', {}, { metadata: { authorization } }))).message,
  ];
  for (const [, client] of clients) {
    const refused = await failureOf(client.synthesizeSpeech({}, { headers: { authorization } }));
    heard.push(fromConnectError(refused as ConnectError).message);
  }
  expect(heard).toEqual(Array(5).fill(expect.stringMatching(/Send the API key in .* x-api-key/)));
});

test('a misspelt voice is told the one that is near, over every transport', async () => {
  const rest = (await (await gateway.speak({ voice_id: 'tone-lo', text: 'a' })).json()) as { message: string };
  const request = { voiceId: 'tone-lo', text: 'a' };
  const heard = [
    rest.message,
    explain(await failureOf(grpcJs.unary('synthesizeSpeech', request, { metadata }))).message,
  ];
  for (const [, client] of clients)
    heard.push(
      fromConnectError((await failureOf(client.synthesizeSpeech(request, { headers: key }))) as ConnectError).message,
    );
  expect(heard).toEqual(Array(6).fill(expect.stringContaining('did you mean tone-low?')));
});
