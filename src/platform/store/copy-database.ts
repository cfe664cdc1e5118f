// Copies all rows of a SQLite database into an empty database, in one transaction. SQLite allows fractions in an
// integer column and PostgreSQL does not, so fractions are rounded. Before the commit, each copied table is read. Its
// row count and hash must equal the row count and hash of the source table after rounding:
//     hash = SHA-256 of all rows in key order, each as a JSON list of its values in the order of column names
import { createHash } from 'node:crypto';
import { Failure } from '../errors.ts';
import type { RowStore, Rows, RowValue } from './row-store.ts';

interface Table {
  name: string;
  /** The columns of the primary key. */
  key: readonly string[];
  /** Number of rows that are read at once. Tables with large rows have a lower number. */
  pageRows?: number;
}

export const tables: readonly Table[] = [
  { name: 'api_keys', key: ['key_id'] },
  { name: 'audit', key: ['audit_id'] },
  { name: 'usage', key: ['key_id', 'day', 'voice_id'] },
  { name: 'clips', key: ['clip_id'] },
  { name: 'voices', key: ['voice_id'] },
  { name: 'clones', key: ['clone_id'], pageRows: 1 },
  { name: 'voice_record', key: ['entry'] },
  { name: 'voice_aliases', key: ['alias'] },
  { name: 'account_aliases', key: ['alias', 'owner_id'] },
  { name: 'lexicons', key: ['lexicon_id'], pageRows: 1 },
  { name: 'answers', key: ['owner_id', 'name'] },
  { name: 'tickets', key: ['ticket_id'] },
  { name: 'fingerprints', key: ['name'] },
  { name: 'voice_durations', key: ['name'] },
  { name: 'signing_certificates', key: ['sha256'] },
  { name: 'webhook_secrets', key: ['owner_id'] },
  { name: 'webhook_messages', key: ['message_id'], pageRows: 10 },
  { name: 'jobs', key: ['job_key'], pageRows: 10 },
  { name: 'job_chapters', key: ['job_key', 'chapter'] },
  { name: 'job_parts', key: ['job_key', 'chapter', 'part'] },
  { name: 'job_segments', key: ['job_key', 'chapter', 'segment'] },
];
const pageRowsUsual = 200;

interface CopiedTable {
  name: string;
  rows: number;
  sha256: string;
}

type Row = Readonly<Record<string, RowValue>>;

/** Copies all tables. Nothing else may write to either database in the meantime. */
export const copyDatabase = (from: RowStore, to: RowStore): Promise<CopiedTable[]> =>
  to.transaction(
    async (target) => {
      for (const { name } of tables) {
        if ((await target.query(`select 1 as one from ${name} limit 1`)).length > 0)
          throw refusal(`The database is not empty: its table ${name} has rows.`);
      }
      const copied: CopiedTable[] = [];
      for (const table of tables) {
        const source = await hashPages(copyPages(table, from, target));
        const copy = await hashPages(readPages(table, target));
        if (copy.rows !== source.rows || copy.sha256 !== source.sha256)
          throw refusal(`The copied rows of ${table.name} differ from the original rows.`);
        copied.push({ name: table.name, ...copy });
      }
      return copied;
    },
    { durable: true, blind: true },
  );

/** Copies a table page by page. Yields the rows as they were inserted. */
async function* copyPages(table: Table, from: Rows, to: Rows): AsyncGenerator<Row[]> {
  const integers = await integersOf(table, from);
  for await (const page of readPages(table, from)) {
    const rows = page.map((row) => roundIntegers(row, integers));
    await insertAll(to, table, rows);
    yield rows;
  }
}

async function integersOf({ name }: Table, from: Rows): Promise<string[]> {
  const sql = "select name from pragma_table_info($1) where type = 'bigint'";
  return (await from.query<{ name: string }>(sql, name)).map((column) => column.name);
}

function roundIntegers(row: Row, integers: readonly string[]): Row {
  const fractions = integers.flatMap((column) => {
    const value = row[column];
    return typeof value === 'number' && !Number.isInteger(value) ? [[column, Math.round(value)] as const] : [];
  });
  return fractions.length === 0 ? row : { ...row, ...Object.fromEntries(fractions) };
}

async function hashPages(pages: AsyncIterable<Row[]>): Promise<Omit<CopiedTable, 'name'>> {
  const hash = createHash('sha256');
  let rows = 0;
  for await (const page of pages) {
    for (const row of page) hash.update(`${toText(row)}\n`);
    rows += page.length;
  }
  return { rows, sha256: hash.digest('hex') };
}

async function* readPages({ name, key, pageRows = pageRowsUsual }: Table, from: Rows): AsyncGenerator<Row[]> {
  const order = key.join(', ');
  const parameters = key.map((_, i) => `$${i + 2}`).join(', ');
  let last: Row | undefined;
  do {
    const after = last ? `where (${order}) > (${parameters})` : '';
    const values = last ? key.map((column) => last![column]!) : [];
    const page = await from.query<Row>(
      `select * from ${name} ${after} order by ${order} limit $1`,
      pageRows,
      ...values,
    );
    if (page.length > 0) yield page;
    last = page.length < pageRows ? undefined : page.at(-1);
  } while (last);
}

async function insertAll(target: Rows, { name }: Table, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0]!);
  const parametersOf = (_: Row, i: number) => `(${columns.map((_, j) => `$${i * columns.length + j + 1}`).join(', ')})`;
  const sql = `insert into ${name} (${columns.join(', ')}) values ${rows.map(parametersOf).join(', ')}`;
  await target.query(sql, ...rows.flatMap((row) => columns.map((column) => row[column]!)));
}

function toText(row: Row): string {
  const columns = Object.keys(row).sort();
  const plain = columns.map((column) => {
    const value = row[column];
    return value instanceof Uint8Array ? [Buffer.from(value).toString('base64')] : value;
  });
  return JSON.stringify(plain);
}

const refusal = (message: string) => new Failure('storage_unavailable', { message: `${message} Nothing was copied.` });
