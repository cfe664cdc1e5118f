// The table `fingerprints`: a keyed hash of each secret that all replicas must share. It shows whether two replicas have
// the same secret, and reveals nothing of it.
import type { RowStore } from './row-store.ts';

export type FingerprintRows = ReturnType<typeof createFingerprintRows>;

export const createFingerprintRows = (store: RowStore) => ({
  async find(name: string): Promise<string | undefined> {
    const select = 'select fingerprint from fingerprints where name = $1';
    const [row] = await store.query<{ fingerprint: string }>(select, name);
    return row?.fingerprint;
  },
  /** Stores it if there is none yet, or if `replaces` is set; returns the one that is stored. */
  async record(name: string, fingerprint: string, replaces: boolean): Promise<string> {
    const onConflict = replaces ? 'do update set fingerprint = excluded.fingerprint' : 'do nothing';
    const insert = `insert into fingerprints (name, fingerprint) values ($1, $2) on conflict (name) ${onConflict}`;
    await store.query(insert, name, fingerprint);
    return (await this.find(name))!;
  },
});
