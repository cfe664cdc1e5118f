// Tests that a self-signed certificate is created once per data folder, and that an operator's must have an ES256 key.
import { generateKeyPairSync } from 'node:crypto';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../src/app/config.ts';
import { makeSelfSigned, openSelfSigned, readCredentials } from '../../../src/clips/provenance/certificate.ts';
import {
  createOpenSigner,
  createSigningCertificateRows,
  readOwnCertificates,
  selfSignedFileOf,
} from '../../../src/clips/provenance/open-provenance.ts';
import { verifyManifest } from '../../../src/clips/provenance/verify.ts';
import { openStore } from '../../../src/platform/store/open-store.ts';
import { newFolder } from '../../new-folder.ts';
import { plainFile, sign } from './signing.ts';

test('callers at the same time get one certificate, which only its owner may read', async () => {
  const folder = newFolder();
  const file = join(folder, 'data', 'provenance.pem');
  const open = () => openSelfSigned(file, 'ACME');
  const opened = await Promise.all(Array.from({ length: 8 }, open));
  const fingerprints = new Set([...opened, await open()].map(({ chain }) => chain[0]!.fingerprint256));
  expect(fingerprints.size).toBe(1);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('the certificate is issued by a CA of its own, for ten years', () => {
  const pem = makeSelfSigned('Größe & Söhne');
  const [leaf, ca] = readCredentials(pem, pem).chain;
  expect(leaf!.subject).toBe('O=Größe & Söhne\nCN=Sonant self-signed');
  expect([leaf!.ca, ca!.ca, leaf!.checkIssued(ca!), leaf!.verify(ca!.publicKey)]).toEqual([false, true, true, true]);
  expect(leaf!.validToDate.getTime() - Date.now()).toBeGreaterThan(9 * 365 * 24 * 3_600_000);
  expect(leaf!.keyUsage).toEqual(['1.3.6.1.5.5.7.3.4']);
});

test('keys of other curves, and keys of other certificates, are refused', () => {
  const pem = makeSelfSigned('');
  const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  expect(() => readCredentials(pem, String(other))).toThrow('the key must be on the curve P-256');
  expect(() => readCredentials(pem, makeSelfSigned(''))).toThrow('the first certificate must belong to the key');
  expect(() => readCredentials('', pem)).toThrow('the first certificate must belong to the key');
});

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
