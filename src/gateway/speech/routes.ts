// POST /api/audio/speech: text becomes a link (`url`), sound in the reply (`buffer`), or sound as it is made
// (`streaming`); and DELETE /api/audio/{id}, which takes back a link.
import type { Client } from '@connectrpc/connect';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import type { Delivered } from '../../delivery/delivery.ts';
import { type Idempotency, parseIdempotencyKey } from '../../operations/idempotency.ts';
import { handoverKey } from '../../rpc/call.ts';
import { type AdmitTo, requireScopes } from '../http/admission.ts';
import { sendPieces } from '../http/body-writer.ts';
import { callOptionsOf } from '../http/call-options.ts';
import { fieldsOf } from '../http/json-body.ts';
import { documented } from '../http/route-docs.ts';
import { beginSound } from './begun-sound.ts';
import { type EventSender, linkHeaders } from './event-sender.ts';
import { type AskedSpeech, parseSpeechFields, toStream, toSynthesize } from './fields.ts';
import {
  captionHeaders,
  durationHeader,
  expiresHeader,
  formatOf,
  ignoredHeader,
  type SpeechHeaders,
  soundHeaders,
  storyHeaders,
} from './headers.ts';
import { deleteDocs, speechDocs } from './openapi.ts';

export interface SpeechRoutesOptions {
  client: Client<typeof SpeechService>;
  admitTo: AdmitTo;
  eventSender: EventSender;
  idempotency: Idempotency;
  isStrict: boolean;
}

interface LinkAnswer {
  headers: SpeechHeaders;
  body: Readonly<Record<string, unknown>>;
}

const { synthesizeSpeech, streamSpeech, deleteAudio } = SpeechService.method;

export function addSpeechRoutes(app: FastifyInstance, options: SpeechRoutesOptions): void {
  const { client, admitTo, eventSender, idempotency, isStrict } = options;

  const makeLink = async (request: FastifyRequest, reply: FastifyReply, { request: speech }: AskedSpeech) => {
    const response = await client.synthesizeSpeech(toSynthesize(speech), callOptionsOf(request, reply, 'rest'));
    const { voiceName, chars, audio, expireTime } = response;
    const told = [storyHeaders, durationHeader, expiresHeader, captionHeaders].map((headersOf) => headersOf(response));
    const headers: SpeechHeaders = Object.assign({}, ...told);
    const format = formatOf(response.outputFormat);
    const body = { status: 'success', audio_url: audio.value, voice_name: voiceName, method: 'rest', chars, format };
    const answer: LinkAnswer = { headers, body };
    return {
      answer,
      subject: response.audioId,
      usefulUntilMs: expireTime ? Number(expireTime.seconds) * 1000 : Infinity,
    };
  };

  const sendLink = async (request: FastifyRequest, reply: FastifyReply, asked: AskedSpeech) => {
    const key = parseIdempotencyKey(request.headers['idempotency-key']);
    const work = () => makeLink(request, reply, asked);
    const { callerId } = request.caller!;
    const { answer } =
      key === undefined
        ? await work()
        : { answer: await idempotency.once({ key, callerId, request: asked.request, work }) };
    return reply.headers({ ...answer.headers, ...ignoredHeader(asked.ignored) }).send(answer.body);
  };

  const sendSound = async (request: FastifyRequest, reply: FastifyReply, { request: speech, ignored }: AskedSpeech) => {
    const handover: { delivered?: Delivered } = {};
    const call = callOptionsOf(request, reply, 'rest');
    call.contextValues.set(handoverKey, handover);
    const response = await client.synthesizeSpeech(toSynthesize(speech), call);
    const { byteCount, open } = handover.delivered!;
    const headers = {
      ...soundHeaders(response, 'rest'),
      ...durationHeader(response),
      ...ignoredHeader(ignored),
      'content-length': byteCount,
    };
    await sendPieces(reply, headers, open());
    return reply;
  };

  const sendStream = async (request: FastifyRequest, reply: FastifyReply, asked: AskedSpeech) => {
    const messages = client.streamSpeech(toStream(asked), callOptionsOf(request, reply, 'rest'));
    const { info, pieces } = await beginSound(messages);
    const headers = {
      ...soundHeaders(info, 'streaming'),
      ...linkHeaders(info),
      ...ignoredHeader(asked.ignored),
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    };
    await sendPieces(reply, headers, pieces);
    return reply;
  };

  app.route({
    method: 'POST',
    url: '/api/audio/speech',
    ...documented(speechDocs),
    onRequest: admitTo(synthesizeSpeech, streamSpeech),
    async handler(request, reply) {
      const fields = fieldsOf(request);
      const isStream = fields.method === 'streaming';
      requireScopes(request, isStream ? streamSpeech : synthesizeSpeech);
      const isEvents = isStream && (request.headers.accept?.includes('text/event-stream') ?? false);
      const asked = parseSpeechFields(fields, { isStrict, isEvents });
      if (isEvents) return eventSender.begin(request, reply, asked);
      if (isStream) return sendStream(request, reply, asked);
      return asked.request.returnFormat === 'buffer'
        ? sendSound(request, reply, asked)
        : sendLink(request, reply, asked);
    },
  });

  app.route({
    method: 'DELETE',
    url: '/api/audio/:id',
    ...documented(deleteDocs),
    onRequest: admitTo(deleteAudio),
    async handler(request: FastifyRequest<{ Params: { id: string } }>, reply) {
      const { id } = request.params;
      await client.deleteAudio({ audioId: id }, callOptionsOf(request, reply, 'rest'));
      await idempotency.forgetAbout(request.caller!.callerId, id);
      return reply.code(204).send();
    },
  });
}
