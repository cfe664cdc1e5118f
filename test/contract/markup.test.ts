// Tests the same marked text through every transport: the same bytes, the same number of characters, the same marks and
// warnings, and the same fault if it is unreadable.
import { afterAll, expect, test } from 'vitest';
import { Markup, OutputFormat, ReturnFormat, SpeechMark_Kind, SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { readEvents, soundIn } from '../transports/http/event-reader.ts';
import { bytesOf, openTestGateway } from '../transports/http/open-gateway.ts';
import { callLive, talkLive } from '../transports/http/talk-live.ts';
import { explain, failureOf } from '../transports/rpc/grpc-client.ts';
import { openCore } from '../transports/rpc/open-core.ts';

const gateway = await openTestGateway({}, afterAll);
const grpc = (await openCore(gateway, afterAll)).clientOf(SpeechService);
const metadata = { 'x-api-key': gateway.key, 'cache-control': 'no-cache' };

const ssml = `<speak version="1.1" xml:lang="en">One <mark name="a"/>two <break time="200ms"/>
  <voice name="tone-high"><prosody rate="120%">three</prosody></voice> <foo>four</foo></speak>`;
const fields = { voice_id: 'tone-low', output_format: 'pcm', sample_rate: 24_000 };
const message = { voiceId: 'tone-low', outputFormat: OutputFormat.PCM, sampleRate: 24_000 };
const chars = 'One two'.length + 'three'.length + 'four'.length;

const marks = ['mark a', 'voice tone-high', 'voice tone-low'];

async function readLive(requests: Parameters<typeof callLive>[2]) {
  const events = await callLive(grpc, metadata, requests);
  const sound = Buffer.concat(events.flatMap((event) => (event.case === 'audio' ? [event.value.audio] : [])));
  return { sound, events };
}

test('a document is the same audio on every API', async () => {
  const whole = await gateway.speak({ ...fields, ssml, return_format: 'buffer' });
  const bytes = await bytesOf(whole);
  expect(Number(whole.headers.get('X-Chars'))).toBe(chars);
  expect(whole.headers.get('X-Warnings')).toBe('ignored:foo');

  const asText = await gateway.speak({ ...fields, text: ssml, markup: 'ssml', return_format: 'buffer' });
  expect((await bytesOf(asText)).equals(bytes)).toBe(true);
  // SSML in `text` with `markup` is the same request as SSML in `ssml`.
  expect(asText.headers.get('X-Cache')).toBe('HIT');
  expect(asText.headers.get('X-Warnings')).toBe('ignored:foo');

  const link = (await (await gateway.speak({ ...fields, ssml })).json()) as { audio_url: string; chars: number };
  expect(link.chars).toBe(chars);
  expect((await bytesOf(await fetch(gateway.here(link.audio_url)))).equals(bytes)).toBe(true);

  const streamed = await gateway.speak({ ...fields, ssml, method: 'streaming' });
  expect((await bytesOf(streamed)).equals(bytes)).toBe(true);

  const events = await readEvents(await gateway.send('/api/audio/speech/sse', { body: { ...fields, ssml } }));
  expect(soundIn(events).equals(bytes)).toBe(true);
  const told = events.filter(({ event }) => event === 'speech.mark').map(({ data }) => `${data.kind} ${data.name}`);
  expect(told).toEqual(marks);
  expect(events.at(-1)!.data).toMatchObject({ usage: { characters: chars } });

  const query = new URLSearchParams({ ...fields, sample_rate: '24000', ssml });
  expect(soundIn(await readEvents(await gateway.send(`/api/audio/speech/sse?${query}`))).equals(bytes)).toBe(true);

  const unary = await grpc.unary(
    'synthesizeSpeech',
    { ...message, ssml, returnFormat: ReturnFormat.BUFFER },
    { metadata },
  );
  expect(bytes.equals(unary.audio.value as Uint8Array)).toBe(true);
  expect(unary).toMatchObject({ chars, warnings: ['ignored:foo'] });

  const pieces: Uint8Array[] = [];
  const reached: string[] = [];
  const request = { ...message, textChunks: [ssml], markup: Markup.SSML };
  for await (const { event } of grpc.stream('streamSpeech', request, { metadata })) {
    if (event.case === 'audio') pieces.push(event.value.audio);
    if (event.case === 'mark')
      reached.push(`${event.value.kind === SpeechMark_Kind.VOICE ? 'voice' : 'mark'} ${event.value.name}`);
  }
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  expect(reached).toEqual(marks);
});

test('a document whose elements have a prefix is the same sound, whole and in live speech', async () => {
  const namespace = 'http://www.w3.org/2001/10/synthesis';
  const prefixed = ssml.replaceAll(/<(\/?)(?=\w)/g, '<$1s:').replace('<s:speak', `<s:speak xmlns:s="${namespace}"`);
  const body = { ...fields, return_format: 'buffer' };
  const bytes = await bytesOf(await gateway.speak({ ...body, ssml }));
  const whole = await gateway.speak({ ...body, text: prefixed, markup: 'ssml' });
  expect(whole.headers.get('X-Warnings')).toBe('ignored:foo');
  expect((await bytesOf(whole)).equals(bytes)).toBe(true);
  const live = await readLive([
    { case: 'start', value: { ...message, markup: Markup.SSML } },
    ...[...prefixed].map((text) => ({ case: 'text', value: { text } })),
    { case: 'end', value: {} },
  ]);
  expect(live.sound.equals(bytes)).toBe(true);
  const wrong = await gateway.speak({ ...body, ssml: ssml.replace('version="1.1"', 'version="9" xmlns="urn:x"') });
  expect(wrong.headers.get('X-Warnings')).toBe('ignored:speak.version, ignored:speak.xmlns, ignored:foo');
  expect((await bytesOf(wrong)).equals(bytes)).toBe(true);
});

test('a turn of live speech may be a document, in pieces', async () => {
  const bytes = await bytesOf(await gateway.speak({ ...fields, ssml, return_format: 'buffer' }));
  const start = { case: 'start', value: { ...message, markup: Markup.SSML } };
  const parts = ssml.match(/.{1,7}/gsu)!;
  const live = await readLive([
    start,
    ...parts.map((text) => ({ case: 'text', value: { text } })),
    { case: 'end', value: {} },
  ]);
  expect(live.sound.equals(bytes)).toBe(true);
  expect(live.events[0]).toMatchObject({ case: 'info', value: { warnings: ['ignored:foo'] } });
  expect(live.events.filter((event) => event.case === 'mark').map(({ value }) => value.name)).toEqual([
    'a',
    'tone-high',
    'tone-low',
  ]);
  expect(live.events.find((event) => event.case === 'flushed')!.value.chars).toBe(chars);
  const messages = [
    { type: 'start', ...fields, markup: 'ssml' },
    ...parts.map((text) => ({ type: 'text', text })),
    { type: 'end' },
  ];
  const socket = await talkLive(gateway, messages);
  expect(socket.sound.equals(bytes)).toBe(true);
  expect(socket.messages.filter(({ type }) => type === 'mark')).toMatchObject([
    { turn: 0, kind: 'mark', name: 'a' },
    { kind: 'voice', name: 'tone-high' },
    { kind: 'voice', name: 'tone-low' },
  ]);
});

test('pause tags are pauses of live speech too, and are not charged', async () => {
  const text = 'One two.[pause:300ms] Three';
  const whole = await gateway.speak({ ...fields, text, markup: 'pauses', return_format: 'buffer' });
  expect(Number(whole.headers.get('X-Chars'))).toBe('One two. Three'.length);
  const bytes = await bytesOf(whole);
  const start = { case: 'start', value: { ...message, markup: Markup.PAUSES } };
  const live = await readLive([start, { case: 'text', value: { text } }, { case: 'end', value: {} }]);
  expect(live.events.find((event) => event.case === 'flushed')!.value.chars).toBe('One two. Three'.length);
  expect(Math.abs(live.sound.length - bytes.length)).toBeLessThan(24_000 * 2 * 0.1);
});

test.each([
  ['a fault in a document', { ssml: '<speak>\nOne <p>two</speak>' }, 'line 2, column 11: unexpected close tag'],
  [
    'an unknown voice',
    { ssml: '<speak><voice name="nobody">One</voice></speak>' },
    'line 1, column 8: no voice nobody exists for this key',
  ],
  [
    'a bomb',
    { ssml: '<!DOCTYPE s [<!ENTITY a "b">]><speak>&a;</speak>' },
    'a document type declaration is not allowed',
  ],
  ['a long pause', { text: 'One [pause:99s]', markup: 'pauses' }, 'line 1, column 5: a pause can last at most 20 s'],
])('%s is reported with its position on every API', async (_, body, message_) => {
  const reply = await gateway.speak({ ...fields, ...body });
  const { error, details } = (await reply.json()) as { error: string; details: { field: string; message: string }[] };
  expect(details[0]!.message).toContain(message_);
  const { markup, ...rest } = body as { markup?: string };
  const request = { ...message, ...rest, ...(markup && { markup: Markup.PAUSES }) };
  const refused = explain(await failureOf(grpc.unary('synthesizeSpeech', request, { metadata })));
  expect(refused.info?.reason).toBe(error.toUpperCase());
});

test('text and a document, or a document and pause tags, are not taken together', async () => {
  for (const body of [
    { ssml, text: 'x' },
    { ssml, markup: 'pauses' },
    { ssml, text_chunks: ['x'], method: 'streaming' },
  ]) {
    const reply = await gateway.speak({ ...fields, ...body });
    expect(reply.status).toBe(400);
    expect(((await reply.json()) as { details: object[] }).details).toMatchObject([{ reason: 'conflict' }]);
  }
});

test('an estimate counts pauses and what is said', async () => {
  const body = { ...fields, ssml: '<speak>One.<break time="10s"/></speak>' };
  const reply = (await (await gateway.send('/api/audio/estimate', { body })).json()) as {
    chars: number;
    duration: number;
  };
  expect(reply.chars).toBe(4);
  expect(reply.duration).toBeGreaterThan(10);
  expect(reply.duration).toBeLessThan(11);
});

test('captions show what is written, without the markup', async () => {
  const body = {
    ...fields,
    ssml: '<speak>Fish &amp; <mark name="x"/>chips.<break time="1s"/><p>Five <sub alias="kilograms">kg</sub>.</p></speak>',
  };
  const reply = await gateway.speak({ ...body, captions: ['srt'] });
  const srt = await (await fetch(gateway.here(reply.headers.get('X-Captions-Srt')!))).text();
  expect(srt.match(/^[A-Z].*$/gm)).toEqual(['Fish & chips.', 'Five kg.']);
});
