// Tests the rules of requests that test/contract/spec-speech.test.ts does not have over REST: defaults, encodings, bounds
// and remedies.
import { expect, test } from 'vitest';
import { countChars } from '../../src/platform/count-chars.ts';
import { Failure } from '../../src/platform/errors.ts';
import { toStoredRequest } from '../../src/speech/request.ts';
import { readSpeechBody } from '../../src/transports/http/synthesis/speech-over-http.ts';
import { parseSpeechRequest } from './parse-request.ts';

const rest = { voice_id: 'ada', text: 'Hello.' };
const streaming = { voice_id: 'ada', method: 'streaming', text_chunks: ['Hello.', 'Bye.'] };

const refuse = (fields: Record<string, unknown>) => failureOf(() => parseSpeechRequest(fields));

function failureOf(read: () => unknown): Failure {
  try {
    read();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('the request was accepted');
}
const faultsOf = (fields: Record<string, unknown>) =>
  refuse(fields).facts.details?.map(({ field, reason }) => `${field} ${reason}`);

test('defaults are those of the specification', () => {
  expect(toStoredRequest(parseSpeechRequest(rest))).toEqual({
    voiceId: 'ada',
    method: 'rest',
    chunks: ['Hello.'],
    chars: 6,
    pauseMs: 0,
    textField: 'text',
    sampleRateHz: 44100,
    languageCode: 'en-US',
    returnFormat: 'url',
    format: 'wav',
    speakingRate: 1,
    timestamps: false,
    captions: [],
    markup: undefined,
    normalize: true,
    lexiconIds: [],
    instructions: undefined,
    seed: undefined,
    bufferBytesMax: 4_000_000,
    bufferMs: 0,
    disclosure: false,
  });
});

test('a streaming request has its chunks in order, counted together', () => {
  expect(toStoredRequest(parseSpeechRequest(streaming))).toMatchObject({ chunks: ['Hello.', 'Bye.'], chars: 10 });
});

test('the characters of a document are those that are spoken; its tags may take more', () => {
  const ssml = `<speak>${'<break time="1ms"/>'.repeat(300)}Hello.</speak>`;
  expect(ssml.length).toBeGreaterThan(5_000);
  expect(parseSpeechRequest({ voice_id: 'ada', ssml })).toMatchObject({ chars: 6 });
});

test('null is as absent, and unknown members do no harm', () => {
  const nulls = { text_chunks: null, sample_rate: null, language_code: null, method: null, speaking_rate: null };
  expect(parseSpeechRequest({ ...rest, ...nulls, colour: 'red' })).toEqual(parseSpeechRequest(rest));
});

test('instructions may be empty, which is none, and a seed zero, which is one', () => {
  expect(parseSpeechRequest({ ...rest, instructions: '', seed: 0 })).toMatchObject({
    instructions: undefined,
    seed: 0,
  });
  const longest = { instructions: '😀'.repeat(2000), seed: 2 ** 32 - 1 };
  expect(parseSpeechRequest({ ...rest, ...longest })).toMatchObject(longest);
});

test('every fault is reported at once', () => {
  const fields = {
    text: 7,
    sample_rate: '44100',
    language_code: 'no such tag',
    output_format: 'ogg',
    speaking_rate: 9,
  };
  expect(faultsOf(fields)).toEqual([
    'text type',
    'sample_rate enum',
    'output_format enum',
    'voice_id required',
    'speaking_rate range',
    'language_code format',
  ]);
});

test.each<[Record<string, unknown>, string]>([
  [{ ...streaming, text_chunks: [] }, 'text_chunks required'],
  [{ ...rest, voice_id: 'v'.repeat(129) }, 'voice_id length'],
  [{ ...rest, voice_id: 'a\0b' }, 'voice_id encoding'],
  [{ ...rest, instructions: 5 }, 'instructions type'],
  [{ ...rest, instructions: '😀'.repeat(2001) }, 'instructions length'],
  [{ ...rest, instructions: 'a\0b' }, 'instructions encoding'],
  [{ ...rest, instructions: 'a\ud800b' }, 'instructions encoding'],
  [{ ...rest, seed: '7' }, 'seed type'],
  [{ ...rest, seed: 1.5 }, 'seed type'],
  [{ ...rest, seed: -1 }, 'seed range'],
  [{ ...rest, seed: 2 ** 32 }, 'seed range'],
  [{ ...rest, text: ' \n\t\u00a0' }, 'text blank'],
  [{ ...rest, text: 'a\ud800b' }, 'text encoding'],
  [{ ...rest, text: 'a\0b' }, 'text encoding'],
  [{ ...rest, sample_rate: 16000 }, 'sample_rate enum'],
  [{ ...rest, language_code: '' }, 'language_code format'],
  [{ ...rest, language_code: 'en_US' }, 'language_code format'],
  [{ ...rest, output_format: 'MP3' }, 'output_format enum'],
  [{ ...rest, timestamps: 'phone' }, 'timestamps enum'],
  [{ ...rest, speaking_rate: Number.NaN }, 'speaking_rate range'],
  [{ ...rest, speaking_rate: Number.POSITIVE_INFINITY }, 'speaking_rate range'],
])('%j: %s', (fields, fault) => {
  const failure = refuse(fields);
  expect(failure.reason).toBe('invalid_request');
  expect(faultsOf(fields)).toEqual([fault]);
});

test.each([
  ['sample_rate', [24_000, 44_100, 48_000]],
  ['return_format', ['url', 'buffer']],
  ['output_format', ['wav', 'pcm', 'mp3', 'opus', 'flac']],
  ['timestamps', ['word']],
  ['captions', ['srt', 'vtt']],
])('a wrong %s is told with what is allowed', (field, allowed) => {
  const isList = field === 'captions';
  expect(refuse({ ...rest, [field]: isList ? ['x'] : 'x' }).facts.details).toMatchObject([
    { field: isList ? 'captions[0]' : field, reason: 'enum', allowed },
  ]);
});

test('a wrong method is told with what is allowed', () => {
  const read = () => readSpeechBody({ ...rest, method: 'x' }, { isStrict: false, isEvents: false });
  expect(failureOf(read).facts.details).toMatchObject([{ field: 'method', allowed: ['rest', 'streaming'] }]);
});

test.each([
  [{ ...rest, text: 'x'.repeat(5001) }, 'send it in streaming mode as text_chunks, or as a job'],
  [{ ...streaming, text_chunks: ['y'.repeat(5002)] }, 'split it into several of text_chunks'],
  [{ ...streaming, text_chunks: Array(11).fill('x'.repeat(5000)) }, 'send it as a job, or in several requests'],
  [{ ...streaming, text_chunks: Array(201).fill('x') }, 'send it as a job, or in several requests'],
])('what is too long is told what helps where it is', (fields, remedy) => {
  expect(refuse(fields).message).toMatch(new RegExp(`; ${remedy}$`));
});

test('the other text field may be there if it is empty', () => {
  expect(toStoredRequest(parseSpeechRequest({ ...rest, text_chunks: [] })).chunks).toEqual(['Hello.']);
  expect(parseSpeechRequest({ ...streaming, text: '' }).texts).toHaveLength(2);
});

test.each<[string, Record<string, unknown>, number, number]>([
  ['a text', { ...rest, text: 'x'.repeat(5001) }, 5000, 5001],
  ['a chunk', { ...streaming, text_chunks: ['x', 'y'.repeat(5002)] }, 5000, 5002],
  ['chunks together', { ...streaming, text_chunks: Array(11).fill('x'.repeat(5000)) }, 50_000, 55_000],
  ['the number of chunks', { ...streaming, text_chunks: Array(201).fill('x') }, 200, 201],
])('%s over its limit is text_too_long, with limit and actual', (_, fields, limit, actual) => {
  const failure = refuse(fields);
  expect(failure.reason).toBe('text_too_long');
  expect(failure.facts).toMatchObject({ limit, actual });
});

test('limits and chars count Unicode code points', () => {
  expect(parseSpeechRequest({ ...rest, text: '😀'.repeat(5000) }).chars).toBe(5000);
  expect(refuse({ ...rest, text: '😀'.repeat(5001) }).facts.actual).toBe(5001);
  expect(countChars('a😀é\u0301')).toBe(4);
});

test('a text too long among other faults is one of the faults', () => {
  expect(faultsOf({ ...rest, text: 'x'.repeat(5001), sample_rate: 1 })).toEqual(['sample_rate enum', 'text too_long']);
});
