// The headers of replies that mean something to a caller: what each says, for the documentation and for browsers, which
// let a page read only those that are named to them.

import { apiVersion } from '../rpc/request-id.ts';

interface ReplyHeader {
  description: string;
  schema: Readonly<Record<string, unknown>>;
}

const header = (description: string, example: string, schema: object = { type: 'string' }): ReplyHeader => ({
  description,
  schema: { ...schema, example },
});
const whole = { type: 'integer' };

export const replyHeaders = {
  'X-Request-Id': header(
    'The id of the request: yours if you sent one of `[A-Za-z0-9_-]{1,64}`.',
    'req_01JD3Q8S6V5W2K9YB4XJ',
  ),
  'X-API-Version': header('The version of this API.', apiVersion),
  'X-Voice': header('Name of the voice used. One that is not printable ASCII is percent-encoded UTF-8.', 'Clara'),
  'X-Voice-Encoding': header('`percent` where X-Voice is percent-encoded.', 'percent'),
  'X-Voice-Id': header('Id of the voice used.', 'clara'),
  'X-Method': header('`rest` or `streaming`.', 'rest'),
  'X-Chars': header('Unicode code points of the text received: what is counted and charged.', '57', whole),
  'X-Format': header('`wav`, `pcm`, `mp3`, `opus` or `flac`.', 'wav'),
  'X-Sample-Rate': header('Sample rate of the audio in hertz; of Opus, the one that was asked for.', '44100', whole),
  'X-Audio-Id': header('Id of the audio.', 'aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H'),
  'X-Audio-Duration': header('How long the audio lasts, in seconds.', '3.711', { type: 'number' }),
  'X-Audio-Expires': header('When the link stops working.', '2030-01-02T03:04:05.000Z', {
    type: 'string',
    format: 'date-time',
  }),
  'X-Audio-Url': header(
    'Where a stream that is kept will be found once it is done.',
    'http://127.0.0.1:8080/audio/aud_01JD.wav',
  ),
  'X-Captions-Srt': header(
    'Where the captions are as SubRip, if they were asked for; as long as the audio.',
    'http://127.0.0.1:8080/audio/aud_01JD.srt',
  ),
  'X-Captions-Vtt': header(
    'Where the captions are as WebVTT, if they were asked for; as long as the audio.',
    'http://127.0.0.1:8080/audio/aud_01JD.vtt',
  ),
  'X-Cache': header('`HIT` where the audio was there already, `MISS` where it was spoken now.', 'MISS'),
  'X-Warnings': header(
    'What you may want to know though nothing failed: `nothing_spoken`, `transliterated`, `fallback_engine`.',
    'transliterated',
  ),
  'X-Ignored-Fields': header('Members of the request that mean nothing here and were ignored.', 'speed'),
  'Content-Disposition': header('`attachment; filename=<id>.<format>`', 'attachment; filename=aud_01JD.wav'),
  'Content-Range': header('Which bytes of how many these are.', 'bytes 0-99/1234'),
  ETag: header('Changes if ever the bytes do.', '"aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H"'),
  Location: header('Address of what was made.', 'http://127.0.0.1:8080/api/audio/speech/sse/tickets/tkt_01JD'),
  Allow: header('The methods that this address takes.', 'GET, HEAD'),
  'RateLimit-Policy': header(
    'The limits of the key.',
    '"requests";q=600;w=60, "concurrency";q=20;qu="concurrent-requests"',
  ),
  RateLimit: header('How many may come now (`r`), and in how many seconds all may again (`t`).', '"requests";r=87;t=2'),
  'Retry-After': header('Seconds to wait before trying again.', '2', whole),
  'retry-after-ms': header('The same in milliseconds.', '1500', whole),
} as const satisfies Record<string, ReplyHeader>;

export type ReplyHeaderName = keyof typeof replyHeaders;
