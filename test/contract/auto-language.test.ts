// Tests `language_code` `auto` through every transport: the bytes are the same, and the language of each sentence is
// reported with its words. Cached audio is not reused for the same text in a stated language.
import { afterAll, expect, test } from 'vitest';
import { OutputFormat, ReturnFormat, SpeechService, TimestampKind } from '../../gen/sonant/v1/speech_pb.ts';
import { readEvents, soundIn } from '../transports/http/event-reader.ts';
import { bytesOf, openTestGateway } from '../transports/http/open-gateway.ts';
import { callLive, talkLive } from '../transports/http/talk-live.ts';
import { openCore } from '../transports/rpc/open-core.ts';

const gateway = await openTestGateway({}, afterAll);
const grpc = (await openCore(gateway, afterAll)).clientOf(SpeechService);
const metadata = { 'x-api-key': gateway.key, 'cache-control': 'no-cache' };

const text = 'Der Zug fährt heute leider nicht. The next one leaves from platform four.';
const fields = { voice_id: 'tone-low', output_format: 'pcm', sample_rate: 24_000, language_code: 'auto' };
const message = {
  ...{ voiceId: 'tone-low', outputFormat: OutputFormat.PCM, sampleRate: 24_000, languageCode: 'auto' },
};
const languages = ['de', 'en'];

const whole = async (body: object) => {
  const reply = await gateway.speak({ ...fields, text, return_format: 'buffer', ...body });
  expect(reply.status).toBe(200);
  return { cache: reply.headers.get('X-Cache'), bytes: await bytesOf(reply) };
};

test('every API speaks it alike, and reports the language of the words', async () => {
  const { bytes } = await whole({});
  const body = { ...fields, text, timestamps: 'word' };
  const events = await readEvents(await gateway.send('/api/audio/speech/sse', { body }));
  expect(soundIn(events).equals(bytes)).toBe(true);
  const told = events.filter(({ event }) => event === 'speech.audio.timestamps');
  expect(told.map(({ data }) => data.language_code)).toEqual(languages);

  const streamed = await gateway.speak({ ...fields, text_chunks: [text], method: 'streaming' });
  expect((await bytesOf(streamed)).equals(bytes)).toBe(true);

  const inline = { ...message, text, returnFormat: ReturnFormat.BUFFER };
  const unary = await grpc.unary('synthesizeSpeech', inline, { metadata });
  expect(bytes.equals(unary.audio.value as Uint8Array)).toBe(true);

  const pieces: Uint8Array[] = [];
  const codes: string[] = [];
  const request = { ...message, textChunks: [text], timestamps: TimestampKind.WORD };
  for await (const { event } of grpc.stream('streamSpeech', request, { metadata })) {
    if (event.case === 'audio') pieces.push(event.value.audio);
    if (event.case === 'timestamps') codes.push(event.value.languageCode);
  }
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  expect(codes).toEqual(languages);
});

test('live speech finds the language of each sentence as it arrives, in pieces of any size', async () => {
  const pieces = text.match(/.{1,5}/gsu)!;
  const events = await callLive(grpc, metadata, [
    { case: 'start', value: { ...message, timestamps: TimestampKind.WORD } },
    ...pieces.map((piece) => ({ case: 'text', value: { text: piece } })),
  ]);
  const codes = events.flatMap((event) => (event.case === 'timestamps' ? [event.value.languageCode] : []));
  expect([...new Set(codes)]).toEqual(languages);

  const start = { type: 'start', ...fields, timestamps: 'word' };
  const texts = pieces.map((piece) => ({ type: 'text', text: piece }));
  const { messages } = await talkLive(gateway, [start, ...texts, { type: 'end' }]);
  const told = messages.flatMap(({ words = [], language_code }) =>
    (words as { text: string }[]).map((word) => [word.text, language_code]),
  );
  expect(told.filter(([, code]) => code === 'de').map(([word]) => word)).toEqual(
    'Der Zug fährt heute leider nicht'.split(' '),
  );
  expect(told).toHaveLength(text.split(' ').length);
});

test('what is kept is found again for `auto` alone', async () => {
  const own = { text: `${text} Kept.` };
  const stated = await whole({ ...own, language_code: 'de' });
  const found = await whole(own);
  expect([stated.cache, found.cache]).toEqual(['MISS', 'MISS']);
  const again = await whole(own);
  expect(again.cache).toBe('HIT');
  expect(again.bytes.equals(found.bytes)).toBe(true);
});

test('captions and an estimate are made of it', async () => {
  const reply = await gateway.speak({ ...fields, text, captions: ['srt'] });
  const srt = await (await fetch(gateway.here(reply.headers.get('X-Captions-Srt')!))).text();
  expect(srt).toContain('Der Zug fährt heute leider nicht.');
  const estimate = await gateway.send('/api/audio/estimate', { body: { ...fields, text } });
  expect(await estimate.json()).toMatchObject({ chars: text.length, segments: 2 });
});
