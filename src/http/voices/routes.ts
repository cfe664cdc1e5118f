// /api/voices: lists, previews, creates, clones, updates and deletes voices, and withdraws consent. /api/default-voice: reads
// and chooses the default voice.
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { voiceOperations } from '../../api/operation.ts';
import { parseVoiceFilter } from '../../api/voice-filter.ts';
import type { ListedVoice, VoiceOperations } from '../../api/voices.ts';
import { isKept } from '../../net/cache-control.ts';
import { uploadBytesMax } from '../../net/limits.ts';
import { type AdmitTo, run } from '../admission.ts';
import { ignoredHeaders } from '../ignored-fields.ts';
import { fieldsOf } from '../json-body.ts';
import { type SortedFields, sortQuery, type UnknownField } from '../known-fields.ts';
import { addWithoutBody } from '../no-body.ts';
import { takePage, takeText } from '../page-query.ts';
import { documented } from '../route-docs.ts';
import { nothingToChange } from '../unknown-fields.ts';
import { cloneFiles, cloneTexts, parseCloneForm, parseDefaultVoice, parseVoiceFields } from './fields.ts';
import { FormBody, readForms } from './form-body.ts';
import { voiceDocs } from './openapi.ts';
import { toCloningJson, toDefaultVoiceJson, toVoiceJson } from './voice-json.ts';

export interface VoiceRoutesOptions {
  voices: VoiceOperations;
  admitTo: AdmitTo;
  isStrict: boolean;
  baseUrl(): string;
}

type WithId = FastifyRequest<{ Params: { id: string } }>;

const url = '/api/voices';
const { listVoices, getVoice, previewVoice, describeCloning } = voiceOperations;
const { getDefaultVoice, setDefaultVoice } = voiceOperations;
const { createVoice, cloneVoice, updateVoice, deleteVoice, revokeVoiceConsent } = voiceOperations;

export function addVoiceRoutes(app: FastifyInstance, options: VoiceRoutesOptions): void {
  addVoiceReading(app, options);
  addDefaultVoice(app, options);
  addVoiceMaking(app, options);
  addVoiceChanging(app, options);
}

