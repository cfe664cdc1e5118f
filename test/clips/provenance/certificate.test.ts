// Tests that a self-signed certificate is created once per data folder, and that an operator's must have an ES256 key.
import { generateKeyPairSync } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeSelfSigned, openSelfSigned, readCredentials } from '../../../src/clips/provenance/certificate.ts';
import { newFolder } from '../../new-folder.ts';

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
