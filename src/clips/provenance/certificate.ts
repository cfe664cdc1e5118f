// The certificate that signs manifests: the operator's, or a self-signed one that is created on first use. C2PA refuses
// a leaf certificate that signs itself. The self-signed leaf therefore has its own CA, whose key is discarded.
import * as crypto from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder, writeOnce } from '../../platform/runtime/files.ts';

export interface Credentials {
  key: crypto.KeyObject;
  /** The certificate chain, leaf first. */
  chain: readonly crypto.X509Certificate[];
}

/** Reads a PEM certificate chain and its key. Throws an Error if ES256 cannot sign with them. */
export function readCredentials(chainPem: string, keyPem: string): Credentials {
  const pems = chainPem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  const chain = pems.map((pem) => new crypto.X509Certificate(pem));
  const key = crypto.createPrivateKey(keyPem);
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new Error('the key must be on the curve P-256');
  if (!chain[0]?.checkPrivateKey(key)) throw new Error('the first certificate must belong to the key');
  return { key, chain };
}

/** Opens or creates the self-signed certificate in a file. Concurrent processes use the same certificate. */
export async function openSelfSigned(file: string, operator: string): Promise<Credentials> {
  makeFolder(dirname(file));
  if (!existsSync(file)) await writeOnce(file, makeSelfSigned(operator));
  const pem = await readFile(file, 'utf8');
  return readCredentials(pem, pem);
}

/** Name of the CA of self-signed certificates. */
export const selfSignedCa = 'Sonant self-signed CA';

const dayMs = 24 * 3_600_000;
const lifeDays = 3650;

/** Creates a key, its certificate and the certificate of the CA, in PEM. */
export function makeSelfSigned(operator: string, untilMs = Date.now() + lifeDays * dayMs): string {
  const ca = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const own = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keyId = crypto.createHash('sha1').update(spkiOf(ca.publicKey).subarray(-pointBytes)).digest('hex');
  const certify = (subject: string, key: crypto.KeyObject, extensions: readonly string[]) => {
    const serial = der(0x02, Buffer.of(0x40), crypto.randomBytes(15));
    const life = der(0x30, utcTime(Date.now() - dayMs), utcTime(untilMs));
    const names = [nameOf(selfSignedCa, operator), life, nameOf(subject, operator)];
    const more = der(0xa3, der(0x30, ...extensions.map(hex), hex(`301f0603551d23041830168014${keyId}`)));
    const facts = der(0x30, version3, serial, ecdsaWithSha256, ...names, spkiOf(key), more);
    const signature = crypto.sign('sha256', facts, ca.privateKey);
    const bytes = der(0x30, facts, ecdsaWithSha256, der(0x03, Buffer.of(0), signature));
    return new crypto.X509Certificate(bytes).toString();
  };
  const issuer = certify(selfSignedCa, ca.publicKey, [isCa, signsCertificates, `301d0603551d0e04160414${keyId}`]);
  const leaf = certify('Sonant self-signed', own.publicKey, [isNoCa, signsData, forEmail]);
  return `${own.privateKey.export({ type: 'pkcs8', format: 'pem' })}${leaf}${issuer}`;
}

/** Encodes one element of DER (X.690). */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const { length } = Buffer.concat(parts);
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.of(tag), Buffer.from(size), ...parts]);
}

/** Returns the elements inside one element of DER. */
export function elementsOf(outer: Buffer): Buffer[] {
  const elements: Buffer[] = [];
  const bodyOf = (at: number) => {
    const sizeBytes = outer[at + 1]! < 0x80 ? 0 : outer[at + 1]! & 0x7f;
    const start = at + 2 + sizeBytes;
    return { start, end: start + (sizeBytes ? outer.readUIntBE(at + 2, sizeBytes) : outer[at + 1]!) };
  };
  for (let { start, end } = bodyOf(0); start < end; ) {
    const next = bodyOf(start).end;
    elements.push(outer.subarray(start, next));
    start = next;
  }
  return elements;
}

export const hex = (digits: string): Buffer => Buffer.from(digits, 'hex');
const version3 = hex('a003020102');
export const ecdsaWithSha256 = hex('300a06082a8648ce3d040302');
// Extensions (RFC 5280, section 4.2.1): basic constraints, key usage, and extended key usage.
const isCa = '300f0603551d130101ff040530030101ff';
const isNoCa = '300c0603551d130101ff04023000';
const signsCertificates = '300e0603551d0f0101ff040403020106';
const signsData = '300e0603551d0f0101ff040403020780';
const forEmail = '30130603551d25040c300a06082b06010505070304';
const pointBytes = 65;
const spkiOf = (key: crypto.KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });
export const utcTime = (ms: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14)}Z`));

function nameOf(commonName: string, organization: string): Buffer {
  const parts = Object.entries({ '060355040a': organization || 'Sonant', '0603550403': commonName });
  return der(0x30, ...parts.map(([id, text]) => der(0x31, der(0x30, hex(id), der(0x0c, Buffer.from(text))))));
}
