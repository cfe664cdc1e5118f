// The certificates that have signed manifests. They are kept, so that a manifest can be verified after its certificate was
// replaced, and on every replica.
import type { X509Certificate } from 'node:crypto';
import type { RowStore } from '../../platform/store/row-store.ts';

export type SigningCertificateRows = ReturnType<typeof createSigningCertificateRows>;

export const createSigningCertificateRows = (store: RowStore) => ({
  /** Stores a certificate, unless it is stored already. */
  async add(certificate: X509Certificate): Promise<void> {
    const insert = 'insert into signing_certificates (sha256, pem) values ($1, $2) on conflict (sha256) do nothing';
    await store.query(insert, certificate.fingerprint256, certificate.toString());
  },
  /** Returns the certificates in PEM. */
  async list(): Promise<string[]> {
    return (await store.query<{ pem: string }>('select pem from signing_certificates')).map(({ pem }) => pem);
  },
});
