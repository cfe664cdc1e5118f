// The key that a new service starts with. Either the operator brings it (SONANT_BOOTSTRAP_KEY), or, with not one key in
// the table, one is made and kept in the file `first-key` in the data folder, for its owner's eyes only.
// The file is written before the row: a crash between the two leaves a key that the next start takes up. Of replicas that
// start at once on folders of their own, those whose key did not become the first keep no file of it.
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import { makeFolder } from '../folder.ts';
import { writeOnce } from '../secrets/write-once.ts';
import type { ApiKeyRows } from '../store/api-key-rows.ts';
import { operator, toAuditRow } from './actor.ts';
import { createApiKey, type ParsedApiKey, type Pepper, parseApiKey } from './api-key.ts';
import { isRowOf, toApiKeyRow } from './api-key-record.ts';
import { firstKeyScopes } from './scopes.ts';

interface Table {
  rows: ApiKeyRows;
  pepper?: Pepper | undefined;
}

/** Sees to it that `key` is in the table. If it was revoked since, it stays so. */
export async function acceptBootstrapKey({ rows, pepper, key }: Table & { key: string }): Promise<void> {
  const parsed = parseApiKey(key);
  if (!parsed) throw new Failure('invalid_api_key', { message: 'The bootstrap key is not a well-formed API key.' });
  const { row, audit } = operatorsKey('bootstrap key', parsed, pepper);
  if (!(await rows.find(parsed.idPart))) await rows.add(row, audit);
  if (!isRowOf(await rows.find(parsed.idPart), parsed, pepper)) {
    const message = 'The bootstrap key has the id part of another key, or the pepper has changed.';
    throw new Failure('invalid_api_key', { message });
  }
}

export interface FirstKey {
  key: string;
  file: string;
}

/** The first key and its file, or undefined if there are keys. Of processes that start at once, one gets it. */
export async function makeFirstKey({
  rows,
  pepper,
  dataDir,
}: Table & { dataDir: string }): Promise<FirstKey | undefined> {
  if (!(await rows.isEmpty())) return undefined;
  const file = join(dataDir, 'first-key');
  let parsed: ParsedApiKey;
  try {
    makeFolder(dataDir);
    const fresh = createApiKey();
    parsed = (await writeOnce(file, fresh.key)) ? fresh : await readKept(file);
  } catch (error) {
    throw new Failure('storage_unavailable', { message: 'The first key cannot be kept.' }, error);
  }
  const { row, audit } = operatorsKey('first key', parsed, pepper);
  if (await rows.addFirst(row, audit)) return { key: parsed.key, file };
  // Another was first: on this folder with the key of this file, or on another folder with a key that is not ours to show.
  if (!(await rows.find(parsed.idPart))) await rm(file, { force: true });
  return undefined;
}

function operatorsKey(name: string, parsed: ParsedApiKey, pepper: Pepper | undefined) {
  const nowMs = Date.now();
  const { grant } = operator;
  const row = toApiKeyRow({ name, scopes: firstKeyScopes }, { parsed, pepper, grant, nowMs });
  const done = { action: 'create' as const, keyId: row.keyId, atMs: nowMs, detail: { name } };
  return { row, audit: toAuditRow(done, operator) };
}

async function readKept(file: string): Promise<ParsedApiKey> {
  const parsed = parseApiKey((await readFile(file, 'utf8')).trim());
  if (!parsed) throw new Error(`${file} holds no API key; remove it to have one made`);
  return parsed;
}
