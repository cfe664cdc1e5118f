// Sends raw gRPC over node:http2, for behaviour that a correct client does not have.
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../gen/google/rpc/status_pb.ts';
import { SynthesizeSpeechRequestSchema } from '../../../gen/sonant/v1/speech_pb.ts';

export const synthesizePath = '/sonant.v1.SpeechService/SynthesizeSpeech';
export const streamPath = '/sonant.v1.SpeechService/StreamSpeech';

/** Length-prefixed message (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). */
export function envelope(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** A request for speech, unary or streaming: both have their text in field 2. */
export const speechMessage = (text: string) =>
  envelope(toBinary(SynthesizeSpeechRequestSchema, create(SynthesizeSpeechRequestSchema, { voiceId: 'ada', text })));

export async function openSession(target: string): Promise<ClientHttp2Session> {
  const session = connect(`http://${target}`);
  session.on('error', () => {});
  await once(session, 'connect');
  return session;
}

export function request(session: ClientHttp2Session, path: string, headers: Record<string, string> = {}) {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    'x-api-key': 'good',
    ...headers,
  });
  stream.on('error', () => {});
  return stream;
}

/** Sends the body, in one or several pieces. Returns the result of the call. */
export async function rawCall(
  target: string,
  path: string,
  pieces: Uint8Array[],
  headers: Record<string, string> = {},
) {
  const session = await openSession(target);
  const stream = request(session, path, headers);
  let metadata: Record<string, unknown> = {};
  stream.on('response', (received) => (metadata = { ...metadata, ...received }));
  stream.on('trailers', (received) => (metadata = { ...metadata, ...received }));
  stream.resume();
  for (const piece of pieces) if (stream.writable) stream.write(piece);
  stream.end();
  if (!stream.destroyed) await once(stream, 'close').catch(() => {});
  session.destroy();
  const bytes = metadata['grpc-status-details-bin'];
  const details = typeof bytes === 'string' ? fromBinary(StatusSchema, Buffer.from(bytes, 'base64')).details : [];
  const info = details.map((any) => anyUnpack(any, ErrorInfoSchema)).find(Boolean);
  return {
    httpStatus: metadata[':status'],
    grpcStatus: metadata['grpc-status'],
    message: metadata['grpc-message'],
    reason: info?.reason,
    requestId: metadata['x-request-id'],
    apiVersion: metadata['x-api-version'],
    resetCode: stream.rstCode,
  };
}
