// Migrates the schema of the database. The first steps are in schema.sql, later ones in `migrations`. The table
// `migrations` records the applied steps. Only a backup can undo a step.
//
// One step migrates keys that earlier versions made more than one level below their account, to keys of the account.
// Such a key keeps only the rights that all keys between it and the account have, and keeps sharing their limits.
import { readFileSync } from 'node:fs';
import { commonBlocks } from '../net/client-addresses.ts';
import { createColumns, type Rows, toNames } from './row-store.ts';

/** Null in a list stands for no restriction, in a limit for the default, and in `expiresAtMs` for no expiry. */
interface KeyRow {
  keyId: string;
  path: string;
  limitedBy: string;
  madeBy: string | null;
  scopes: string;
  voiceIds: string | null;
  allowedIps: string | null;
  requestsPerMinute: number | null;
  concurrency: number | null;
  charactersPerMonth: number | null;
  expiresAtMs: number | null;
}

const columns = createColumns<KeyRow>('api_keys', [
  ...toNames('keyId path limitedBy madeBy scopes voiceIds allowedIps'),
  ...toNames('requestsPerMinute concurrency charactersPerMonth expiresAtMs'),
]);
const newestOf = `${columns.select} where owner_id = $1
  order by case when replaced_by is null then 0 else 1 end, key_id desc limit 1`;
const update = `update api_keys set ${columns.names.map((name, i) => `${name} = $${i + 1}`).join(', ')} where key_id = $1`;

export async function flattenKeys(rows: Rows): Promise<void> {
  for (const deep of await rows.query<KeyRow>(`${columns.select} where path like '%/%/'`)) {
    const [account, ...between] = deep.path.split('/').slice(0, -1);
    const madeBy = deep.madeBy ?? between.at(-1)!;
    let key: KeyRow = { ...deep, path: `${account}/`, limitedBy: `${between.join('/')}/`, madeBy };
    for (const ownerId of between) {
      const [above] = await rows.query<KeyRow>(newestOf, ownerId);
      if (above) key = toCommon(key, above);
    }
    await rows.query(update, ...columns.valuesOf(key));
  }
}

const toCommon = (key: KeyRow, above: KeyRow): KeyRow => ({
  ...key,
  scopes: listOf(key.scopes)
    .filter((scope) => listOf(above.scopes).includes(scope))
    .join(' '),
  voiceIds: commonIds(key.voiceIds, above.voiceIds),
  allowedIps: commonBlocks(blocksOf(key), blocksOf(above))?.join(' ') ?? null,
  requestsPerMinute: leastOf(key.requestsPerMinute, above.requestsPerMinute, 600),
  concurrency: leastOf(key.concurrency, above.concurrency, 20),
  charactersPerMonth: leastOf(key.charactersPerMonth, above.charactersPerMonth),
  expiresAtMs: leastOf(key.expiresAtMs, above.expiresAtMs),
});

const listOf = (text: string): string[] => text.split(' ').filter(Boolean);

const blocksOf = ({ allowedIps }: KeyRow) => (allowedIps === null ? undefined : listOf(allowedIps));

function commonIds(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  const ids: string[] = JSON.parse(other);
  return JSON.stringify((JSON.parse(one) as string[]).filter((id) => ids.includes(id)));
}

function leastOf(one: number | null, other: number | null, usual = Number.POSITIVE_INFINITY): number | null {
  const least = Math.min(one ?? usual, other ?? usual);
  return least === usual ? null : least;
}

export interface Migration {
  name: string;
  statements: readonly string[];
  /** Runs after the statements. */
  run?(rows: Rows): Promise<void>;
  /** Whether the step has no effect in SQLite. */
  isForPostgres?: boolean;
  /** Minimum number of steps that a version must know to use the database after this step. */
  stepsKnownMin?: number;
}

const readSql = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');

/** What a step does besides its statements. */
const further: Readonly<Record<string, Partial<Migration>>> = { 'two levels of keys': { run: flattenKeys } };

export const migrations: readonly Migration[] = [
  ...readSql('./schema.sql')
    .split(/^-- Step: /m)
    .slice(1)
    .map((step): Migration => {
      const [name = '', ...lines] = step.split('\n');
      const sql = lines.filter((line) => !line.startsWith('--')).join('\n');
      const statements = sql.split(/;\n/).flatMap((statement) => statement.trim() || []);
      return { name, statements, ...further[name] };
    }),
  { name: 'shared limits', statements: [readSql('./shared-limits.sql')], isForPostgres: true },
  {
    name: 'suspect speech',
    statements: [
      'alter table clips add column speech_check text',
      "alter table job_chapters add column suspects text not null default '[]'",
    ],
  },
  { name: 'receipts', statements: ['alter table job_segments add column report text'] },
  {
    name: 'verified speech',
    statements: ['alter table job_chapters add column unchecked bigint not null default 0'],
  },
  {
    name: 'durations of voices',
    statements: [
      'create table voice_durations (name text primary key, voice_id text not null, learned text not null, used_at_ms bigint not null)',
    ],
  },
];

export const schemaSteps = migrations.length;

/** Number of applied steps of a database with the table `migrations`. */
export async function readSteps(rows: Rows): Promise<number> {
  const [seen] = await rows.query<{ steps: number }>('select coalesce(max(step), 0) as steps from migrations');
  return seen!.steps;
}

/** Throws if a newer, incompatible version has migrated the database. */
export async function checkNewer(rows: Rows, stepsKnown = schemaSteps): Promise<void> {
  const sql = 'select coalesce(max(steps_known_min), 0) as min from migrations';
  const [{ min }] = (await rows.query<{ min: number }>(sql)) as [{ min: number }];
  if (min > stepsKnown)
    throw new Error(
      `its schema is newer than this version of Sonant (${stepsKnown} of ${min} steps); run a newer version`,
    );
}

/** Applies the missing steps, in a transaction that excludes all other processes. */
export async function migrate(
  rows: Rows & { isPostgres?: boolean },
  steps: readonly Migration[] = migrations,
): Promise<void> {
  await rows.query(
    'create table if not exists migrations (step bigint primary key, name text not null, taken_at_ms bigint not null)',
  );
  const taken = await readSteps(rows);
  if (taken > steps.length) return checkNewer(rows, steps.length);
  for (const [i, { name, statements, run, stepsKnownMin, isForPostgres = false }] of steps.entries()) {
    if (i < taken) continue;
    if (!isForPostgres || rows.isPostgres) for (const statement of statements) await rows.query(statement);
    await run?.(rows);
    await rows.query('insert into migrations (step, name, taken_at_ms) values ($1, $2, $3)', i + 1, name, Date.now());
    if (stepsKnownMin !== undefined)
      await rows.query('update migrations set steps_known_min = $1 where step = $2', stepsKnownMin, i + 1);
  }
}
