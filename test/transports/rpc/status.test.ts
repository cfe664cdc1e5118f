// Tests failures as they are sent and received: every reason in the failure table with all its details, through gRPC
// with a third-party client, and through each of Connect's protocols.
import { ConnectError } from '@connectrpc/connect';
import { expect, test } from 'vitest';
import {
  Failure,
  type FailureFacts,
  type FieldViolation,
  failureTable,
  type Reason,
} from '../../../src/platform/errors.ts';
import { detailBytesMax, toConnectError } from '../../../src/transports/rpc/status.ts';
import { explain, failureOf } from './grpc-client.ts';
import { connectClients, goodKey, openTestServices } from './open-services.ts';
import { fromConnectError } from './received-failure.ts';

const reasons = Object.keys(failureTable) as Reason[];
const key = { headers: { 'x-api-key': 'good' } };
const request = { voiceId: 'ada', textChunks: ['fail=0'] };
const facts: FailureFacts = {
  message: 'Žluťoučký kůň: 100% über 50/50; "naïve" 声 🎙',
  details: [{ field: 'text_chunks[3]', reason: 'too_long', message: 'hat 6021 Zeichen – zu viele' }],
  requiredScopes: ['speech:stream', 'admin'],
  retryAfterSeconds: 1.25,
  limit: 5000,
  actual: 6021,
  limitReason: 'characters',
};

/** The failure of a call, as a gRPC client reads it. */
async function reportOf({ fakeSpeech, speech }: Awaited<ReturnType<typeof openTestServices>>, failure: Error) {
  fakeSpeech.trouble.failure = failure;
  return explain(await failureOf(speech.unary('synthesizeSpeech', { voiceId: 'ada', text: 'fail=0' }, goodKey)));
}

test('every reason of the table reaches a gRPC client with its code, its name and its sentence', async () => {
  const services = await openTestServices();
  for (const reason of reasons) {
    const reported = await reportOf(services, new Failure(reason));
    const { code, sentence, retryable } = failureTable[reason];
    expect(reported, reason).toMatchObject({
      code,
      message: sentence,
      info: { reason: reason.toUpperCase(), domain: 'sonant' },
    });
    expect([reported.retry !== undefined, reported.metadata['retry-after']], reason).toEqual(
      retryable ? [true, '1'] : [false, undefined],
    );
    // A failure about a resource names the field with its id.
    const isOfId = /^(voice_not_found|voice_not_ready|not_found)$/.test(reason);
    expect(
      reported.violations?.map(({ field }) => field),
      reason,
    ).toEqual(isOfId ? ['voice_id'] : undefined);
  }
});

test('a gRPC client reads all the facts of a failure', async () => {
  const reported = await reportOf(await openTestServices(), new Failure('rate_limit_exceeded', facts));
  expect(reported).toMatchObject({
    code: 'RESOURCE_EXHAUSTED',
    message: facts.message,
    info: { metadata: { limit: '5000', actual: '6021', reason: 'characters', required_scopes: 'speech:stream admin' } },
    violations: [{ field: 'text_chunks[3]', reason: 'TOO_LONG', description: 'hat 6021 Zeichen – zu viele' }],
    retry: { seconds: 1n, nanos: 250_000_000 },
  });
  expect(reported.metadata).toMatchObject({ 'retry-after': '2', 'x-request-id': expect.stringMatching(/^req_/) });
});

test('a violation lists what is allowed, in its sentence', async () => {
  const allowed = ['wav', 'mp3'];
  const details: FieldViolation[] = [
    { field: 'a', reason: 'enum', message: 'must be one of wav, mp3', allowed },
    { field: 'b', reason: 'enum', message: 'must be a format', allowed },
  ];
  const reported = await reportOf(await openTestServices(), new Failure('invalid_request', { details }));
  expect(reported.violations).toEqual([
    { field: 'a', reason: 'ENUM', description: 'must be one of wav, mp3' },
    { field: 'b', reason: 'ENUM', description: 'must be a format: wav, mp3' },
  ]);
});

test('a failure comes back as it was thrown, through every way in', async () => {
  const services = await openTestServices();
  const clients = connectClients(services);
  for (const reason of reasons) {
    services.fakeSpeech.trouble.failure = new Failure(reason, facts, new Error('the engine said something'));
    for (const [name, client] of Object.entries(clients)) {
      const error = await failureOf(Array.fromAsync(client.streamSpeech(request, key)));
      expect(error, name).toBeInstanceOf(ConnectError);
      const back = fromConnectError(error as ConnectError);
      if (reason === 'internal_error') expect(back).toMatchObject({ reason, facts: {} });
      else expect({ reason: back.reason, facts: back.facts }, name).toEqual({ reason, facts });
    }
  }
});

test('what is no Failure is an internal error without details, its cause logged once', async () => {
  const services = await openTestServices();
  const bug = new TypeError('/secret/path of undefined');
  const reported = await reportOf(services, bug);
  expect(reported).toMatchObject({
    code: 'INTERNAL',
    message: failureTable.internal_error.sentence,
    info: { reason: 'INTERNAL_ERROR' },
  });
  expect(JSON.stringify(reported)).not.toContain('secret');
  const [call, ...others] = services.calls;
  expect(others).toEqual([]);
  expect(call?.failure?.cause).toBe(bug);
  expect(reported.metadata['x-request-id']).toBe(call?.requestId);
});

test('many faults are reported as far as they fit into the trailers that clients accept', async () => {
  const { speech } = await openTestServices();
  // No more are collected.
  const textChunks = Array(100).fill(' ');
  const stream = speech.stream('streamSpeech', { voiceId: 'ada', textChunks }, goodKey);
  stream.resume();
  const reported = explain(await new Promise((resolve) => stream.on('error', resolve)));
  const { length } = reported.violations!;
  expect(length).toBeGreaterThan(20);
  expect(reported.violations?.at(-1)).toMatchObject({ reason: 'MORE', description: `and ${100 - length + 1} more` });
  expect(JSON.stringify(reported.violations).length).toBeLessThan(2 * detailBytesMax);
  const longest = toConnectError(new Failure('engine_error', { message: '声'.repeat(5000) }));
  expect(longest.rawMessage.length).toBeLessThan(1100);
});

test('long names of fields fit into the trailers that clients accept', async () => {
  const field = '名'.repeat(4000);
  const details: FieldViolation[] = [1, 2].map((n) => ({ field: field + n, reason: 'unknown', message: field }));
  const reported = await reportOf(await openTestServices(), new Failure('invalid_request', { details }));
  expect(reported).toMatchObject({ code: 'INVALID_ARGUMENT', info: { reason: 'INVALID_REQUEST' } });
  expect(reported.violations?.at(-1)).toMatchObject({ reason: 'MORE' });
  expect(Buffer.byteLength(JSON.stringify(reported.violations))).toBeLessThan(2 * detailBytesMax);
});
