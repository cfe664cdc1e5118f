// Tests Wyoming protocol frames over real sockets: complete, in pieces, too large, and malformed.
import { expect, test } from 'vitest';
import { frameOf, openWyoming } from './wyoming-client.ts';

test('the frames of the client are those of Python', () => {
  expect(frameOf('describe').toString()).toBe('{"type": "describe", "version": "1.7.0"}\n');
  expect(frameOf('synthesize', { text: 'Das kostet 5 €.', voice: { name: 'tone-low' } }).toString()).toBe(
    '{"type": "synthesize", "version": "1.7.0", "data_length": 60}\n{"text": "Das kostet 5 €.", "voice": {"name": "tone-low"}}',
  );
});

test('events of other services are ignored, with their payload', async () => {
  const { connect } = await openWyoming();
  const { socket, send, next } = connect();
  socket.write('{"type": "audio-chunk", "data": {"rate": 16000}, "payload_length": 4}\n');
  socket.write('\n\n\n\n');
  socket.write('{"type": "transcribe", "data": null, "data_length": null}\n');
  send('ping', { text: 'still here' });
  expect(await next()).toMatchObject({ type: 'pong', data: { text: 'still here' } });
});

test('frames are read in whatever pieces they arrive', async () => {
  const { connect } = await openWyoming();
  const { socket, until } = connect();
  const bytes = Buffer.concat([frameOf('ping', { text: 'é' }), frameOf('synthesize', { text: 'Grüße, 5 €.' })]);
  socket.setNoDelay(true);
  for (const byte of bytes) {
    socket.write(Uint8Array.of(byte));
    await new Promise(setImmediate);
  }
  expect([...new Set((await until('audio-stop')).map(({ type }) => type))]).toEqual([
    'pong',
    'audio-start',
    'audio-chunk',
    'audio-stop',
  ]);
});

const longLine = Buffer.alloc(65 * 1024, 'x');
test.each<[string, (string | Buffer)[], string]>([
  ['a line that is not JSON', ['hello\n'], 'invalid_request'],
  ['a request of HTTP', ['GET / HTTP/1.1\r\nHost: sonant\r\n\r\n'], 'invalid_request'],
  ['bytes that are not UTF-8', [Buffer.from([0xff, 0xfe, 0x0a])], 'invalid_request'],
  ['an event without a type', ['{"data": {}}\n'], 'invalid_request'],
  ['data that is not an object', ['{"type": "ping", "data_length": 2}\n[]'], 'invalid_request'],
  ['a length below 0', ['{"type": "ping", "data_length": -1}\n'], 'invalid_request'],
  ['a length that is text', ['{"type": "ping", "payload_length": "4"}\n'], 'invalid_request'],
  ['a line without end', [longLine], 'payload_too_large'],
  ['data without end', ['{"type": "synthesize", "data_length": 1000000000}\n'], 'payload_too_large'],
  ['a payload without end', ['{"type": "audio-chunk", "payload_length": 1000000000}\n'], 'payload_too_large'],
  ['a text that is a number', [frameOf('synthesize', { text: 5 })], 'invalid_request'],
  ['a voice that there is not', [frameOf('synthesize', { text: 'x', voice: { name: 'nobody' } })], 'voice_not_found'],
  ['a language of no voice', [frameOf('synthesize', { text: 'x', voice: { language: 'fi' } })], 'voice_not_found'],
  ['a language that is none', [frameOf('synthesize', { text: 'x', voice: { language: '??' } })], 'invalid_request'],
  ['another kind of text', [frameOf('synthesize', { text: 'x', text_format: 'html' })], 'invalid_request'],
  ['broken SSML', [frameOf('synthesize', { text: '<speak><p>', text_format: 'ssml' })], 'invalid_request'],
  ['a piece without its start', [frameOf('synthesize-chunk', { text: 'x' })], 'invalid_request'],
  ['a stop without its start', [frameOf('synthesize-stop')], 'invalid_request'],
  ['a start within another', [frameOf('synthesize-start'), frameOf('synthesize-start')], 'invalid_request'],
])('%s is an error, and the end of the connection', async (_, pieces, code) => {
  const { connect, faults, calls } = await openWyoming();
  const { socket, next, closed } = connect();
  for (const piece of pieces) socket.write(piece);
  expect(await next()).toMatchObject({ type: 'error', data: { code, text: expect.stringMatching(/\.$/) } });
  expect(await next()).toBeUndefined();
  socket.end();
  await closed;
  expect(faults).toEqual([]);
  expect(calls.every(({ status }) => status !== 'OK')).toBe(true);
});
