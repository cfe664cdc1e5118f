// GET and HEAD /audio/{id}.{format}: stored audio, for whoever knows its address. It is what any cache and player
// expects of a file that never changes: ranges (RFC 9110 section 14), an ETag, an age to keep it for.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { audioFormats, type FormatName } from '../../audio/formats.ts';
import type { ClipStore } from '../../clips/clip-store.ts';
import type { LinkTo } from '../../clips/s3-links.ts';
import { type Cue, captionContentTypes, toCaptions } from '../../delivery/captions.ts';
import { Failure } from '../../errors.ts';
import { type CaptionKind, captionKinds } from '../../speech/request.ts';
import type { ClipRow, ClipRows } from '../../store/clip-rows.ts';
import { sendPieces } from '../http/body-writer.ts';
import { toAnswerAt } from '../http/documented-failures.ts';
import { toFailureReply } from '../http/failure-reply.ts';
import type { ReplyHeaderName } from '../http/reply-headers.ts';
import { documented, type RouteDocs } from '../http/route-docs.ts';
import { exampleAudioId, requestHeader, soundContent } from '../speech/openapi.ts';
import { parseRange } from './byte-range.ts';

export interface AudioFiles {
  find: ClipRows['find'];
  open: ClipStore['open'];
  /** The captions of a clip, if it has any. */
  captionsOf(clipId: string): Promise<readonly Cue[] | undefined>;
  /** Where the store itself serves audio. */
  linkTo?: LinkTo | undefined;
  /** Whether it may have to be silent before its time: of a person who can withdraw consent. */
  isRevocable(clip: ClipRow): boolean;
}

type AudioRequest = FastifyRequest<{ Params: { file: string } }>;

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
const operation: RouteDocs = {
  id: 'getAudio',
  tag: 'Audio',
  summary: 'Fetch stored audio',
  description: 'No key is needed; the address cannot be guessed. HEAD is answered too.',
  parameters: [
    {
      in: 'path',
      name: 'file',
      description: 'Id and extension: `aud_01JD....wav`; of captions, `.srt` or `.vtt`.',
      schema: { type: 'string' },
      required: true,
      example: `${exampleAudioId}.wav`,
    },
    requestHeader('Range', 'One range of bytes, such as `bytes=0-99`.'),
    requestHeader('If-Range', 'An ETag: the range counts only while it is the same.'),
    requestHeader('If-None-Match', 'ETags that you have.'),
  ],
  answers: {
    200: { description: 'The whole file.', headers, content: { ...soundContent, ...captionContent } },
    206: { description: 'The bytes asked for.', headers: [...headers, 'Content-Range'], content: soundContent },
    302: {
      description: 'The store that this service uses has it at that address.',
      headers: ['Location', 'Cache-Control'],
    },
    304: { description: 'You have it.', headers },
    416: { ...toAnswerAt(416, 'invalid_request'), headers: ['Content-Range', 'Cache-Control'] },
  },
  failures: ['not_found', 'audio_expired', 'storage_unavailable'],
};