function addVoiceReading(app: FastifyInstance, { voices, admitTo, isStrict }: VoiceRoutesOptions): void {
  app.get(url, documented(voiceDocs.list, admitTo(listVoices)), async (request, reply) => {
    const { filter, page } = parseList(sortQuery(request, isStrict));
    const list = run(request, reply, listVoices, (call) => voices.listVoices(call, filter, page));
    const { items, nextPageToken } = await list;
    return { voices: items.map(toVoiceJson), next_cursor: nextPageToken || null };
  });

  app.get('/api/cloning', documented(voiceDocs.describeCloning, admitTo(describeCloning)), async (request, reply) => {
    const engines = await run(request, reply, describeCloning, (call) => voices.describeCloning(call));
    return { engines: engines.map(toCloningJson) };
  });

  app.get(`${url}/:id`, documented(voiceDocs.get, admitTo(getVoice)), async (request: WithId, reply) =>
    toVoiceJson(await run(request, reply, getVoice, (call) => voices.getVoice(call, request.params.id))),
  );

  app.get(
    `${url}/:id/preview`,
    documented(voiceDocs.preview, admitTo(previewVoice)),
    async (request: WithId, reply) => {
      const preview = run(request, reply, previewVoice, (call) => voices.previewVoice(call, request.params.id));
      const { audio, contentType } = await preview;
      // The voice may change or be deleted.
      const etag = `"${createHash('sha256').update(audio).digest('base64url')}"`;
      reply.headers({ ETag: etag, 'cache-control': 'private, no-cache' });
      if (isKept(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.header('content-type', contentType).send(Buffer.from(audio));
    },
  );
}

const defaultUrl = '/api/default-voice';

function addDefaultVoice(app: FastifyInstance, { voices, admitTo, isStrict }: VoiceRoutesOptions): void {
  app.get(defaultUrl, documented(voiceDocs.getDefault, admitTo(getDefaultVoice)), async (request, reply) =>
    toDefaultVoiceJson(await run(request, reply, getDefaultVoice, (call) => voices.getDefaultVoice(call))),
  );

  app.put(defaultUrl, documented(voiceDocs.setDefault, admitTo(setDefaultVoice)), async (request, reply) => {
    const { voiceId, ignored } = parseDefaultVoice(fieldsOf(request), isStrict);
    const chosen = await run(request, reply, setDefaultVoice, (call) => voices.setDefaultVoice(call, voiceId));
    return reply.headers(ignoredHeaders(request, ignored)).send(toDefaultVoiceJson(chosen));
  });
}

function addVoiceMaking(app: FastifyInstance, { voices, admitTo, isStrict, baseUrl }: VoiceRoutesOptions): void {
  const sendMade = (reply: FastifyReply, made: ListedVoice, ignored: readonly UnknownField[]) =>
    reply
      .code(201)
      .headers({
        ...ignoredHeaders(reply.request, ignored),
        Location: `${baseUrl()}${url}/${encodeURIComponent(made.voice.voiceId)}`,
      })
      .send(toVoiceJson(made));

  app.register(async (scope) => {
    readForms(scope, { fileNames: cloneFiles, textNames: cloneTexts });
    scope.post(
      url,
      documented(voiceDocs.create, admitTo(createVoice, cloneVoice), { bodyBytesMax: uploadBytesMax }),
      async (request, reply) => {
        if (request.body instanceof FormBody) {
          const { fields, ignored } = parseCloneForm(request.body, isStrict);
          const made = await run(request, reply, cloneVoice, (call) => voices.cloneVoice(call, fields));
          return sendMade(reply, made, ignored);
        }
        const { voiceId, fields, ignored } = parseVoiceFields(fieldsOf(request), true, isStrict);
        const made = await run(request, reply, createVoice, (call) => voices.createVoice(call, voiceId, fields));
        return sendMade(reply, made, ignored);
      },
    );
  });
}

function addVoiceChanging(app: FastifyInstance, { voices, admitTo, isStrict }: VoiceRoutesOptions): void {
  app.patch(`${url}/:id`, documented(voiceDocs.update, admitTo(updateVoice)), async (request: WithId, reply) => {
    const { fields, ignored } = parseVoiceFields(fieldsOf(request), false, isStrict);
    if (Object.keys(fields).length === 0) throw nothingToChange();
    const { id } = request.params;
    const changed = await run(request, reply, updateVoice, (call) => voices.updateVoice(call, id, fields));
    return reply.headers(ignoredHeaders(request, ignored)).send(toVoiceJson(changed));
  });

  addWithoutBody(app, (scope) => {
    scope.delete(`${url}/:id`, documented(voiceDocs.remove, admitTo(deleteVoice)), async (request: WithId, reply) => {
      await run(request, reply, deleteVoice, (call) => voices.deleteVoice(call, request.params.id));
      return reply.code(204).send();
    });

    scope.post(
      `${url}/:id/consent/revoke`,
      documented(voiceDocs.revokeConsent, admitTo(revokeVoiceConsent)),
      async (request: WithId, reply) => {
        const { id } = request.params;
        const revoke = run(request, reply, revokeVoiceConsent, (call) => voices.revokeVoiceConsent(call, id));
        return toVoiceJson(await revoke);
      },
    );
  });
}

function parseList({ fields: query, faults: violations }: SortedFields) {
  const take = (name: string) => takeText(query, name, violations);
  const given = { languageCode: take('language_code'), engine: take('engine'), text: take('text') };
  const page = takePage(query, ['voices', ...Object.values(given)], violations);
  return { filter: parseVoiceFilter(given, { text: 'text' }, violations), page };
}
