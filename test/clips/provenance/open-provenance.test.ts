// Tests that manifests remain recognizable after the certificate was replaced: a service stores every certificate that it
// signs with.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../src/app/config.ts';
import { makeSelfSigned } from '../../../src/clips/provenance/certificate.ts';
import {
  createOpenSigner,
  readOwnCertificates,
  selfSignedFileOf,
} from '../../../src/clips/provenance/open-provenance.ts';
import { createSigningCertificateRows } from '../../../src/clips/provenance/signing-certificate-rows.ts';
import { verifyManifest } from '../../../src/clips/provenance/verify.ts';
import { openStore } from '../../../src/platform/store/open-store.ts';
import { newFolder } from '../../new-folder.ts';
import { plainFile, sign } from './signing.ts';

test('files that were signed with replaced certificates are recognized', async () => {
  const folder = newFolder();
  const configOf = (env: Record<string, string>) => loadConfig({ env, folder, engines: [] });
  const config = configOf({ SONANT_DATA_DIR: folder });
  const store = await openStore(config);
  onTestFinished(() => store.close());
  const rows = createSigningCertificateRows(store);
  const keep = (of: typeof config) => createOpenSigner(of, rows.add)!;
  const plain = await plainFile('wav');
  const first = await sign(plain, 'wav', keep(config));
  rmSync(selfSignedFileOf(config));
  const second = await sign(plain, 'wav', keep(config));
  const pem = join(folder, 'operator.pem');
  writeFileSync(pem, makeSelfSigned('Operator'));
  const operated = configOf({ SONANT_DATA_DIR: folder, SONANT_PROVENANCE_CERT: pem, SONANT_PROVENANCE_KEY: pem });
  const third = await sign(plain, 'wav', keep(operated));
  await keep(operated)();
  const issuers = async (own: Uint8Array[]) =>
    [first, second, third].map(({ file }) => verifyManifest(file, own)?.valid);
  expect(await issuers(await readOwnCertificates(operated, rows))).toEqual([true, true, true]);
  // Without the database, the certificates in files are known.
  expect(await issuers(await readOwnCertificates(operated))).toEqual([false, true, true]);
  expect((await rows.list()).length).toBe(3);
});
