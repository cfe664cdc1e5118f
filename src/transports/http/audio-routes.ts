// GET and HEAD /audio/{id}.{format}: stored audio for everyone who has the URL, with ranges (RFC 9110 section 14), an
// ETag and a max-age.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { audioFormats, type FormatName } from '../../audio.ts';
import { type ByteRange, besideTypes, type ClipRow, type StoredAudio } from '../../clips.ts';
import { Failure } from '../../platform/errors.ts';
import { type CaptionKind, speechFields } from '../../speech.ts';
import { isKept, isWanted, manifestLink } from '../net/headers.ts';
import { sendPieces } from './body-writer.ts';
import type { ReplyHeaderName } from './documented-headers.ts';
import { documented, type RouteDocs, requestHeader } from './route-docs.ts';
import { exampleAudioId, soundContent } from './synthesis/openapi.ts';

type AudioRequest = FastifyRequest<{ Params: { file: string } }>;

export function addAudioRoutes(app: FastifyInstance, audio: StoredAudio): void {
  const sendBeside = async (
    request: AudioRequest,
    reply: FastifyReply,
    row: ClipRow,
    kind: keyof typeof besideTypes,
  ) => {
    const etag = `"${row.clipId}.${kind}"`;
    const bytes = await audio.fileOf(row, kind);
    if (!bytes) throw new Failure('not_found');
    const { 'accept-ranges': _, ...common } = fileHeaders(row, etag, audio.isRevocable(row));
    if (isCurrent(request, etag)) return reply.code(304).headers(common).send();
    const head = { ...common, 'content-type': besideTypes[kind], 'content-length': bytes.length };
    return reply.headers(head).send(request.method === 'HEAD' ? '' : bytes);
  };

  const send = async (request: AudioRequest, reply: FastifyReply) => {
    const { row, beside } = await audio.find(request.params.file);
    if (beside) return sendBeside(request, reply, row, beside);
    if (audio.hasManifests && row.origin) reply.header('Link', manifestLink(`${row.clipId}.c2pa`));
    const etag = `"${row.clipId}"`;
    const isRevocable = audio.isRevocable(row);
    const common = fileHeaders(row, etag, isRevocable);
    if (isCurrent(request, etag)) return reply.code(304).headers(common).send();
    const isRangeWanted = request.method === 'GET' && (request.headers['if-range'] ?? etag) === etag;
    const range = parseRange(isRangeWanted ? request.headers.range : undefined, row.byteCount);
    if (range === 'unsatisfiable') return refuseRange(reply, row.byteCount);
    const { contentType, extension } = audioFormats[row.format as FormatName];
    // Revocable audio is never redirected: the link would outlive a revocation.
    if (audio.linkTo && !isRevocable && request.method === 'GET') {
      const { clipId, expiresAtMs } = row;
      const fileName = `${clipId}.${extension}`;
      const { url, maxAgeSeconds } = await audio.linkTo({ key: clipId, contentType, fileName, expiresAtMs });
      return reply
        .code(302)
        .headers({ Location: url, 'cache-control': `public, max-age=${maxAgeSeconds}` })
        .send();
    }
    const { first, last } = range === 'whole' ? { first: 0, last: row.byteCount - 1 } : range;
    const head = { ...common, 'content-type': contentType, 'content-length': last - first + 1 };
    const isHead = request.method === 'HEAD';
    const clip = await audio.read(row, isHead ? { first: 0, last: -1 } : range === 'whole' ? undefined : range);
    if (!clip) throw new Failure('not_found');
    if (isHead) {
      clip.close();
      return reply.headers(head).send('');
    }
    if (range === 'whole') await sendPieces(reply, head, clip.pieces);
    else
      await sendPieces(
        reply.code(206),
        { ...head, 'Content-Range': `bytes ${first}-${last}/${row.byteCount}` },
        clip.pieces,
      );
    return reply;
  };

  app.route({ method: ['GET', 'HEAD'], url: '/audio/:file', ...documented(audioDocs), handler: send });
}

/** Whether the client has this version. Throws a Failure if the client's If-Match requires another version. */
function isCurrent({ headers }: FastifyRequest, etag: string): boolean {
  if (!isWanted(headers['if-match'], etag)) throw new Failure('precondition_failed');
  return isKept(headers['if-none-match'], etag);
}

