// POST /api/audio/speech returns a link (`url`), audio in the reply (`buffer`), or audio as it is synthesized
// (`streaming`). POST /api/audio/speech/buffer only returns audio, so that generated clients can type its answer.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { EstimateSpeechResponseSchema, SpeechService } from '../../../../gen/sonant/v1/speech_pb.ts';
import type { Api } from '../../../api.ts';
import { writeMessage } from '../../../contract.ts';
import { Failure, type FieldViolation } from '../../../platform/errors.ts';
import { mapped } from '../../../platform/runtime/mapped.ts';
import { type SpeechEvent, toStoredRequest } from '../../../speech.ts';
import { asksFor, isFreshWanted } from '../../net/headers.ts';
import { run, stream } from '../admission.ts';
import { sendPieces } from '../body-writer.ts';
import { checkUnusedKey, fieldsOf, ignoredHeaders } from '../request-fields.ts';
import { documented } from '../route-docs.ts';
import type { RouteTools } from '../route-tools.ts';
import { audioDocs, estimateDocs, speechDocs } from './openapi.ts';
import {
  captionHeaders,
  linkHeaders,
  parseIdempotencyKey,
  type ReadSpeech,
  readSpeechBody,
  resultHeaders,
  type SpeechHeaders,
  soundHeaders,
} from './speech-over-http.ts';

const { synthesizeSpeech, streamSpeech, estimateSpeech } = SpeechService.method;

/** Estimates the cost of a request. The body has the fields of POST /api/audio/speech. */
function addEstimate(app: FastifyInstance, { speech, admission, isStrict }: RouteTools): void {
  app.post(
    '/api/audio/estimate',
    documented(estimateDocs, admission.admitTo(estimateSpeech)),
    async (request, reply) => {
      const read = readSpeechBody(fieldsOf(request), { isStrict, isEvents: false });
      const estimate = await run(request, reply, estimateSpeech, (call) => speech.estimateSpeech(call, read.request));
      const body = writeMessage(EstimateSpeechResponseSchema, estimate);
      return reply.headers(ignoredHeaders(request, read.ignored)).send(body);
    },
  );
}

export function addSpeechRoutes(app: FastifyInstance, tools: RouteTools): void {
  const { speech, admission, eventSender, idempotency, isStrict } = tools;

  const synthesize = (request: FastifyRequest, reply: FastifyReply, read: ReadSpeech) =>
    run(request, reply, synthesizeSpeech, (call) =>
      speech.synthesizeSpeech(call, read.request, { fresh: isFreshWanted(request.headers['cache-control']) }),
    );

  const makeLink = async (request: FastifyRequest, reply: FastifyReply, read: ReadSpeech) => {
    const delivered = await synthesize(request, reply, read);
    const { audioId, voice, chars, format, audioUrl, expiresAt } = delivered;
    const headers: SpeechHeaders = {
      ...resultHeaders(delivered),
      ...captionHeaders(delivered),
      'X-Audio-Expires': expiresAt.toISOString(),
    };
    const body = { status: 'success', audio_url: audioUrl, voice_name: voice.name, method: 'rest', chars, format };
    return {
      answer: { headers, body },
      subject: audioId,
      usefulUntilMs: Math.floor(expiresAt.getTime() / 1000) * 1000,
    };
  };

  const sendLink = async (request: FastifyRequest, reply: FastifyReply, read: ReadSpeech) => {
    const key = parseIdempotencyKey(request.headers['idempotency-key']);
    let isRepeated = key !== undefined;
    const work = () => {
      isRepeated = false;
      return makeLink(request, reply, read);
    };
    const { callerId } = request.call!.caller;
    const { headers, body } =
      key === undefined
        ? (await work()).answer
        : await idempotency.once({ key, callerId, request: toStoredRequest(read.request), work });
    const charged = isRepeated ? { 'X-Chars-Charged': '0' } : {};
    return reply.headers({ ...headers, ...charged, ...ignoredHeaders(request, read.ignored) }).send(body);
  };

  const sendSound = async (request: FastifyRequest, reply: FastifyReply, read: ReadSpeech) => {
    const delivered = await synthesize(request, reply, read);
    const headers = {
      ...soundHeaders(delivered, 'rest'),
      ...resultHeaders(delivered),
      'content-length': String(delivered.byteCount),
      ...ignoredHeaders(request, read.ignored),
    };
    await sendPieces(reply, headers, delivered.open());
    return reply;
  };

  const speak = (isAudio: boolean) => async (request: FastifyRequest, reply: FastifyReply) => {
    const fields = fieldsOf(request);
    const isStream = fields.method === 'streaming';
    request.call!.narrow(isStream ? streamSpeech : synthesizeSpeech);
    const isEvents = isStream && !isAudio && asksFor(request.headers.accept, 'text/event-stream');
    const read = readSpeechBody(fields, { isStrict, isEvents, isAudio });
    if (isStream || read.request.returnFormat === 'buffer') refuseUnusedKey(request, read, isStrict);
    if (isEvents) return eventSender.begin(request, reply, read);
    if (isStream) return sendStream(speech, request, reply, read);
    const send = read.request.returnFormat === 'buffer' ? sendSound : sendLink;
    return send(request, reply, read);
  };
  const admit = admission.admitTo(synthesizeSpeech, streamSpeech);
  app.post('/api/audio/speech', documented(speechDocs, admit), speak(false));
  app.post('/api/audio/speech/buffer', documented(audioDocs, admit), speak(true));

  addEstimate(app, tools);
}

function refuseUnusedKey(request: FastifyRequest, { ignored }: ReadSpeech, isStrict: boolean): void {
  const faults: FieldViolation[] = [];
  checkUnusedKey(request, isStrict, ignored, faults);
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
}

async function sendStream(
  speech: Api['speech'],
  request: FastifyRequest,
  reply: FastifyReply,
  read: ReadSpeech,
): Promise<FastifyReply> {
  const events = stream(request, reply, streamSpeech, (call) => speech.streamSpeech(call, read.request));
  const { info, pieces } = await beginSound(events);
  const headers = {
    ...soundHeaders(info, 'streaming'),
    ...resultHeaders(info),
    ...linkHeaders(info),
    ...ignoredHeaders(request, read.ignored),
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  };
  await sendPieces(reply, headers, pieces);
  return reply;
}

/** Reads the info of a stream, which comes with the first audio, and returns it with the pieces of audio. */
export async function beginSound(
  events: AsyncIterable<SpeechEvent>,
): Promise<{ info: SpeechEvent<'info'>; pieces: AsyncIterable<Uint8Array> }> {
  const iterator = events[Symbol.asyncIterator]();
  const { value: info } = await iterator.next();
  if (info?.type !== 'info') throw new Error('a stream began without its info');
  const rest = { [Symbol.asyncIterator]: () => iterator };
  return {
    info,
    pieces: mapped(() => rest, { convert: (event) => (event.type === 'audio' ? event.audio : undefined) }),
  };
}
