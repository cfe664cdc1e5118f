// API keys: made, listed, changed, replaced and revoked by callers, within what each may do with keys.
import { toAuditRow } from '../keys/actor.ts';
import type { KeyFields } from '../keys/key-fields.ts';
import { graceSecondsUsual, type KeyManagement } from '../keys/key-management.ts';
import { toVoiceIds, type Voices, voicesFor } from '../speech/voice.ts';
import { graceSecondsUsual as secretGraceSecondsUsual } from '../webhooks/limits.ts';
import type { WebhookSecrets } from '../webhooks/webhook-secrets.ts';
import { actorOf, type Call } from './call.ts';
import { type Page, toPage } from './page.ts';

export type KeyOperations = ReturnType<typeof createKeyOperations>;

/** A list of voices that names aliases is kept with the ids of the voices. */
const withVoiceIds = (fields: KeyFields, voices: Voices, { caller }: Call): KeyFields =>
  fields.voiceIds ? { ...fields, voiceIds: toVoiceIds(fields.voiceIds, voicesFor(voices, caller)) } : fields;

export const createKeyOperations = (keys: KeyManagement, voices: Voices, secrets: WebhookSecrets) => ({
  createApiKey: (call: Call, fields: KeyFields) => keys.create(withVoiceIds(fields, voices, call), actorOf(call)),
  async listApiKeys(call: Call, { size, after }: Page) {
    // One more shows whether there is a next page.
    const found = await keys.list(actorOf(call), { size: size + 1, beforeKeyId: after });
    return toPage(found, size, ({ keyId }) => keyId);
  },
  getApiKey: (call: Call, keyId: string) => keys.get(keyId, actorOf(call)),
  updateApiKey: (call: Call, keyId: string, fields: KeyFields) =>
    keys.update(keyId, withVoiceIds(fields, voices, call), actorOf(call)),
  rotateApiKey: (call: Call, keyId: string, graceSeconds = graceSecondsUsual) =>
    keys.rotate(keyId, graceSeconds, actorOf(call)),
  revokeApiKey: (call: Call, keyId: string) => keys.revoke(keyId, actorOf(call)),
  /** With what it may do at present, as its ancestors are. */
  async getOwnApiKey(call: Call) {
    const { keyId, grant } = call.caller;
    const { scopes, voiceIds, allowedIps, limits, expiresAtMs } = grant;
    const key = await keys.get(keyId, actorOf(call));
    return { ...key, scopes, voiceIds, allowedIps, limits: limits ?? key.limits, expiresAtMs };
  },
  revokeOwnApiKey: (call: Call) => keys.revoke(call.caller.keyId, actorOf(call)),
  getOwnWebhookSecret: ({ caller }: Call) => secrets.get(caller.keyId),
  rotateOwnWebhookSecret: (call: Call, graceSeconds = secretGraceSecondsUsual) =>
    secrets.rotate(call.caller.keyId, graceSeconds, (change) => toAuditRow(change, actorOf(call))),
});
