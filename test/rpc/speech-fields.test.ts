// Tests that all faults of an invalid speech request are reported at once, in the same way through every protocol.
import { ConnectError } from '@connectrpc/connect';
import { describe, expect, test } from 'vitest';
import type { OutputFormat, ReturnFormat, TimestampKind } from '../../gen/sonant/v1/speech_pb.ts';
import type { Failure } from '../../src/errors.ts';
import { explain, failureOf } from './grpc-client.ts';
import { connectClients, goodKey, openTestServices } from './open-services.ts';
import { fromConnectError } from './received-failure.ts';

const key = { headers: { 'x-api-key': 'good' } };

describe('what is wrong with a request', () => {
  const nothing = { voiceId: '', text: '' };
  const everything = {
    voiceId: 'x'.repeat(129),
    text: ' \n',
    sampleRate: 8000,
    languageCode: 'en_',
    outputFormat: 9 as OutputFormat,
    returnFormat: -1 as ReturnFormat,
    speakingRate: Number.NaN,
    bufferBytesMax: -1,
  };

  test('is reported all at once, with the field names of the proto', async () => {
    const { speech, fakeSpeech } = await openTestServices();
    const post = async (request: typeof nothing) =>
      explain(await failureOf(speech.unary('synthesizeSpeech', request, goodKey)));
    const faultsOf = async (request: typeof nothing) =>
      (await post(request)).violations?.map(({ field, reason }) => `${field} ${reason}`);
    expect(await faultsOf(nothing)).toEqual(['voice_id REQUIRED', 'text REQUIRED']);
    expect((await faultsOf(everything))?.sort()).toEqual([
      'buffer_bytes_max RANGE',
      'language_code FORMAT',
      'output_format ENUM',
      'return_format ENUM',
      'sample_rate ENUM',
      'speaking_rate RANGE',
      'text BLANK',
      'voice_id LENGTH',
    ]);
    expect((await post(everything)).code).toBe('INVALID_ARGUMENT');
    expect(fakeSpeech.counts.begun).toBe(0);
  });

  test.each([
    ['too long a text', { textChunks: ['x'.repeat(5001)] }, 'text_too_long', { limit: 5000, actual: 5001 }],
    ['too many chunks', { textChunks: Array(201).fill('x') }, 'text_too_long', { limit: 200, actual: 201 }],
    ['no chunk', {}, 'invalid_request', {}],
    ['a blank chunk', { textChunks: ['x', ' '] }, 'invalid_request', {}],
    ['an unknown kind of timestamps', { textChunks: ['x'], timestamps: 7 as TimestampKind }, 'invalid_request', {}],
    ['an unknown voice', { voiceId: 'nobody', textChunks: ['x'] }, 'voice_not_found', {}],
    ['a language that the voice lacks', { textChunks: ['x'], languageCode: 'fr' }, 'invalid_request', {}],
    ['a hundred faults', { textChunks: Array(100).fill(' ') }, 'invalid_request', {}],
  ])('%s fails alike through every way in', async (_, fields, reason, facts) => {
    const services = await openTestServices();
    const request = { voiceId: 'ada', ...fields };
    const stream = services.speech.stream('streamSpeech', request, goodKey);
    stream.resume();
    const { info, violations, message } = explain(await new Promise((resolve) => stream.on('error', resolve)));
    expect(info).toMatchObject({ reason: reason.toUpperCase(), domain: 'sonant' });
    for (const [name, client] of Object.entries(connectClients(services))) {
      const error = await failureOf(Array.fromAsync(client.streamSpeech(request, key)));
      expect(error, name).toBeInstanceOf(ConnectError);
      const failure: Failure = fromConnectError(error as ConnectError);
      expect(failure, name).toMatchObject({ reason, message, facts });
      {
        const reported = failure.facts.details?.map(({ field, reason, message: description }) => ({
          field,
          reason: reason.toUpperCase(),
          description,
        }));
        expect(reported, name).toEqual(violations);
      }
    }
    expect(services.fakeSpeech.counts.finished).toBe(0);
  });
});
