// Measures the cost of admitting a caller: with the key in the cache, and with a thousand and a million keys in SQLite.
// Also checks whether the response time reveals that a key is unknown.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { operator } from '../src/access/actor.ts';
import { createAdmit } from '../src/access/admit.ts';
import { createApiKey } from '../src/access/api-key.ts';
import { toApiKeyRow } from '../src/access/api-key-record.ts';
import { createKeyVerifier } from '../src/access/key-verifier.ts';
import { type ApiKeyRow, createApiKeyRows } from '../src/store/api-key-rows.ts';
import type { Rows } from '../src/store/row-store.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import type { Bench } from './measuring/bench.ts';
import { median } from './measuring/rounds.ts';

const sizes = { few: 1_000, many: 1_000_000 };
/** Number of keys to verify. */
const presentedCount = 1_000;
const rounds = 15;
const goals = { warmUs: 30, coldUs: 60, manyToFew: 1.25 };
const scopes = ['speech:synthesize'];
/** A time step longer than the lifetime of any cache entry. */
const laterMs = 60_000;

interface Table {
  keys: string[];
  /** Admits all keys. Returns the time of each in microseconds. */
  admitAll(keys: readonly string[]): Promise<number[]>;
  /** Lets all cached keys expire. */
  forget(): void;
  close(): Promise<void>;
}

export const bench: Bench = {
  about:
    'what it costs to let an API key in, in microseconds: from the cache, from the table, among few keys and among a million',
  async run() {
    const few = await openTable(sizes.few);
    const many = await openTable(sizes.many);
    const strangers = Array.from({ length: presentedCount }, () => createApiKey().key);
    const times = { warm: [], few: [], many: [], known: [], unknown: [] } as Record<string, number[]>;
    for (let round = -3; round < rounds; round++) {
      const found = {
        few: await cold(few, few.keys),
        many: await cold(many, many.keys),
        warm: await few.admitAll(few.keys),
        ...(await interleaved(many, strangers)),
      };
      if (round < 0) continue;
      for (const [name, each] of Object.entries(found)) times[name]!.push(median(each));
    }
    await few.close();
    await many.close();
    const us = (name: string) => median(times[name]!);
    return {
      tables: [
        {
          title: 'Admission, median in us',
          columns: [{ name: 'key' }, { name: 'us', digits: 1 }],
          rows: [
            ['remembered', us('warm')],
            [`looked up among ${sizes.few}`, us('few')],
            [`looked up among ${sizes.many}`, us('many')],
            ['known, in turns with unknown', us('known')],
            ['unknown, in turns with known', us('unknown')],
          ],
        },
      ],
      goals: [
        { name: 'remembered, us', figure: us('warm'), digits: 1, max: goals.warmUs },
        { name: 'looked up, us', figure: us('few'), digits: 1, max: goals.coldUs },
        { name: 'among a million : among a thousand', figure: us('many') / us('few'), digits: 2, max: goals.manyToFew },
      ],
    };
  },
};

function cold(table: Table, keys: readonly string[]): Promise<number[]> {
  table.forget();
  return table.admitAll(keys);
}

/** Alternates known and unknown keys, so that other load on the machine affects both. */
async function interleaved(table: Table, strangers: readonly string[]) {
  table.forget();
  const all = await table.admitAll(table.keys.flatMap((key, i) => [key, strangers[i]!]));
  return { known: all.filter((_, i) => i % 2 === 0), unknown: all.filter((_, i) => i % 2 === 1) };
}

/** Inserts rows directly, without audit records. */
async function insertAll(rows: Rows, batch: readonly ApiKeyRow[]): Promise<void> {
  const sql = `insert into api_keys (key_id, id_part, hash, hash_kind, owner_id, name, scopes, created_at_ms)
    values ($1, $2, $3, $4, $5, $6, $7, $8)`;
  for (const { keyId, idPart, hash, hashKind, ownerId, name, scopes: held, createdAtMs } of batch)
    await rows.query(sql, keyId, idPart, hash, hashKind, ownerId, name, held, createdAtMs);
}

async function openTable(size: number): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-bench-keys-'));
  const store = await openSqlite(join(folder, 'sonant.db'));
  const rows = createApiKeyRows(store);
  const keys: string[] = [];
  const nowMs = Date.now();
  const step = Math.ceil(size / presentedCount);
  for (let n = 0; n < size; n += 10_000) {
    const batch: ApiKeyRow[] = [];
    for (let i = n; i < Math.min(size, n + 10_000); i++) {
      const parsed = createApiKey();
      if (i % step === 0) keys.push(parsed.key);
      batch.push(toApiKeyRow({}, { parsed, madeBy: 'operator', grant: operator.grant, nowMs }));
    }
    await store.transaction((batchRows) => insertAll(batchRows, batch));
  }
  let skippedMs = 0;
  const keyVerifier = createKeyVerifier({ rows, now: () => Date.now() + skippedMs });
  const admit = createAdmit({ keyVerifier });
  return {
    keys,
    async admitAll(presented) {
      const times: number[] = [];
      for (const key of presented) {
        const startMs = performance.now();
        await admit({ key, address: '127.0.0.1' }, scopes).catch(() => undefined);
        times.push((performance.now() - startMs) * 1000);
      }
      return times;
    },
    forget() {
      skippedMs += laterMs;
    },
    async close() {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}
