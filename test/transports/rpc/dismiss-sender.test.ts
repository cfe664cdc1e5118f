// Tests clients that still send after the answer: their data is dropped and their streams are closed, so that the
// connection serves as many calls as before.
import { once } from 'node:events';
import type { ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { expect, test } from 'vitest';
import { streamsPerConnectionMax } from '../../../src/transports/rpc/server.ts';
import { openTestServices } from './open-services.ts';
import { envelope, openSession, request, speechMessage, streamPath } from './raw-grpc.ts';

const livePath = '/sonant.v1.SpeechService/LiveSpeech';
const atOnce = 3;
/** Half a message; the rest never arrives. */
const begun = Buffer.concat([envelope(Buffer.from([0xff])), Buffer.alloc(3)]);
/** A body that is larger than the limit for a request. */
const tooLarge = Buffer.alloc(3 << 20, 0xff);

async function statusOf(stream: ClientHttp2Stream): Promise<unknown> {
  let status: unknown = 'none';
  const note = (headers: IncomingHttpHeaders) => (status = headers['grpc-status'] ?? status);
  stream
    .on('response', note)
    .on('trailers', note)
    .on('error', () => {})
    .resume();
  await once(stream, 'close');
  return status;
}

test.each([
  ['with one message, which is too large', streamPath, tooLarge, false],
  ['of live speech, which are open for more', livePath, begun, true],
])('a connection serves on after many refused calls %s', async (_, path, body, isOpen) => {
  const { target } = await openTestServices();
  const session = await openSession(target);
  const refuse = () => {
    const stream = request(session, path);
    stream.write(body);
    if (!isOpen) stream.end();
    return statusOf(stream);
  };
  for (let n = 0; n < streamsPerConnectionMax + 20; n += atOnce) {
    const statuses = await Promise.all(Array.from({ length: atOnce }, refuse));
    expect(statuses, `calls from ${n} on`).toEqual(statuses.map(() => expect.stringMatching(/^[1-9]/)));
  }
  const stream = request(session, streamPath);
  stream.end(speechMessage('Hello.'));
  expect(await statusOf(stream)).toBe('0');
});