export function addAudioRoutes(app: FastifyInstance, files: AudioFiles): void {
  const sendCaptions = async (request: AudioRequest, reply: FastifyReply, row: ClipRow, kind: CaptionKind) => {
    const etag = `"${row.clipId}.${kind}"`;
    const cues = await files.captionsOf(row.clipId);
    if (!cues) throw new Failure('not_found');
    const { 'accept-ranges': _, ...common } = fileHeaders(row, etag, files.isRevocable(row));
    if (matches(request.headers['if-none-match'], etag)) return reply.code(304).headers(common).send();
    const text = Buffer.from(toCaptions(kind, cues));
    const head = { ...common, 'content-type': captionContentTypes[kind], 'content-length': text.length };
    return reply.headers(head).send(request.method === 'HEAD' ? '' : text);
  };

  const send = async (request: AudioRequest, reply: FastifyReply) => {
    const { row, captions } = await findClip(files, request.params.file);
    if (captions) return sendCaptions(request, reply, row, captions);
    const etag = `"${row.clipId}"`;
    const isRevocable = files.isRevocable(row);
    const common = fileHeaders(row, etag, isRevocable);
    if (matches(request.headers['if-none-match'], etag)) return reply.code(304).headers(common).send();
    const isRangeWanted = request.method === 'GET' && (request.headers['if-range'] ?? etag) === etag;
    const range = parseRange(isRangeWanted ? request.headers.range : undefined, row.byteCount);
    if (range === 'unsatisfiable') return refuseRange(request, reply, row.byteCount);
    const { contentType, extension } = audioFormats[row.format as FormatName];
    // What may be revoked is never handed to where it could be fetched past us.
    if (files.linkTo && !isRevocable && request.method === 'GET') {
      const { clipId, expiresAtMs } = row;
      const fileName = `${clipId}.${extension}`;
      const { url, maxAgeSeconds } = await files.linkTo({ key: clipId, contentType, fileName, expiresAtMs });
      return reply
        .code(302)
        .headers({ Location: url, 'cache-control': `public, max-age=${maxAgeSeconds}` })
        .send();
    }
    const { first, last } = range === 'whole' ? { first: 0, last: row.byteCount - 1 } : range;
    const head = { ...common, 'content-type': contentType, 'content-length': last - first + 1 };
    if (request.method === 'HEAD') return reply.headers(head).send('');
    const clip = await files.open(row.clipId, range === 'whole' ? undefined : range);
    if (!clip) throw new Failure('not_found');
    if (range === 'whole') await sendPieces(reply, head, clip.body);
    else
      await sendPieces(
        reply.code(206),
        { ...head, 'Content-Range': `bytes ${first}-${last}/${row.byteCount}` },
        clip.body,
      );
    return reply;
  };

  app.route({ method: ['GET', 'HEAD'], url: '/audio/:file', ...documented(operation), handler: send });
}

/** The clip of an address, or of whose captions it is; a Failure if there is none, none of that format, or none any more. */
async function findClip(
  { find }: AudioFiles,
  file: string,
): Promise<{ row: ClipRow; captions?: CaptionKind | undefined }> {
  const [, id, extension] = /^(aud_[0-9A-Z]{20,80})\.([a-z0-9]{2,4})$/.exec(file) ?? [];
  const row = id === undefined ? undefined : await find(id);
  const captions = captionKinds.find((kind) => kind === extension);
  const isOfFormat = row && audioFormats[row.format as FormatName].extension === extension;
  if (!row || !(captions || isOfFormat)) throw new Failure('not_found');
  if (row.expiresAtMs <= Date.now()) throw new Failure('audio_expired');
  return { row, captions };
}

/** What may be revoked is asked for again each time; all else never changes. */
const fileHeaders = ({ expiresAtMs }: ClipRow, etag: string, isRevocable: boolean) => ({
  ETag: etag,
  'accept-ranges': 'bytes',
  'cache-control': isRevocable
    ? 'private, no-cache'
    : `public, max-age=${Math.floor((expiresAtMs - Date.now()) / 1000)}, immutable`,
  'x-content-type-options': 'nosniff',
});

/** RFC 9110 section 13.1.2: a list, or `*`; a weak one counts as well. */
const matches = (header: string | undefined, etag: string): boolean =>
  header?.trim() === '*' || (header?.split(',').some((one) => one.trim().replace(/^W\//, '') === etag) ?? false);

function refuseRange(request: FastifyRequest, reply: FastifyReply, byteCount: number) {
  const failure = new Failure('invalid_request', {
    message: `The audio has ${byteCount} bytes; none are in that range.`,
  });
  const { status, headers, body } = toFailureReply(
    failure,
    { requestId: request.id, accept: request.headers.accept },
    416,
  );
  return reply
    .code(status)
    .headers({ ...headers, 'Content-Range': `bytes */${byteCount}` })
    .send(body);
}
