// /api/auth/webhook-secret: the secret that signs the webhooks of the key of the request; made or replaced by POST.
import type { FastifyInstance } from 'fastify';
import type { Call } from '../../api/call.ts';
import type { KeyOperations } from '../../api/keys.ts';
import { keyOperations } from '../../api/operation.ts';
import type { WebhookSecret } from '../../webhooks/webhook-secrets.ts';
import { type AdmitTo, run } from '../admission.ts';
import { ignoredHeaders } from '../ignored-fields.ts';
import { documented } from '../route-docs.ts';
import { parseGrace } from './fields.ts';
import { webhookSecretDocs } from './webhook-secret-openapi.ts';

export interface WebhookSecretRoutesOptions {
  keys: Pick<KeyOperations, 'getOwnWebhookSecret' | 'rotateOwnWebhookSecret'>;
  admitTo: AdmitTo;
}

const url = '/api/auth/webhook-secret';
const { getOwnWebhookSecret, rotateOwnWebhookSecret } = keyOperations;

export function addWebhookSecretRoutes(app: FastifyInstance, { keys, admitTo }: WebhookSecretRoutesOptions): void {
  app.get(url, documented(webhookSecretDocs.get, admitTo(getOwnWebhookSecret)), async (request, reply) => {
    reply.header('cache-control', 'no-store');
    return toJson(await run(request, reply, getOwnWebhookSecret, (call) => keys.getOwnWebhookSecret(call)));
  });

  app.post(url, documented(webhookSecretDocs.rotate, admitTo(rotateOwnWebhookSecret)), async (request, reply) => {
    const graceSeconds = parseGrace(request);
    reply.header('cache-control', 'no-store');
    const rotate = (call: Call) => keys.rotateOwnWebhookSecret(call, graceSeconds);
    const { secret, ...made } = await run(request, reply, rotateOwnWebhookSecret, rotate);
    return reply
      .code(201)
      .headers(ignoredHeaders(request, []))
      .send({ ...toJson(made), secret });
  });
}

const toJson = ({ hint, createdAtMs, formerUntilMs }: WebhookSecret) => ({
  hint,
  created_at: new Date(createdAtMs).toISOString(),
  former_expires_at: formerUntilMs === undefined ? null : new Date(formerUntilMs).toISOString(),
});
