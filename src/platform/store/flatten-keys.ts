// Migrates keys that earlier versions made more than one level below their account, to keys of the account. Such a key
// keeps only the rights that all keys between it and the account have, and goes on to share their limits.
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
