// /api/auth/api-keys: keys made, listed, changed, replaced and revoked, with a key that has `keys:write` or a bearer token.
// No reply may be stored by a cache.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKey } from '../../access/api-key-record.ts';
import type { KeyFields } from '../../access/key-fields.ts';
import type { MadeKey, RevokedKey } from '../../access/key-management.ts';
import type { Call } from '../../api/call.ts';
import type { KeyOperations } from '../../api/keys.ts';
import { keyOperations, type Operation } from '../../api/operation.ts';
import { Failure } from '../../errors.ts';
import { type AdmitTo, run } from '../admission.ts';
import { ignoredHeaders } from '../ignored-fields.ts';
import { fieldsOf } from '../json-body.ts';
import { sortQuery } from '../known-fields.ts';
import { addWithoutBody } from '../no-body.ts';
import { takePage } from '../page-query.ts';
import { documented } from '../route-docs.ts';
import { nothingToChange } from '../unknown-fields.ts';
import { parseGrace, parseKeyFields } from './fields.ts';
import { keyDocs } from './openapi.ts';

export interface KeyRoutesOptions {
  keys: KeyOperations;
  admitTo: AdmitTo;
  isStrict: boolean;
  baseUrl(): string;
}

type WithId = FastifyRequest<{ Params: { id: string } }>;

const url = '/api/auth/api-keys';
const { createApiKey, listApiKeys, getApiKey, updateApiKey, rotateApiKey, revokeApiKey } = keyOperations;
const { getOwnApiKey, revokeOwnApiKey } = keyOperations;

export function addKeyRoutes(app: FastifyInstance, options: KeyRoutesOptions): void {
  addKeyCollection(app, options);
  addOwnKey(app, options);
  addKeyItem(app, options);
}

function addKeyCollection(app: FastifyInstance, { keys, admitTo, isStrict, baseUrl }: KeyRoutesOptions): void {
  app.post(url, documented(keyDocs.create, admitTo(createApiKey)), async (request, reply) => {
    const fields = parseKeyFields(request.body === undefined ? {} : fieldsOf(request));
    const made = await runUncached(request, reply, createApiKey, (call) => keys.createApiKey(call, fields));
    return sendMade(reply.headers(ignoredHeaders(request, [])), baseUrl(), made);
  });

  app.get(url, documented(keyDocs.list, admitTo(listApiKeys)), async (request, reply) => {
    const { fields: query, faults: violations } = sortQuery(request, isStrict);
    const page = takePage(query, ['api_keys'], violations);
    if (violations.length > 0) throw new Failure('invalid_request', { details: violations });
    const list = (call: Call) => keys.listApiKeys(call, page);
    const { items, nextCursor } = await runUncached(request, reply, listApiKeys, list);
    return { api_keys: items.map(toKeyJson), next_cursor: nextCursor || null };
  });
}

function addOwnKey(app: FastifyInstance, { keys, admitTo }: KeyRoutesOptions): void {
  app.get(`${url}/self`, documented(keyDocs.getOwn, admitTo(getOwnApiKey)), async (request, reply) =>
    toKeyJson(await runUncached(request, reply, getOwnApiKey, (call) => keys.getOwnApiKey(call))),
  );

  addWithoutBody(app, (scope) => {
    scope.post(
      `${url}/self/revoke`,
      documented(keyDocs.revokeOwn, admitTo(revokeOwnApiKey)),
      async (request, reply) => {
        const revoke = (call: Call) => keys.revokeOwnApiKey(call);
        return sendRevoked(reply, await runUncached(request, reply, revokeOwnApiKey, revoke));
      },
    );
  });
}

function addKeyItem(app: FastifyInstance, { keys, admitTo, baseUrl }: KeyRoutesOptions): void {
  app.get(`${url}/:id`, documented(keyDocs.get, admitTo(getApiKey)), async (request: WithId, reply) =>
    toKeyJson(await runUncached(request, reply, getApiKey, (call) => keys.getApiKey(call, request.params.id))),
  );

  app.patch(`${url}/:id`, documented(keyDocs.update, admitTo(updateApiKey)), async (request: WithId, reply) => {
    const fields = parseKeyFields(fieldsOf(request));
    if (isEmpty(fields)) throw nothingToChange();
    const update = (call: Call) => keys.updateApiKey(call, request.params.id, fields);
    const key = await runUncached(request, reply, updateApiKey, update);
    return reply.headers(ignoredHeaders(request, [])).send(toKeyJson(key));
  });

  app.post(`${url}/:id/rotate`, documented(keyDocs.rotate, admitTo(rotateApiKey)), async (request: WithId, reply) => {
    const graceSeconds = parseGrace(request);
    const rotate = (call: Call) => keys.rotateApiKey(call, request.params.id, graceSeconds);
    const made = await runUncached(request, reply, rotateApiKey, rotate);
    return sendMade(reply.headers(ignoredHeaders(request, [])), baseUrl(), made);
  });

  addWithoutBody(app, (scope) => {
    scope.delete(`${url}/:id`, documented(keyDocs.revoke, admitTo(revokeApiKey)), async (request: WithId, reply) => {
      const revoke = (call: Call) => keys.revokeApiKey(call, request.params.id);
      return sendRevoked(reply, await runUncached(request, reply, revokeApiKey, revoke));
    });
  });
}

function runUncached<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation,
  work: (call: Call) => Promise<T>,
): Promise<T> {
  reply.header('cache-control', 'no-store');
  return run(request, reply, operation, work);
}

const sendMade = (reply: FastifyReply, baseUrl: string, { key, apiKey }: MadeKey) =>
  reply
    .code(201)
    .header('Location', `${baseUrl}${url}/${apiKey.keyId}`)
    .send({ ...toKeyJson(apiKey), key });

const sendRevoked = (reply: FastifyReply, { othersRevoked }: RevokedKey) =>
  reply.code(204).header('X-Descendants-Revoked', othersRevoked).send();

/** A limit is named by its own member: `limits: {}` names nothing. */
const isEmpty = ({ limits, violations = [], ...fields }: KeyFields) =>
  Object.keys(fields).length + Object.keys(limits ?? {}).length + violations.length === 0;

const toTime = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());

export function toKeyJson(key: ApiKey) {
  const { requestsPerMinute, concurrency, charactersPerMonth = null } = key.limits;
  return {
    id: key.keyId,
    hint: key.hint,
    name: key.name,
    scopes: key.scopes,
    status: key.status,
    created_at: toTime(key.createdAtMs),
    expires_at: toTime(key.expiresAtMs),
    last_used_at: toTime(key.lastUsedAtMs),
    revoked_at: toTime(key.revokedAtMs),
    voice_ids: key.voiceIds ?? null,
    allowed_ips: key.allowedIps ?? null,
    limits: { requests_per_minute: requestsPerMinute, concurrency, characters_per_month: charactersPerMonth },
    replaced_by: key.replacedBy ?? null,
    made_by: key.madeBy ?? null,
  };
}
