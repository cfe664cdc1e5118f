// API keys: made, listed, changed, replaced and revoked by callers, within what each may do with keys.
import { toAuditRow } from '../access/actor.ts';
import { accountOf } from '../access/api-key-record.ts';
import { type KeyFields, voiceIdsMax } from '../access/key-fields.ts';
import { graceSecondsUsual, type KeyManagement } from '../access/key-management.ts';
import { voiceIdCharsMax } from '../speech/fields.ts';
import { type Voices, type VoiceUser, voicesFor } from '../speech/voice.ts';
import { graceSecondsUsual as secretGraceSecondsUsual } from '../webhooks/webhook.ts';
import type { WebhookSecrets } from '../webhooks/webhook-secrets.ts';
import { actorOf, type Call } from './call.ts';
import { type Page, toPage } from './page.ts';

export type KeyOperations = ReturnType<typeof createKeyOperations>;

/** The list of voices of a key, which may name aliases, as ids. The user is whoever the key will be for. */
export function withVoiceIds(fields: KeyFields, voices: Voices, user: VoiceUser): KeyFields {
  if (!fields.voiceIds) return fields;
  const usable = voicesFor(voices, user);
  const violations = [...(fields.violations ?? [])];
  const voiceIds = fields.voiceIds.map((name, i) => {
    const found = usable.lookUp(name)?.voice.voiceId;
    const isChecked = i < voiceIdsMax && name !== '' && name.length <= voiceIdCharsMax;
    // Of a key that is limited to voices, others exceed the grant, whether they exist or not.
    if (found === undefined && isChecked && (user.voiceIds?.includes(name) ?? true)) {
      const message = `${name} is no voice that the key could use`;
      violations.push({ field: `voice_ids[${i}]`, reason: 'voice_not_found', message });
    }
    return found ?? name;
  });
  return { ...fields, voiceIds: [...new Set(voiceIds)], violations };
}

export const createKeyOperations = (keys: KeyManagement, voices: Voices, secrets: WebhookSecrets) => ({
  createApiKey: (call: Call, fields: KeyFields) => {
    const { voiceIds, grant } = call.caller;
    // A key of the operator or an admin begins an account.
    const accountId = accountOf({ path: grant.range.path, ownerId: '' });
    const user = { voiceIds, accountId, usesAllVoices: fields.scopes?.includes('admin') };
    return keys.create(withVoiceIds(fields, voices, user), actorOf(call));
  },
  async listApiKeys(call: Call, page: Page) {
    // One more shows whether there is a next page.
    const found = await keys.list(actorOf(call), { size: page.size + 1, beforeKeyId: page.after });
    return toPage(found, page, ({ keyId }) => keyId);
  },
  getApiKey: (call: Call, keyId: string) => keys.get(keyId, actorOf(call)),
  async updateApiKey(call: Call, keyId: string, fields: KeyFields) {
    const { accountId, scopes } = await keys.get(keyId, actorOf(call));
    const usesAllVoices = (fields.scopes ?? scopes).includes('admin');
    const user = { voiceIds: call.caller.voiceIds, accountId, usesAllVoices };
    return keys.update(keyId, withVoiceIds(fields, voices, user), actorOf(call));
  },
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
