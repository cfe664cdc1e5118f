// Adds the first key of a new service: the key in SONANT_BOOTSTRAP_KEY, or a new key if the table is empty. A new key
// is written to a file, by default `first-key` in the data folder, before its row is added, so that the next start
// after a crash uses the key in the file. If replicas with separate folders start at the same time, one key wins and
// the other replicas remove their files.
import { readFile, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Failure } from '../../platform/errors.ts';
import { makeFolder, writeOnce } from '../../platform/runtime/files.ts';
import { createApiKey, isRowOf, type ParsedApiKey, type Pepper, parseApiKey, toApiKeyRow } from './api-key.ts';
import type { ApiKeyRows } from './api-key-rows.ts';
import { firstKeyScopes, operator, operatorId, toAuditRow } from './caller.ts';

interface Table {
  rows: ApiKeyRows;
  pepper?: Pepper | undefined;
}

interface AcceptedKey {
  /** Ids of former bootstrap keys that were revoked. */
  revoked: readonly string[];
  /** False if the key itself is revoked, which is permanent. */
  isInForce: boolean;
}

/**
 * Adds `key` to the table if it is missing, and revokes the bootstrap keys that it replaces. Keys that were created
 * with the replaced keys stay valid, as after a rotation.
 */
export async function acceptBootstrapKey({ rows, pepper, key }: Table & { key: string }): Promise<AcceptedKey> {
  const parsed = parseApiKey(key);
  if (!parsed) throw new Failure('invalid_api_key', { message: 'SONANT_BOOTSTRAP_KEY is not a well-formed API key.' });
  const { row, audit } = toOperatorKey('bootstrap key', parsed, pepper);
  const present = await rows.find(parsed.idPart);
  if (present && !isRowOf(present, parsed, pepper)) {
    const message =
      'SONANT_BOOTSTRAP_KEY has the id of an existing key but another secret, or SONANT_KEY_PEPPER has changed.';
    throw new Failure('invalid_api_key', { message });
  }
  const toEndAudit = (keyId: string) =>
    toAuditRow({ action: 'revoke', keyId, atMs: audit.atMs, detail: { bootstrap: parsed.idPart } }, operator);
  const former = await rows.supersede({ row, audit, toEndAudit });
  return { revoked: former.map(({ keyId }) => keyId), isInForce: (present?.revokedAtMs ?? null) === null };
}

export interface KeyFolder {
  dataDir: string;
  /** The path of the file; empty for the file in the data folder. */
  firstKeyFile?: string;
}

const firstKeyFileOf = ({ dataDir, firstKeyFile }: KeyFolder): string =>
  firstKeyFile ? resolve(firstKeyFile) : join(dataDir, 'first-key');

export interface FirstKey {
  key: string;
  file: string;
}

/** Returns the first key and its file. Undefined if there are keys already, or if another process was faster. */
export async function makeFirstKey({ rows, pepper, ...folder }: Table & KeyFolder): Promise<FirstKey | undefined> {
  if (!(await rows.isEmpty())) return undefined;
  const file = firstKeyFileOf(folder);
  let parsed: ParsedApiKey;
  try {
    makeFolder(dirname(file));
    const fresh = createApiKey();
    parsed = (await writeOnce(file, fresh.key)) ? fresh : await readKeyFile(file);
  } catch (error) {
    throw new Failure('storage_unavailable', { message: `The first API key cannot be stored in ${file}.` }, error);
  }
  const { row, audit } = toOperatorKey('first key', parsed, pepper);
  if (await rows.addFirst(row, audit)) return { key: parsed.key, file };
  // Another process stored its first key earlier. If both processes use this folder, the file contains that key;
  // otherwise the file is removed.
  if (!(await rows.find(parsed.idPart))) await rm(file, { force: true });
  return undefined;
}

function toOperatorKey(name: string, parsed: ParsedApiKey, pepper: Pepper | undefined) {
  const nowMs = Date.now();
  const { grant } = operator;
  const row = toApiKeyRow({ name, scopes: firstKeyScopes }, { parsed, pepper, madeBy: operatorId, grant, nowMs });
  const audit = toAuditRow({ action: 'create', keyId: row.keyId, atMs: nowMs, detail: { name } }, operator);
  return { row, audit };
}

async function readKeyFile(file: string): Promise<ParsedApiKey> {
  const parsed = parseApiKey((await readFile(file, 'utf8')).trim());
  if (!parsed) throw new Error(`${file} does not contain an API key; delete it, and the next start creates one`);
  return parsed;
}
