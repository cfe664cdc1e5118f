// The hand-written routes of voices: POST /api/voices accepts a form with recordings besides JSON, and GET
// /api/voices/{id}/preview returns audio.
import { createHash } from 'node:crypto';
import { create as createMessage } from '@bufbuild/protobuf';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import { voiceOperations } from '../../api/operation.ts';
import { callUnary, type Handlers } from '../../api/service.ts';
import { endpointsOf } from '../../contract/schema.ts';
import { isKept } from '../../net/headers.ts';
import { uploadBytesMax } from '../../net/limits.ts';
import { run } from '../admission.ts';
import { addContractRoutes, type ContractRoutesOptions, contractRoute } from '../contract-routes.ts';
import { documented } from '../route-docs.ts';
import { throwNamed } from '../unknown-fields.ts';
import { cloneFiles, cloneTexts, parseCloneForm } from './clone-form.ts';
import { FormBody, readForms } from './form-body.ts';
import { cloneDocs, cloneForm, previewDocs } from './openapi.ts';

const url = '/api/voices';
const { createVoice: create, cloneVoice: clone, previewVoice: preview } = VoiceService.method;
const { createVoice, cloneVoice, previewVoice } = voiceOperations;

export function addVoiceRoutes(
  app: FastifyInstance,
  handlers: Handlers<typeof VoiceService>,
  options: ContractRoutesOptions,
): void {
  const { admitTo, isStrict } = options;
  addContractRoutes(app, VoiceService, handlers, options, { byHand: ['createVoice'] });

  app.get(
    `${url}/:id/preview`,
    documented(previewDocs, admitTo(previewVoice)),
    async (request: FastifyRequest<{ Params: { id: string } }>, reply) => {
      const message = createMessage(preview.input, { voiceId: request.params.id });
      const { audioBytes, contentType } = await run(request, reply, previewVoice, (call) =>
        callUnary(preview, handlers, message, call),
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
    const { docs, handle, send } = contractRoute(create, endpointsOf(create)[0]!, handlers, options);
    const both = { ...docs, ...cloneDocs, body: { ...docs.body!, form: cloneForm } };
    scope.post(
      url,
      documented(both, admitTo(createVoice, cloneVoice), { bodyBytesMax: uploadBytesMax }),
      async (request, reply) => {
        if (!(request.body instanceof FormBody)) return handle(request, reply);
        const { message, violations, ignored } = parseCloneForm(request.body, isStrict);
        const cloned = run(request, reply, cloneVoice, (call) =>
          callUnary(clone, handlers, message, call, { violations }),
        );
        return send(reply, await cloned.catch((error) => throwNamed(error, ignored)), ignored);
      },
    );
  });
}
