// Signs bytes with a detached CMS signature (RFC 5652), which OpenSSL and other programs for S/MIME verify. It contains
// the certificate chain, and the time, which nobody attests.
//     SignedData   version, hash algorithm, type of the content, chain, SignerInfo
//     SignerInfo   version, issuer and serial number of the leaf, hash algorithm, attributes, ECDSA signature of them
//     attributes   type of the content, time, SHA-256 of the content
import { hash, sign } from 'node:crypto';
import { type Credentials, der, ecdsaWithSha256, elementsOf, hex, utcTime } from './certificate.ts';

const data = hex('06092a864886f70d010701');
const signedData = hex('06092a864886f70d010702');
const contentType = hex('06092a864886f70d010903');
const contentDigest = hex('06092a864886f70d010904');
const signingTime = hex('06092a864886f70d010905');
const sha256 = hex('300b0609608648016503040201');
const version1 = hex('020101');

export function signDetached({ key, chain }: Credentials, content: Uint8Array): Buffer {
  const attribute = (name: Buffer, value: Buffer) => der(0x30, name, der(0x31, value));
  // The elements of a set are in the order of their bytes (X.690, section 11.6).
  const attributes = [
    attribute(contentType, data),
    attribute(signingTime, utcTime(Date.now())),
    attribute(contentDigest, der(0x04, hash('sha256', content, 'buffer'))),
  ].sort(Buffer.compare);
  const signature = sign('sha256', der(0x31, ...attributes), key);
  const facts = [sha256, der(0xa0, ...attributes), ecdsaWithSha256, der(0x04, signature)];
  const signer = der(0x30, version1, leafNameOf(chain[0]!.raw), ...facts);
  const certificates = der(0xa0, ...chain.map(({ raw }) => raw));
  const signed = der(0x30, version1, der(0x31, sha256), der(0x30, data), certificates, der(0x31, signer));
  return der(0x30, signedData, der(0xa0, signed));
}

/** The issuer and the serial number of a certificate, whose version precedes them. */
function leafNameOf(certificate: Buffer): Buffer {
  const [, serial, , issuer] = elementsOf(elementsOf(certificate)[0]!);
  return der(0x30, issuer!, serial!);
}
