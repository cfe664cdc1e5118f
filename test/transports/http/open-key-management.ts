// Opens the routes of /api/auth/api-keys for a test: a gateway, and a key with keys:write as the caller.
import type { KeyFields } from '../../../src/accounts/keys/api-key.ts';
import { openTestGateway } from './open-gateway.ts';

export const keysUrl = '/api/auth/api-keys';
export const managing = ['keys:read', 'keys:write', 'speech:synthesize', 'speech:stream', 'voices:read'];

export type Json = Record<string, unknown> & { id: string; key: string };

export async function openKeyManagement(onClose: (close: () => Promise<void>) => void) {
  const gateway = await openTestGateway({}, onClose);
  const request: KeyFields = { name: 'boss', scopes: managing };
  const { key: boss, apiKey: bossKey } = await gateway.keyVerifier.create(request);
  /** Keys that it makes are accounts of their own. */
  const { key: admin } = await gateway.keyVerifier.create({ scopes: [...managing, 'admin'] });
  const send = async (path: string, body?: unknown, { key = boss, method }: { key?: string; method?: string } = {}) => {
    const init = { headers: { 'X-API-Key': key }, ...(body !== undefined && { body }), ...(method && { method }) };
    const answer = await gateway.send(keysUrl + path, init);
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, json: (text === '' ? {} : JSON.parse(text)) as Json };
  };
  const make = async (body: object = {}, key = boss) => (await send('', body, { key })).json;
  const speaks = async (key: string, headers: Record<string, string> = {}) =>
    (await gateway.send('/api/voices', { headers: { 'X-API-Key': key, ...headers } })).status;
  return { gateway, boss, bossKey, admin, send, make, speaks };
}
