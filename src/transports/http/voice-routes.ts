// The hand-written routes for voices: POST /api/voices accepts JSON or a form with recordings, and GET
// /api/voices/{id}/preview returns audio, with a key or with the token of a preview's URL.
import { createHash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type CloneVoiceRequest, CloneVoiceRequestSchema, VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import {
  endpointsOf,
  messageSchema,
  nameUnknown,
  Reading,
  readMembers,
  type UnknownField,
  type Violations,
} from '../../contract.ts';
import { Failure } from '../../platform/errors.ts';
import { uploadBytesMax } from '../../platform/net/request-limits.ts';
import { isKept } from '../net/headers.ts';
import { parseStrictJson } from '../net/strict-json.ts';
import { run } from './admission.ts';
import { addContractRoutes, contractRoute } from './contract-routes.ts';
import { FormBody, readForms } from './form-body.ts';
import { refuseUnknownQuery } from './request-fields.ts';
import {
  documented,
  documentOperation,
  pathId,
  queryParameter,
  type RouteBody,
  type RouteDocs,
  requestHeader,
  type Schema,
  text,
  withDocs,
} from './route-docs.ts';
import type { RouteTools } from './route-tools.ts';

const url = '/api/voices';
const { createVoice, cloneVoice, previewVoice } = VoiceService.method;

export function addVoiceRoutes(app: FastifyInstance, tools: RouteTools): void {
  const { isStrict, admission, callRpc, tickets } = tools;
  const { admitTo } = admission;
  addContractRoutes(app, VoiceService, tools, { byHand: ['createVoice'] });

  const admit = async (request: FastifyRequest, reply: FastifyReply) => {
    const { token } = request.query as Readonly<Record<string, unknown>>;
    if (token === undefined) return admission.admit(request, reply, previewVoice);
    const presented = { key: undefined, ticketKeyId: await tickets.openToken('preview', String(token)) };
    await admission.admitWith(presented, request, reply, previewVoice);
  };
  app.get(
    `${url}/:id/preview`,
    documented(previewDocs, admit),
    async (request: FastifyRequest<{ Params: { id: string } }>, reply) => {
      refuseUnknownQuery(request, isStrict);
      const message = create(previewVoice.input, { voiceId: request.params.id });
      const { audioBytes, contentType } = await run(request, reply, previewVoice, (call) =>
        callRpc(previewVoice, message, call),
      );
      // The ETag is a hash because a voice can change or be deleted.
      const etag = `"${createHash('sha256').update(audioBytes).digest('base64url')}"`;
      reply.headers({ ETag: etag, 'cache-control': 'private, no-cache' });
      if (isKept(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.header('content-type', contentType).send(Buffer.from(audioBytes));
    },
  );

  app.register(async (scope) => {
    readForms(scope, { fileNames: cloneFiles, textNames: cloneTexts });
    const { docs, handle, send } = contractRoute(createVoice, endpointsOf(createVoice)[0]!, tools);
    const limits = { bodyBytesMax: uploadBytesMax };
    const cloneFrom = async (request: FastifyRequest, reply: FastifyReply, form: FormBody) => {
      const { message, violations, ignored } = parseCloneForm(form, isStrict);
      const cloned = run(request, reply, cloneVoice, (call) => callRpc(cloneVoice, message, call, { violations }));
      const result = await cloned.catch((error) => {
        throw nameUnknown(error, ignored);
      });
      return send(reply, result, ignored);
    };
    scope.post(
      url,
      documented(withDocs(docs, createDocs), admitTo(createVoice, cloneVoice), limits),
      async (request, reply) => {
        if (request.body instanceof FormBody) return cloneFrom(request, reply, request.body);
        return handle(request, reply);
      },
    );
    // The documents have the form under a path of its own, because many generators take one type of body per operation.
    scope.post(
      '/api/cloning',
      documented(
        withDocs(docs, { ...cloneDocs, body: { examples: {}, form: cloneForm } }),
        admitTo(cloneVoice),
        limits,
      ),
      async (request, reply) => {
        if (request.body instanceof FormBody) return cloneFrom(request, reply, request.body);
        throw new Failure('unsupported_media_type', { message: 'The request body must be multipart/form-data.' });
      },
    );
  });
}

const cloneFiles = ['reference_audio', 'consent_audio'];
const cloneTexts = CloneVoiceRequestSchema.fields.map(({ name }) => name).filter((name) => !cloneFiles.includes(name));

interface ParsedCloneForm {
  message: CloneVoiceRequest;
  violations: Violations;
  ignored: readonly UnknownField[];
}

/** Parses a form, whose fields are strings: `labels` is JSON, and `engines` is a comma-separated list. */
function parseCloneForm({ texts, files }: FormBody, isStrict: boolean): ParsedCloneForm {
  const reading = new Reading(isStrict);
  const { violations } = reading;
  const given = Object.fromEntries(
    [...texts].map(([name, values]) => {
      if (name === 'engines')
        return [name, values.flatMap((text) => text.split(',').flatMap((each) => each.trim() || []))];
      if (values.length > 1 && cloneTexts.includes(name)) violations.report(name, 'conflict', 'must be given once');
      const [text = ''] = values;
      // An empty form field counts as absent.
      return [name, text === '' ? undefined : name === 'labels' ? parseLabels(text, violations) : text];
    }),
  );
  const message = create(CloneVoiceRequestSchema);
  readMembers(message, CloneVoiceRequestSchema, given, reading, { without: cloneFiles });
  message.referenceAudio = files.get('reference_audio') ?? message.referenceAudio;
  message.consentAudio = files.get('consent_audio') ?? message.consentAudio;
  return { message, violations, ignored: reading.ignored };
}

function parseLabels(text: string, violations: Violations): unknown {
  if (text.trim() === '') return undefined;
  try {
    return parseStrictJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  violations.report('labels', 'type', 'must be a JSON object of strings');
  return undefined;
}

const previewDocs: RouteDocs = {
  tag: 'Voices',
  ...documentOperation(previewVoice),
  summary: 'Play a sample of a voice',
  description: 'Returns a sentence in the native language of the voice, as MP3.',
  parameters: [
    pathId('Id or alias of the voice.', 'clara'),
    queryParameter('token', 'The token of a `preview_url` instead of a key.'),
    requestHeader('If-None-Match', 'The ETag of the copy that you have.'),
  ],
  answers: {
    200: {
      description: 'The audio.',
      headers: ['ETag', 'Cache-Control'],
      content: { 'audio/mpeg': { schema: { type: 'string', format: 'binary' } } },
    },
    304: { description: 'Your copy is current.', headers: ['ETag', 'Cache-Control'] },
  },
  failures: ['voice_not_found', 'voice_not_ready', 'engine_error', 'engine_unavailable', 'engine_timeout'],
};

const createDocs = {
  description:
    'Creates a voice from engine voices, in order of preference or blended. The form of POST /api/cloning is accepted too.',
};
const cloneDocs = {
  id: 'cloneVoice',
  summary: 'Clone a voice',
  description: 'Clones a person who consents; a recording of the consent is required.',
};

const cloneForm: NonNullable<RouteBody['form']> = {
  type: 'multipart/form-data',
  get schema() {
    const schema = messageSchema(CloneVoiceRequestSchema, 'request', 'CloneForm');
    const properties = schema.properties as Readonly<Record<string, Schema>>;
    const file = ({ description }: Schema): Schema => ({ type: 'string', format: 'binary', description });
    return {
      ...schema,
      description: undefined,
      properties: {
        ...properties,
        reference_audio: file(properties.reference_audio!),
        consent_audio: file(properties.consent_audio!),
        labels: text('A JSON object of strings.'),
        engines: text('Engines to clone with, separated by commas. Default: the first that can clone the language.'),
      },
    };
  },
  example: {
    name: 'Ada',
    language_code: 'en-US',
    speaker_name: 'Ada L.',
    reference_audio: '@reference.wav',
    consent_audio: '@consent.wav',
  },
};