/** Revocable audio is revalidated on each use; other audio never changes. */
const fileHeaders = ({ expiresAtMs }: ClipRow, etag: string, isRevocable: boolean) => ({
  ETag: etag,
  'accept-ranges': 'bytes',
  'cache-control': isRevocable
    ? 'private, no-cache'
    : `public, max-age=${Math.floor((expiresAtMs - Date.now()) / 1000)}, immutable`,
  'x-content-type-options': 'nosniff',
});

function refuseRange(reply: FastifyReply, byteCount: number): never {
  reply.header('Content-Range', `bytes */${byteCount}`);
  const message = `The audio has ${byteCount} bytes; none are in that range, or it names more than ${rangesMax} ranges.`;
  throw new Failure('range_not_satisfiable', { message });
}

/** Maximum number of ranges in a request. */
const rangesMax = 100;

/**
 * Parses a Range header such as "bytes=0-99,-100". RFC 9110 section 14 permits the whole body if several ranges are
 * requested, and requires it if the header is malformed.
 */
export function parseRange(header: string | undefined, byteCount: number): ByteRange | 'whole' | 'unsatisfiable' {
  const set = /^bytes=(.+)$/i.exec(header ?? '')?.[1];
  const specs =
    set
      ?.split(',')
      .map((spec) => spec.trim())
      .filter(Boolean) ?? [];
  const ranges = specs.map((spec) => toRange(spec, byteCount));
  if (ranges.length === 0 || ranges.includes(undefined)) return 'whole';
  const satisfiable = ranges.filter((range) => range!.first < byteCount && range!.first <= range!.last);
  if (satisfiable.length === 0 || ranges.length > rangesMax) return 'unsatisfiable';
  return ranges.length === 1 ? satisfiable[0]! : 'whole';
}

/** Parses one range; undefined if it is malformed. An empty range is unsatisfiable. */
function toRange(spec: string, byteCount: number): ByteRange | undefined {
  const [, from = '', to = ''] = /^(\d{0,15})-(\d{0,15})$/.exec(spec) ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '')
    return { first: Number(to) === 0 ? byteCount : Math.max(0, byteCount - Number(to)), last: byteCount - 1 };
  if (to !== '' && Number(to) < Number(from)) return undefined;
  return { first: Number(from), last: to === '' ? byteCount - 1 : Math.min(Number(to), byteCount - 1) };
}

const headers: readonly ReplyHeaderName[] = ['ETag', 'Accept-Ranges', 'Cache-Control', 'Link'];
const captionExamples: Readonly<Record<CaptionKind, string>> = {
  srt: '1\n00:00:00,000 --> 00:00:01,240\nGood evening.\n',
  vtt: 'WEBVTT\n\n00:00:00.000 --> 00:00:01.240\nGood evening.\n',
};
const captionContent = Object.fromEntries(
  speechFields.captionKinds.map((kind) => [
    besideTypes[kind].split(';')[0]!,
    { schema: { type: 'string' }, example: captionExamples[kind] },
  ]),
);
const audioDocs: RouteDocs = {
  id: 'getAudio',
  tag: 'Audio',
  summary: 'Download stored audio',
  description: 'No key is needed; the URL cannot be guessed. HEAD is supported too.',
  parameters: [
    {
      in: 'path',
      name: 'file',
      description:
        'Id and extension, such as `aud_01JD....wav`; for captions, `.srt` or `.vtt`; for the C2PA manifest, `.c2pa`.',
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
    200: {
      description: 'The whole file.',
      headers,
      content: {
        ...soundContent,
        ...captionContent,
        [besideTypes.c2pa]: { schema: { type: 'string', format: 'binary' } },
      },
    },
    206: { description: 'The requested bytes.', headers: [...headers, 'Content-Range'], content: soundContent },
    302: {
      description: 'Redirects to the object store of the service.',
      headers: ['Location', 'Cache-Control', 'Link'],
    },
    304: { description: 'Your copy is current.', headers },
  },
  failures: ['not_found', 'audio_expired', 'precondition_failed', 'range_not_satisfiable', 'storage_unavailable'],
};
