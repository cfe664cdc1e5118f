// Migrates the schema of the database. The steps are in schema.sql. The table `migrations` records the applied steps.
// Only a backup can undo a step.
import { readFileSync } from 'node:fs';
import { flattenKeys } from './flatten-keys.ts';
import type { Rows } from './row-store.ts';

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
