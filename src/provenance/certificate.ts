// The certificate that signs manifests: the operator's, or a self-signed one in the data folder, made at the first use.
// The profile of C2PA refuses a leaf that signs itself, so a self-signed certificate is issued by a CA of its own, whose key
// is forgotten.
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, writeOnce } from '../runtime/files.ts';
import { der, octets, oid, sequence, serial } from './der.ts';

export interface Credentials {
  key: KeyObject;
  /** The leaf first. */
  chain: readonly X509Certificate[];
  isSelfSigned: boolean;
}

/** Reads PEM texts with a certificate chain and its key. Throws an Error if ES256 cannot sign with them. */
export function readCredentials(chainPem: string, keyPem: string): Omit<Credentials, 'isSelfSigned'> {
  const pems = chainPem.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g) ?? [];
  const chain = pems.map((pem) => new X509Certificate(pem));
  const key = createPrivateKey(keyPem);
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new Error('the key must be on the curve P-256');
  if (!chain[0]?.checkPrivateKey(key)) throw new Error('the first certificate must be of this key');
  return { key, chain };
}

/** The self-signed certificate of this data folder. Of two processes that make one, both use the first. */
export async function openSelfSigned(dataDir: string, operator: string): Promise<Credentials> {
  const file = join(dataDir, 'provenance.pem');
  let pem = await readFile(file, 'utf8').catch(() => '');
  if (pem === '') {
    makeFolder(dataDir);
    await writeOnce(file, makeSelfSigned(operator));
    pem = await readFile(file, 'utf8');
  }
  return { ...readCredentials(pem, pem), isSelfSigned: true };
}

const yearMs = 365 * 24 * 3_600_000;

/** A key, its certificate and the certificate of the CA, in PEM. */
export function makeSelfSigned(operator: string, untilMs = Date.now() + 10 * yearMs): string {
  const [ca, leaf] = [0, 1].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' })) as [KeyPair, KeyPair];
  const issuer = nameOf('Sonant self-signed CA', operator);
  const certify = (name: Buffer, { publicKey }: KeyPair, extensions: readonly Buffer[]) => {
    const dates = [Date.now() - yearMs / 365, untilMs].map((ms) => der(0x17, Buffer.from(toUtcTime(ms))));
    const version = der(0xa0, der(0x02, Buffer.of(2)));
    const parts = [
      version,
      serial(randomBytes(15)),
      ecdsaWithSha256,
      issuer,
      sequence(...dates),
      name,
      spkiOf(publicKey),
    ];
    const facts = sequence(...parts, der(0xa3, sequence(...extensions, authorityOf(ca))));
    const signature = sign('sha256', facts, ca.privateKey);
    return toPem(sequence(facts, ecdsaWithSha256, der(0x03, Buffer.of(0), signature)));
  };
  const root = certify(issuer, ca, [
    extension('551d13', sequence(isTrue), true),
    extension('551d0f', Buffer.of(0x03, 0x02, 0x01, 0x06), true),
    extension('551d0e', octets(keyIdOf(ca))),
  ]);
  // Key usage digitalSignature, extended key usage emailProtection.
  const own = certify(nameOf('Sonant self-signed', operator), leaf, [
    extension('551d13', sequence(), true),
    extension('551d0f', Buffer.of(0x03, 0x02, 0x07, 0x80), true),
    extension('551d25', sequence(oid('2b06010505070304'))),
  ]);
  return `${leaf.privateKey.export({ type: 'pkcs8', format: 'pem' })}${own}${root}`;
}

type KeyPair = ReturnType<typeof generateKeyPairSync> & { publicKey: KeyObject; privateKey: KeyObject };

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const isTrue = der(0x01, Buffer.of(0xff));
const extension = (id: string, value: Buffer, isCritical = false): Buffer =>
  sequence(oid(id), ...(isCritical ? [isTrue] : []), octets(value));
const spkiOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });
/** RFC 5280: the SHA-1 of the public key, an uncompressed point of 65 bytes. */
const keyIdOf = ({ publicKey }: KeyPair): Buffer => createHash('sha1').update(spkiOf(publicKey).subarray(-65)).digest();
const authorityOf = (ca: KeyPair): Buffer => extension('551d23', sequence(der(0x80, keyIdOf(ca))));
const toUtcTime = (ms: number): string => `${new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14)}Z`;

function nameOf(commonName: string, organization: string): Buffer {
  const parts = Object.entries({ '55040a': organization || 'unknown operator', '550403': commonName });
  return sequence(...parts.map(([id, text]) => der(0x31, sequence(oid(id), der(0x0c, Buffer.from(text))))));
}

const toPem = (certificate: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
