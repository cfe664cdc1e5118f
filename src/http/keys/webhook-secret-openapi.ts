// The OpenAPI documentation of /api/auth/webhook-secret.
import { keyOperations } from '../../api/operation.ts';
import {
  describeObject,
  documentOperation,
  jsonAnswer,
  nullableTime,
  objectSchema,
  type RouteDocs,
  type Schema,
  text,
} from '../route-docs.ts';
import { rotationSchema } from './openapi.ts';

const secret = describeObject('WebhookSecret', {
  hint: [text('The first characters of the secret.'), 'whsec_Q2hhbG'],
  created_at: [text('When it was created.', { format: 'date-time' }), '2030-01-02T03:04:05.000Z'],
  former_expires_at: [nullableTime('Until when the former secret signs too; null if none does.'), null],
});
const made = objectSchema('MadeWebhookSecret', {
  ...(secret.schema.properties as Record<string, Schema>),
  secret: text('The secret itself, returned only this once.'),
});
const madeExample = { ...secret.example, secret: `whsec_Q2hhbG${'A'.repeat(37)}=` };
const uncached = ['Cache-Control'] as const;

export const webhookSecretDocs = {
  get: {
    tag: 'Keys',
    ...documentOperation(keyOperations.getOwnWebhookSecret),
    summary: 'Get what is known of the webhook secret',
    description: 'Of the key of the request. The secret itself cannot be read again.',
    answers: { 200: jsonAnswer('What is known of it.', secret.schema, secret.example, uncached) },
    failures: ['not_found'],
  },
  rotate: {
    tag: 'Keys',
    ...documentOperation(keyOperations.rotateOwnWebhookSecret),
    summary: 'Create or replace the webhook secret',
    description:
      'It signs the webhooks of the key of the request, and of the keys that replace it, by [Standard Webhooks](https://www.standardwebhooks.com). The secret is returned only in this response. The former one signs too until the grace period ends.',
    body: {
      schema: rotationSchema('SecretRotation', 'How long the former secret signs too, in seconds.'),
      examples: { hour: { grace_seconds: 3600 } },
      isOptional: true,
    },
    answers: { 201: jsonAnswer('The secret.', made, madeExample, uncached) },
    failures: ['storage_full'],
  },
} as const satisfies Readonly<Record<string, RouteDocs>>;
