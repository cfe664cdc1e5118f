// The headers of replies that mean something to a caller: what each says, for the documentation and for browsers, which
// let a page read only those that are named to them.

import { apiVersion } from '../../net/request-id.ts';

interface ReplyHeader {
  description: string;
  /** Whether every reply has it that may. */
  required?: true;
  schema: Readonly<Record<string, unknown>>;
  example: unknown;
}

const header = (description: string, example: unknown, schema: object = { type: 'string' }): ReplyHeader => ({
  description,
  schema: { ...schema },
  example,
});
const always = (told: ReplyHeader): ReplyHeader => ({ ...told, required: true });
const whole = { type: 'integer', minimum: 0 };
const oneOf = (...values: readonly string[]) => ({ type: 'string', enum: values });

export const replyHeaders = {
  'X-Request-Id': always(
    header('The id of the request: yours if you sent one of `[A-Za-z0-9_-]{1,64}`.', 'req_01JD3Q8S6V5W2K9YB4XJ', {
      type: 'string',
      pattern: '^[A-Za-z0-9_-]{1,64}$',
    }),
  ),
  'X-API-Version': always(header('The version of this API.', apiVersion, oneOf(apiVersion))),
  'X-Voice': header('Name of the voice used. One that is not printable ASCII is percent-encoded UTF-8.', 'Clara'),
  'X-Voice-Encoding': header('`percent` where X-Voice is percent-encoded.', 'percent', oneOf('percent')),
  'X-Voice-Id': header('Id of the voice used.', 'clara'),
  'X-Method': header('`rest` or `streaming`.', 'rest', oneOf('rest', 'streaming')),
  'X-Chars': header('Unicode code points of the text received: what is counted and charged.', 57, whole),
  'X-Format': header('`wav`, `pcm`, `mp3`, `opus` or `flac`.', 'wav'),
  'X-Sample-Rate': header('Sample rate of the audio in hertz; of Opus, the one that was asked for.', 44_100, whole),
  'X-Audio-Id': header('Id of the audio.', 'aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H'),
  'X-Audio-Duration': header('How long the audio lasts, in seconds.', 3.711, { type: 'number', minimum: 0 }),
  'X-Audio-Expires': header('When the link stops working.', '2030-01-02T03:04:05.000Z', {
    type: 'string',
    format: 'date-time',
  }),
  'X-Audio-Url': header(
    'Where a stream that is kept will be found once it is done.',
    'http://127.0.0.1:8080/audio/aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H.wav',
    { type: 'string', format: 'uri' },
  ),
  'X-Cache': header(
    '`HIT` where the audio was there already, `MISS` where it was spoken now.',
    'MISS',
    oneOf('HIT', 'MISS'),
  ),
  'X-Captions-Srt': header(
    'Where the captions are as SubRip, if they were asked for; as long as the audio.',
    'http://127.0.0.1:8080/audio/aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H.srt',
    { type: 'string', format: 'uri' },
  ),
  'X-Captions-Vtt': header(
    'Where the captions are as WebVTT, if they were asked for; as long as the audio.',
    'http://127.0.0.1:8080/audio/aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H.vtt',
    { type: 'string', format: 'uri' },
  ),
  'X-Warnings': header(
    'What you may want to know though nothing failed: `nothing_spoken`, `transliterated`, `fallback_engine`.',
    'transliterated',
  ),
  'X-Ignored-Fields': header('Members of the request that mean nothing here and were ignored.', 'speed'),
  'Content-Disposition': header(
    '`attachment; filename=<id>.<format>`',
    'attachment; filename=aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H.wav',
  ),
  'Content-Range': header('Which bytes of how many these are.', 'bytes 0-99/1234'),
  ETag: header('Changes if ever the bytes do.', '"aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H"'),
  Location: header('Where to go, or the address of what was made.', 'http://127.0.0.1:8080/api/voices/news', {
    type: 'string',
    format: 'uri',
  }),
  'Accept-Ranges': header('Ranges of bytes may be asked for.', 'bytes', oneOf('bytes')),
  'Cache-Control': header('Who may keep the reply, and for how long.', 'no-store'),
  'X-Accel-Buffering': header('Tells a proxy to pass on at once what comes.', 'no', oneOf('no')),
  'WWW-Authenticate': header('What to send to be let in.', 'ApiKey realm="sonant"'),
  Allow: header('The methods that this address takes.', 'GET, HEAD'),
  'RateLimit-Policy': header(
    'The limits of the key.',
    '"requests";q=600;w=60, "concurrency";q=20;qu="concurrent-requests"',
  ),
  RateLimit: header('How many may come now (`r`), and in how many seconds all may again (`t`).', '"requests";r=87;t=2'),
  'Retry-After': header('Seconds to wait before trying again.', 2, { type: 'integer', minimum: 1 }),
  'retry-after-ms': header('The same in milliseconds.', 1500, { type: 'integer', minimum: 1 }),
} as const satisfies Record<string, ReplyHeader>;

export type ReplyHeaderName = keyof typeof replyHeaders;
