// Opens what proves the origin of audio: the certificate that signs manifests, which is the operator's or a self-signed
// one created on first use, and the inspection of files.

import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asConfigError } from '../../platform/runtime/config-mistakes.ts';
import type { RowStore } from '../../platform/store/row-store.ts';
import type { Log } from '../../platform/telemetry/log.ts';
import { createClipRows } from '../clip-rows.ts';
import type { ClipConfig } from '../settings.ts';
import { type Credentials, openSelfSigned, readCredentials } from './certificate.ts';
import { createInspect } from './inspector.ts';
import type { OpenSigner } from './places.ts';

/** The file with the self-signed certificate and its key. */
export const selfSignedFileOf = ({ dataDir }: Pick<ClipConfig, 'dataDir'>): string => join(dataDir, 'provenance.pem');

/** Returns the operator's certificate, or undefined if no certificate is configured. */
function readOperatorCredentials(config: ClipConfig): Promise<Credentials | undefined> {
  const { provenanceCert, provenanceKey } = config;
  return asConfigError(config, 'SONANT_PROVENANCE_CERT', async () => {
    if (provenanceCert === '' && provenanceKey === '') return undefined;
    if (provenanceCert === '' || provenanceKey === '') throw new Error('must be set with SONANT_PROVENANCE_KEY');
    return readCredentials(await readFile(provenanceCert, 'utf8'), await readFile(provenanceKey, 'utf8'));
  });
}

/** Throws a ConfigError if the certificate cannot be used. Does not create a certificate. */
export async function checkCredentials(config: ClipConfig): Promise<void> {
  const file = selfSignedFileOf(config);
  if ((await readOperatorCredentials(config)) || config.provenance === 'off' || !existsSync(file)) return;
  await asConfigError(config, 'SONANT_PROVENANCE_CERT', () => openSelfSigned(file, config.provenanceOperator));
}

/** Returns the current certificate, and those that have signed manifests, in DER. */
export async function readOwnCertificates(config: ClipConfig, rows?: Pick<SigningCertificateRows, 'list'>) {
  const files = [config.provenanceCert, selfSignedFileOf(config)].filter(existsSync);
  const current = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return [...current, ...((await rows?.list()) ?? [])].map((pem) => new X509Certificate(pem).raw);
}

/**
 * Returns undefined if audio is not marked. `onOpen` is called before a certificate is used, with the file of a
 * self-signed certificate.
 */
export function createOpenSigner(
  config: ClipConfig,
  onOpen: (certificate: X509Certificate, selfSignedFile?: string) => Promise<void> = async () => {},
): OpenSigner | undefined {
  if (config.provenance === 'off') return undefined;
  const open = async () => {
    const file = selfSignedFileOf(config);
    const own = await readOperatorCredentials(config);
    const credentials = own ?? (await openSelfSigned(file, config.provenanceOperator));
    await onOpen(credentials.chain[0]!, own ? undefined : file);
    return credentials;
  };
  let opened: ReturnType<OpenSigner> | undefined;
  return () => {
    opened ??= open().catch((error) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}

type SigningCertificateRows = ReturnType<typeof createSigningCertificateRows>;

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

export type Provenance = ReturnType<typeof openProvenance>;

/** Without a store, only files with a manifest are recognised, and former certificates are unknown. */
export function openProvenance(config: ClipConfig, store?: RowStore, log?: Pick<Log, 'warn'>) {
  const rows = store && createSigningCertificateRows(store);
  return {
    /** The file of the certificate in use, which may not exist yet. */
    certificateFile: config.provenanceCert || selfSignedFileOf(config),
    /** Undefined if audio is not marked. */
    openSigner: createOpenSigner(config, async (certificate, file) => {
      if (file) log?.warn('manifests have a self-signed signature', { file });
      await rows?.add(certificate);
    }),
    inspect: createInspect(() => readOwnCertificates(config, rows), store && createClipRows(store)),
  };
}
