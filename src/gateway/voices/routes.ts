// /api/voices: the voices that a key may speak with, filtered and a page at a time; how one sounds; and where they are
// made, cloned, changed and deleted, and consent is withdrawn.
import { createHash } from 'node:crypto';
import { createClient, type Transport } from '@connectrpc/connect';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Voice, VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import { Failure, type FieldViolation } from '../../errors.ts';
import { uploadBytesMax } from '../../net/limits.ts';
import type { AdmitTo } from '../http/admission.ts';
import { callOptionsOf } from '../http/call-options.ts';
import { fieldsOf } from '../http/json-body.ts';
import { addWithoutBody } from '../http/no-body.ts';
import { inTermsOfQuery, takePage, takeText } from '../http/page-query.ts';
import { documented } from '../http/route-docs.ts';
import { ignoredHeader } from '../speech/headers.ts';
import { cloneFiles, cloneTexts, parseCloneForm, parseVoiceFields } from './fields.ts';
import { FormBody, readForms } from './form-body.ts';
import { voiceDocs } from './openapi.ts';
import { toCloningJson, toVoiceJson } from './voice-json.ts';

export interface VoiceRoutesOptions {
  transport: Transport;
  admitTo: AdmitTo;
  isStrict: boolean;
  baseUrl(): string;
}

type WithId = FastifyRequest<{ Params: { id: string } }>;

const url = '/api/voices';
const { listVoices, getVoice, previewVoice, describeCloning } = VoiceService.method;
const { createVoice, cloneVoice, updateVoice, deleteVoice, revokeVoiceConsent } = VoiceService.method;

export function addVoiceRoutes(app: FastifyInstance, options: VoiceRoutesOptions): void {
  const { transport, admitTo, isStrict, baseUrl } = options;
  const client = createClient(VoiceService, transport);
  const call = (request: FastifyRequest, reply: FastifyReply) => callOptionsOf(request, reply, 'rest');
  const sendMade = (reply: FastifyReply, voice: Voice, ignored: readonly string[]) =>
    reply
      .code(201)
      .headers({ ...ignoredHeader(ignored), Location: `${baseUrl()}${url}/${encodeURIComponent(voice.voiceId)}` })
      .send(toVoiceJson(voice));

  app.route({
    method: 'GET',
    url,
    ...documented(voiceDocs.list),
    onRequest: admitTo(listVoices),
    async handler(request, reply) {
      const wanted = parseList(request.query as Record<string, unknown>);
      const { voices, nextPageToken } = await client.listVoices(wanted, call(request, reply)).catch((error) => {
        throw inTermsOfQuery(error);
      });
      return { voices: voices.map(toVoiceJson), next_cursor: nextPageToken || null };
    },
  });

  app.route({
    method: 'GET',
    url: '/api/cloning',
    ...documented(voiceDocs.describeCloning),
    onRequest: admitTo(describeCloning),
    async handler(request, reply) {
      const { engines } = await client.describeCloning({}, call(request, reply));
      return { engines: engines.map(toCloningJson) };
    },
  });

  app.route({
    method: 'GET',
    url: `${url}/:id`,
    ...documented(voiceDocs.get),
    onRequest: admitTo(getVoice),
    async handler(request: WithId, reply) {
      const { voice } = await client.getVoice({ voiceId: request.params.id }, call(request, reply));
      return toVoiceJson(voice!);
    },
  });

  app.route({
    method: 'GET',
    url: `${url}/:id/preview`,
    ...documented(voiceDocs.preview),
    onRequest: admitTo(previewVoice),
    async handler(request: WithId, reply) {
      const preview = await client.previewVoice({ voiceId: request.params.id }, call(request, reply));
      // It may be another voice's the next time, or nobody's.
      const etag = `"${createHash('sha256').update(preview.audioBytes).digest('base64url')}"`;
      reply.headers({ ETag: etag, 'cache-control': 'private, no-cache' });
      if (request.headers['if-none-match'] === etag) return reply.code(304).send();
      return reply.header('content-type', preview.contentType).send(Buffer.from(preview.audioBytes));
    },
  });

  app.register(async (scope) => {
    readForms(scope, { fileNames: cloneFiles, textNames: cloneTexts });
    scope.route({
      method: 'POST',
      url,
      ...documented(voiceDocs.create, { bodyBytesMax: uploadBytesMax }),
      onRequest: admitTo(createVoice, cloneVoice),
      async handler(request, reply) {
        if (request.body instanceof FormBody) {
          const { message, ignored } = parseCloneForm(request.body, isStrict);
          const { voice } = await client.cloneVoice(message, call(request, reply));
          return sendMade(reply, voice!, ignored);
        }
        const { voiceId, spec, ignored } = parseVoiceFields(fieldsOf(request), true, isStrict);
        const { voice } = await client.createVoice({ voiceId, spec }, call(request, reply));
        return sendMade(reply, voice!, ignored);
      },
    });
  });

  app.route({
    method: 'PATCH',
    url: `${url}/:id`,
    ...documented(voiceDocs.update),
    onRequest: admitTo(updateVoice),
    async handler(request: WithId, reply) {
      const { spec, paths, ignored } = parseVoiceFields(fieldsOf(request), false, isStrict);
      if (paths.length === 0) throw new Failure('invalid_request', { message: 'The body names nothing to change.' });
      const message = { voiceId: request.params.id, spec, updateMask: { paths } };
      const { voice } = await client.updateVoice(message, call(request, reply));
      return reply.headers(ignoredHeader(ignored)).send(toVoiceJson(voice!));
    },
  });

  addWithoutBody(app, (scope) => {
    scope.route({
      method: 'DELETE',
      url: `${url}/:id`,
      ...documented(voiceDocs.remove),
      onRequest: admitTo(deleteVoice),
      async handler(request: WithId, reply) {
        await client.deleteVoice({ voiceId: request.params.id }, call(request, reply));
        return reply.code(204).send();
      },
    });

    scope.route({
      method: 'POST',
      url: `${url}/:id/consent/revoke`,
      ...documented(voiceDocs.revokeConsent),
      onRequest: admitTo(revokeVoiceConsent),
      async handler(request: WithId, reply) {
        const { voice } = await client.revokeVoiceConsent({ voiceId: request.params.id }, call(request, reply));
        return toVoiceJson(voice!);
      },
    });
  });
}

/** Parameters that are not known mean nothing, and are ignored. */
function parseList(given: Readonly<Record<string, unknown>>) {
  const details: FieldViolation[] = [];
  const take = (name: string) => takeText(given, name, details);
  const wanted = {
    languageCode: take('language_code'),
    engine: take('engine'),
    query: take('text'),
    ...takePage(given, details),
  };
  if (details.length > 0) throw new Failure('invalid_request', { details });
  return wanted;
}
