// The documented reply headers. CORS exposes them, since a page can read only exposed headers.
import { apiVersion } from '../net/headers.ts';

interface ReplyHeader {
  description: string;
  required?: true;
  schema: Readonly<Record<string, unknown>>;
  example: unknown;
}

const header = (description: string, example: unknown, schema: object = { type: 'string' }): ReplyHeader => ({
  description,
  schema: { ...schema },
  example,
});
const always = (header: ReplyHeader): ReplyHeader => ({ ...header, required: true });
const whole = { type: 'integer', minimum: 0 };
const oneOf = (...values: readonly string[]) => ({ type: 'string', enum: values });

export const replyHeaders = {
  'X-Request-Id': always(
    header('The id of the request: your own if it matches `[A-Za-z0-9_-]{1,64}`.', 'req_01JD3Q8S6V5W2K9YB4XJ', {
      type: 'string',
      pattern: '^[A-Za-z0-9_-]{1,64}$',
    }),
  ),
  'X-API-Version': always(header('The version of this API.', apiVersion, oneOf(apiVersion))),
  'X-Voice': header('Name of the voice used; percent-encoded UTF-8 if it is not printable ASCII.', 'Clara'),
  'X-Voice-Encoding': header('`percent` if X-Voice is percent-encoded.', 'percent', oneOf('percent')),
  'X-Voice-Id': header('Id of the voice used.', 'clara'),
  'X-Method': header('`rest` or `streaming`.', 'rest', oneOf('rest', 'streaming')),
  'X-Chars': header('Unicode code points of the text received.', 57, whole),
  'X-Chars-Charged': header(
    'Unicode code points that are charged: X-Chars, or 0 if the audio is from the cache.',
    57,
    whole,
  ),
  'X-Format': header('`wav`, `pcm`, `mp3`, `opus` or `flac`.', 'wav'),
  'X-Sample-Rate': header('Sample rate of the audio in hertz; for Opus, the requested one.', 44_100, whole),
  'X-Audio-Id': header('Id of the audio.', 'aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H'),
  'X-Audio-Duration': header('Duration of the audio in seconds.', 3.711, { type: 'number', minimum: 0 }),
  'X-Audio-Expires': header('When the link expires.', '2030-01-02T03:04:05.000Z', {
    type: 'string',
    format: 'date-time',
  }),
  'X-Audio-Url': header(
    'URL of a stored stream, available once the stream is complete.',
    'http://127.0.0.1:8080/audio/aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H.wav',
    { type: 'string', format: 'uri' },
  ),
  'X-Cache': header(
    '`HIT` if the audio is from the cache, `MISS` if it was synthesized.',
    'MISS',
    oneOf('HIT', 'MISS'),
  ),
  'X-Speech-Check': header(
    'In replies that are sent when all text is spoken: whether the audio says the text, as far as its sound shows.',
    'good',
    oneOf('good', 'suspect', 'unchecked'),
  ),
  'X-Captions-Srt': header(
    'URL of the captions as SubRip, if requested; expires with the audio.',
    'http://127.0.0.1:8080/audio/aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H.srt',
    { type: 'string', format: 'uri' },
  ),
  'X-Captions-Vtt': header(
    'URL of the captions as WebVTT, if requested; expires with the audio.',
    'http://127.0.0.1:8080/audio/aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H.vtt',
    { type: 'string', format: 'uri' },
  ),
  'X-Warnings': header(
    'Warnings: `nothing_spoken`, `transliterated`, `fallback_engine`, and `ignored:` with the name of markup or of a field.',
    'transliterated',
  ),
  'X-Descendants-Revoked': header('Number of other keys that were revoked with this key.', 2, whole),
  'X-Ignored-Fields': header(
    'Unknown members of the body and parameters of the query, which were ignored.',
    'langauge_code, colour',
  ),
  'X-Did-You-Mean': header(
    'The known names that ignored names were probably meant to be.',
    'langauge_code=language_code',
  ),
  'Content-Disposition': header(
    '`attachment; filename=<id>.<format>`',
    'attachment; filename=aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H.wav',
  ),
  'Content-Range': header('The range of these bytes, and the total.', 'bytes 0-99/1234'),
  ETag: header('Identifies this version of the content.', '"aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H"'),
  Link: header('The C2PA manifest of the audio.', '<aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H.c2pa>; rel="c2pa-manifest"'),
  Location: header(
    'The redirect target, or the URL of the created resource.',
    'http://127.0.0.1:8080/api/voices/news',
    {
      type: 'string',
      format: 'uri',
    },
  ),
  'Accept-Ranges': header('Byte ranges are supported.', 'bytes', oneOf('bytes')),
  'Cache-Control': header('Whether, and for how long, the reply may be cached.', 'no-store'),
  'X-Accel-Buffering': header('Keeps a proxy from buffering the reply.', 'no', oneOf('no')),
  'WWW-Authenticate': header('The authentication scheme.', 'ApiKey realm="sonant"'),
  'Accept-Encoding': header('The encodings that a request body may have.', 'identity', oneOf('identity')),
  Allow: header('The methods of this path.', 'GET, HEAD'),
  'RateLimit-Policy': header(
    'The limits of the key.',
    '"requests";q=600;w=60, "concurrency";q=20;qu="concurrent-requests"',
  ),
  RateLimit: header('The remaining quota (`r`), and the seconds until it is full again (`t`).', '"requests";r=87;t=2'),
  'Retry-After': header('Seconds to wait before a retry.', 2, { type: 'integer', minimum: 1 }),
  'x-should-retry': header(
    'A retry would fail too. Clients of OpenAI and Cartesia retry some statuses without this header.',
    'false',
    oneOf('false'),
  ),
  'retry-after-ms': header('Milliseconds to wait before a retry.', 1500, { type: 'integer', minimum: 1 }),
} as const satisfies Record<string, ReplyHeader>;

export type ReplyHeaderName = keyof typeof replyHeaders;
