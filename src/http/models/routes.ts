// /api/models: lists the models that can be installed, installs, watches, cancels and removes them.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ListedModel, ModelOperations } from '../../api/models.ts';
import { modelOperations } from '../../api/operation.ts';
import { Failure } from '../../errors.ts';
import { type AdmitTo, run, stream } from '../admission.ts';
import { sendPieces } from '../body-writer.ts';
import { ignoredHeaders } from '../ignored-fields.ts';
import { fieldsOf } from '../json-body.ts';
import { sortFields } from '../known-fields.ts';
import { addWithoutBody } from '../no-body.ts';
import { documented } from '../route-docs.ts';
import { eventHeaders } from '../speech/server-sent-events.ts';
import { toModelJson, toModelsJson } from './model-json.ts';
import { modelDocs } from './openapi.ts';

export interface ModelRoutesOptions {
  models: ModelOperations;
  admitTo: AdmitTo;
  isStrict: boolean;
  baseUrl(): string;
}

type WithId = FastifyRequest<{ Params: { id: string } }>;

const url = '/api/models';
const { listVoiceModels, getVoiceModel, watchVoiceModel, installVoiceModel, removeVoiceModel } = modelOperations;

export function addModelRoutes(app: FastifyInstance, options: ModelRoutesOptions): void {
  addModelReading(app, options);
  addModelChanging(app, options);
}

function addModelReading(app: FastifyInstance, { models, admitTo }: ModelRoutesOptions): void {
  app.get(url, documented(modelDocs.list, admitTo(listVoiceModels)), async (request, reply) => {
    reply.header('cache-control', 'no-store');
    return toModelsJson(await run(request, reply, listVoiceModels, (call) => models.listVoiceModels(call)));
  });

  app.get(`${url}/:id`, documented(modelDocs.get, admitTo(getVoiceModel)), async (request: WithId, reply) => {
    const { id } = request.params;
    reply.header('cache-control', 'no-store');
    return toModelJson(await run(request, reply, getVoiceModel, (call) => models.getVoiceModel(call, id)));
  });

  app.get(
    `${url}/:id/events`,
    documented(modelDocs.watch, admitTo(watchVoiceModel)),
    async (request: WithId, reply) => {
      const { id } = request.params;
      const watched = stream(request, reply, watchVoiceModel, (call) => models.watchVoiceModel(call, id));
      await sendPieces(reply, eventHeaders, toEvents(watched));
      return reply;
    },
  );
}

async function* toEvents(models: AsyncIterable<ListedModel>): AsyncGenerator<Buffer> {
  for await (const model of models) yield Buffer.from(`event: model\ndata: ${JSON.stringify(toModelJson(model))}\n\n`);
}

function addModelChanging(app: FastifyInstance, { models, admitTo, isStrict, baseUrl }: ModelRoutesOptions): void {
  app.post(`${url}/:id`, documented(modelDocs.install, admitTo(installVoiceModel)), async (request: WithId, reply) => {
    const { id } = request.params;
    const given = request.body === undefined ? {} : fieldsOf(request);
    const { fields, ignored, faults } = sortFields(given, ['accept_licence'], isStrict);
    const accepted = fields.accept_licence ?? false;
    if (typeof accepted !== 'boolean')
      faults.push({ field: 'accept_licence', reason: 'type', message: 'must be true or false' });
    if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
    const install = run(request, reply, installVoiceModel, (call) =>
      models.installVoiceModel(call, id, accepted === true),
    );
    const model = await install;
    reply.headers(ignoredHeaders(request, ignored));
    if (model.isInstalled) return reply.send(toModelJson(model));
    const location = `${baseUrl()}${url}/${encodeURIComponent(id)}`;
    return reply.code(202).header('Location', location).send(toModelJson(model));
  });

  addWithoutBody(app, (scope) => {
    scope.delete(
      `${url}/:id`,
      documented(modelDocs.remove, admitTo(removeVoiceModel)),
      async (request: WithId, reply) => {
        const { id } = request.params;
        await run(request, reply, removeVoiceModel, (call) => models.removeVoiceModel(call, id));
        return reply.code(204).send();
      },
    );
  });
}
