// The table `fingerprints`: of each secret that all replicas must share, enough to tell whether it is the same, and nothing
// of the secret itself.
import type { RowStore } from './row-store.ts';

export interface FingerprintRows {
  /** Keeps it if there is none yet, or if it `replaces` what there is; answers the one that counts. */
  keep(name: string, fingerprint: string, replaces: boolean): Promise<string>;
}

export const createFingerprintRows = (store: RowStore): FingerprintRows => ({
  async keep(name, fingerprint, replaces) {
    const onConflict = replaces ? 'do update set fingerprint = excluded.fingerprint' : 'do nothing';
    const insert = `insert into fingerprints (name, fingerprint) values ($1, $2) on conflict (name) ${onConflict}`;
    await store.query(insert, name, fingerprint);
    const select = 'select fingerprint from fingerprints where name = $1';
    const [row] = await store.query<{ fingerprint: string }>(select, name);
    return row!.fingerprint;
  },
});
