// /api/auth/api-keys: keys made, listed, changed, replaced and ended, by who holds a key with `keys:write` or a bearer
// token. No answer here is ever to be kept by a cache.
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { createClient, type Transport } from '@connectrpc/connect';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ApiKey, ApiKeyService, ApiKeyStatus } from '../../../gen/sonant/v1/api_key_pb.ts';
import { Failure, type FieldViolation } from '../../errors.ts';
import type { AdmitTo } from '../http/admission.ts';
import { callOptionsOf } from '../http/call-options.ts';
import { fieldsOf } from '../http/json-body.ts';
import { sortFields } from '../http/known-fields.ts';
import { addWithoutBody } from '../http/no-body.ts';
import { inTermsOfQuery, takePage } from '../http/page-query.ts';
import { documented } from '../http/route-docs.ts';
import { ignoredHeader } from '../speech/headers.ts';
import { parseKeyFields } from './fields.ts';
import { keyDocs } from './openapi.ts';

export interface KeyRoutesOptions {
  transport: Transport;
  admitTo: AdmitTo;
  isStrict: boolean;
  baseUrl(): string;
}

type WithId = FastifyRequest<{ Params: { id: string } }>;

const url = '/api/auth/api-keys';
const { createApiKey, listApiKeys, getApiKey, updateApiKey, rotateApiKey, revokeApiKey } = ApiKeyService.method;
const { getOwnApiKey, revokeOwnApiKey } = ApiKeyService.method;

export function addKeyRoutes(app: FastifyInstance, options: KeyRoutesOptions): void {
  const { transport, admitTo, isStrict, baseUrl } = options;
  const client = createClient(ApiKeyService, transport);
  const call = (request: FastifyRequest, reply: FastifyReply) => {
    reply.header('cache-control', 'no-store');
    return callOptionsOf(request, reply, 'rest');
  };
  const sendMade = (reply: FastifyReply, { key, apiKey }: { key: string; apiKey?: ApiKey | undefined }) =>
    reply
      .code(201)
      .header('Location', `${baseUrl()}${url}/${apiKey!.keyId}`)
      .send({ ...toJson(apiKey!), key });

  app.route({
    method: 'POST',
    url,
    ...documented(keyDocs.create),
    onRequest: admitTo(createApiKey),
    async handler(request, reply) {
      const { spec, ignored } = parseKeyFields(request.body === undefined ? {} : fieldsOf(request), isStrict);
      const made = await client.createApiKey({ spec }, call(request, reply));
      return sendMade(reply.headers(ignoredHeader(ignored)), made);
    },
  });

  app.route({
    method: 'GET',
    url,
    ...documented(keyDocs.list),
    onRequest: admitTo(listApiKeys),
    async handler(request, reply) {
      const details: FieldViolation[] = [];
      const page = takePage(request.query as Record<string, unknown>, details);
      if (details.length > 0) throw new Failure('invalid_request', { details });
      const answer = client.listApiKeys(page, call(request, reply));
      const { apiKeys, nextPageToken } = await answer.catch((error) => {
        throw inTermsOfQuery(error);
      });
      return { api_keys: apiKeys.map(toJson), next_cursor: nextPageToken || null };
    },
  });

  app.route({
    method: 'GET',
    url: `${url}/self`,
    ...documented(keyDocs.getOwn),
    onRequest: admitTo(getOwnApiKey),
    handler: async (request, reply) => toJson((await client.getOwnApiKey({}, call(request, reply))).apiKey!),
  });

  app.route({
    method: 'GET',
    url: `${url}/:id`,
    ...documented(keyDocs.get),
    onRequest: admitTo(getApiKey),
    async handler(request: WithId, reply) {
      const { apiKey } = await client.getApiKey({ keyId: request.params.id }, call(request, reply));
      return toJson(apiKey!);
    },
  });

  app.route({
    method: 'PATCH',
    url: `${url}/:id`,
    ...documented(keyDocs.update),
    onRequest: admitTo(updateApiKey),
    async handler(request: WithId, reply) {
      const { spec, paths, ignored } = parseKeyFields(fieldsOf(request), isStrict);
      if (paths.length === 0) throw new Failure('invalid_request', { message: 'The body names nothing to change.' });
      const message = { keyId: request.params.id, spec, updateMask: { paths } };
      const { apiKey } = await client.updateApiKey(message, call(request, reply));
      return reply.headers(ignoredHeader(ignored)).send(toJson(apiKey!));
    },
  });

  app.route({
    method: 'POST',
    url: `${url}/:id/rotate`,
    ...documented(keyDocs.rotate),
    onRequest: admitTo(rotateApiKey),
    async handler(request: WithId, reply) {
      const given = request.body === undefined ? {} : fieldsOf(request);
      const { fields, ignored, faults } = sortFields(given, ['grace_seconds'], isStrict);
      const graceSeconds = fields.grace_seconds ?? undefined;
      if (graceSeconds !== undefined && typeof graceSeconds !== 'number')
        faults.push({ field: 'grace_seconds', reason: 'type', message: 'must be a whole number' });
      if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
      const asked = { keyId: request.params.id, ...(typeof graceSeconds === 'number' && { graceSeconds }) };
      const made = await client.rotateApiKey(asked, call(request, reply));
      return sendMade(reply.headers(ignoredHeader(ignored)), made);
    },
  });

  addWithoutBody(app, (scope) => {
    scope.route({
      method: 'POST',
      url: `${url}/self/revoke`,
      ...documented(keyDocs.revokeOwn),
      onRequest: admitTo(revokeOwnApiKey),
      async handler(request, reply) {
        await client.revokeOwnApiKey({}, call(request, reply));
        return reply.code(204).send();
      },
    });

    scope.route({
      method: 'DELETE',
      url: `${url}/:id`,
      ...documented(keyDocs.revoke),
      onRequest: admitTo(revokeApiKey),
      async handler(request: WithId, reply) {
        await client.revokeApiKey({ keyId: request.params.id }, call(request, reply));
        return reply.code(204).send();
      },
    });
  });
}

const statuses: Readonly<Record<number, string>> = {
  [ApiKeyStatus.ACTIVE]: 'active',
  [ApiKeyStatus.EXPIRED]: 'expired',
  [ApiKeyStatus.REVOKED]: 'revoked',
};

const toTime = (time: Parameters<typeof timestampMs>[0] | undefined) =>
  time ? new Date(timestampMs(time)).toISOString() : null;

function toJson(key: ApiKey) {
  const { requestsPerMinute, concurrency, charactersPerMonth } = key.limits!;
  return {
    id: key.keyId,
    hint: key.hint,
    name: key.name,
    scopes: key.scopes,
    status: statuses[key.status],
    created_at: toTime(key.createTime),
    expires_at: toTime(key.expireTime),
    last_used_at: toTime(key.lastUseTime),
    revoked_at: toTime(key.revokeTime),
    voice_ids: key.voiceIds.length > 0 ? key.voiceIds : null,
    allowed_ips: key.allowedIps.length > 0 ? key.allowedIps : null,
    limits: {
      requests_per_minute: requestsPerMinute,
      concurrency,
      characters_per_month: charactersPerMonth === undefined ? null : Number(charactersPerMonth),
    },
    replaced_by: key.replacedBy || null,
    made_by: key.madeBy || null,
  };
}
