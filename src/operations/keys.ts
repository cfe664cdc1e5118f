// API keys: made, listed, changed, replaced and revoked by callers, within what each may do with keys.

import type { ApiKey } from '../keys/api-key-record.ts';
import type { KeyFields } from '../keys/key-fields.ts';
import type { KeyManagement, MadeKey } from '../keys/key-management.ts';
import { actorOf, type Call } from './call.ts';
import { type Page, type PageOf, toPage } from './page.ts';

export interface KeyOperations {
  createApiKey(call: Call, fields: KeyFields): Promise<MadeKey>;
  listApiKeys(call: Call, page: Page): Promise<PageOf<ApiKey>>;
  getApiKey(call: Call, keyId: string): Promise<ApiKey>;
  updateApiKey(call: Call, keyId: string, fields: KeyFields): Promise<ApiKey>;
  rotateApiKey(call: Call, keyId: string, graceSeconds?: number): Promise<MadeKey>;
  revokeApiKey(call: Call, keyId: string): Promise<ApiKey>;
  getOwnApiKey(call: Call): Promise<ApiKey>;
  revokeOwnApiKey(call: Call): Promise<ApiKey>;
}

export const createKeyOperations = (keys: KeyManagement): KeyOperations => ({
  createApiKey: (call, fields) => keys.create(fields, actorOf(call)),
  async listApiKeys(call, { size, after }) {
    // One more shows whether there is a next page.
    const found = await keys.list(actorOf(call), { size: size + 1, beforeKeyId: after });
    return toPage(found, size, ({ keyId }) => keyId);
  },
  getApiKey: (call, keyId) => keys.get(keyId, actorOf(call)),
  updateApiKey: (call, keyId, fields) => keys.update(keyId, fields, actorOf(call)),
  rotateApiKey: (call, keyId, graceSeconds = graceSecondsDefault) => keys.rotate(keyId, graceSeconds, actorOf(call)),
  revokeApiKey: (call, keyId) => keys.revoke(keyId, actorOf(call)),
  getOwnApiKey: (call) => keys.get(call.caller.keyId, actorOf(call)),
  revokeOwnApiKey: (call) => keys.revoke(call.caller.keyId, actorOf(call)),
});

const graceSecondsDefault = 24 * 3600;
