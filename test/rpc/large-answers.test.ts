// Answers with sound have the bytes that the library of protocol buffers writes.
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from 'vitest';
import { StreamSpeechResponseSchema, SynthesizeSpeechResponseSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { serialize } from '../../src/rpc/large-answers.ts';

const sizes = [0, 1, 100, 127, 128, 8192, 16_383, 16_384, 100_000, 2_097_152];

function expectSame<D extends DescMessage>(schema: D, answer: MessageInitShape<D>): void {
  const written = Buffer.from(toBinary(schema, create(schema, answer)));
  expect(Buffer.concat(serialize(schema, answer)).equals(written)).toBe(true);
}

test.each(sizes)('%i bytes of sound in a stream', (size) => {
  const audio = Buffer.alloc(size, 'sound');
  for (const chunkIndex of [0, 1, 127, 128, 199])
    expectSame(StreamSpeechResponseSchema, { event: { case: 'audio', value: { chunkIndex, audio } } });
});

test.each(sizes)('%i bytes of sound in one answer', (size) => {
  const audio = { case: 'audioBytes' as const, value: Buffer.alloc(size, 'sound') };
  const described = { id: 'aud_1', voiceName: 'Бьорк', chars: 300, cached: true, warnings: ['transliterated'] };
  expectSame(SynthesizeSpeechResponseSchema, { audio });
  expectSame(SynthesizeSpeechResponseSchema, { ...described, audio });
  const expiresAt = timestampFromDate(new Date('2030-01-02T03:04:05Z'));
  expectSame(SynthesizeSpeechResponseSchema, { ...described, audio, expiresAt });
  expectSame(SynthesizeSpeechResponseSchema, create(SynthesizeSpeechResponseSchema, { ...described, audio }));
});

test('other events and links', () => {
  expectSame(StreamSpeechResponseSchema, { event: { case: 'done', value: { chars: 5, bytes: 2n ** 33n } } });
  expectSame(SynthesizeSpeechResponseSchema, { audio: { case: 'audioUrl', value: 'https://a.example/b.wav' } });
});
