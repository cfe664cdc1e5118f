// The OpenAPI documentation of /audio.
import { captionContentTypes } from '../../delivery/captions.ts';
import { type CaptionKind, captionKinds } from '../../speech/fields.ts';
import type { ReplyHeaderName } from '../reply-headers.ts';
import { type RouteDocs, requestHeader } from '../route-docs.ts';
import { exampleAudioId, soundContent } from '../speech/openapi.ts';

const headers: readonly ReplyHeaderName[] = ['ETag', 'Accept-Ranges', 'Cache-Control'];
const captionExamples: Readonly<Record<CaptionKind, string>> = {
  srt: '1\n00:00:00,000 --> 00:00:01,240\nGood evening.\n',
  vtt: 'WEBVTT\n\n00:00:00.000 --> 00:00:01.240\nGood evening.\n',
};
const captionContent = Object.fromEntries(
  captionKinds.map((kind) => [
    captionContentTypes[kind].split(';')[0]!,
    { schema: { type: 'string' }, example: captionExamples[kind] },
  ]),
);
export const audioDocs: RouteDocs = {
  id: 'getAudio',
  tag: 'Audio',
  summary: 'Download stored audio',
  description: 'No key is needed; the URL cannot be guessed. HEAD is supported too.',
  parameters: [
    {
      in: 'path',
      name: 'file',
      description: 'Id and extension, such as `aud_01JD....wav`; for captions, `.srt` or `.vtt`.',
      schema: { type: 'string' },
      required: true,
      example: `${exampleAudioId}.wav`,
    },
    requestHeader('Range', 'One range of bytes, such as `bytes=0-99`.'),
    requestHeader('If-Range', 'An ETag: the range applies only if it matches.'),
    requestHeader('If-Match', 'The ETags of the versions that you want; the reply is 412 if none of them matches.'),
    requestHeader('If-None-Match', 'The ETags of the copies that you have.'),
  ],
  answers: {
    200: { description: 'The whole file.', headers, content: { ...soundContent, ...captionContent } },
    206: { description: 'The requested bytes.', headers: [...headers, 'Content-Range'], content: soundContent },
    302: { description: 'Redirects to the object store of the service.', headers: ['Location', 'Cache-Control'] },
    304: { description: 'Your copy is current.', headers },
  },
  failures: ['not_found', 'audio_expired', 'precondition_failed', 'range_not_satisfiable', 'storage_unavailable'],
};
