// Checks whether this service signed a manifest, and whether the manifest and its file are unchanged. The signature is
// checked first. Nothing is decoded: what the service has signed is compared with what it would sign for this file.
import { createHash, verify, X509Certificate } from 'node:crypto';
import { selfSignedCa } from './certificate.ts';
import { bindingBox, boxesIn, contentOf, encodeCbor, joinStore, toReferences, toSignedBytes } from './manifest.ts';
import { findPlace } from './places.ts';

interface ManifestReport {
  /** Whether this service signed the manifest, and the file is unchanged. */
  valid: boolean;
  /** Faults, each beginning with a status code from section 15.2 of the specification. */
  problems: string[];
  /** Subject of the certificate of this service that the manifest names; empty if there is none. */
  issuer: string;
  selfSigned: boolean;
}

/** Maximum size of a manifest. A manifest takes 2 kB; a long certificate chain adds a few kilobytes. */
const storeBytesMax = 2 ** 16;
/** Bytes before the protected header in the COSE structure: a tag, an array, and the length in two bytes. */
const coseHeadBytes = 5;
const signatureBytes = 64;
const none = Buffer.alloc(0);
const foreign = 'signingCredential.untrusted: this service did not sign the manifest; check it with c2patool';

/**
 * Checks the manifest `beside`, or by default the manifest in the file. Returns undefined if there is none. `own` are the
 * certificates of this service, in DER. They are trusted whatever their dates, because nobody else has their keys.
 */
export function verifyManifest(file: Buffer, own: readonly Uint8Array[], beside?: Buffer): ManifestReport | undefined {
  const excluded = beside ? undefined : findPlace(file);
  if (!beside && !excluded) return undefined;
  const { start, length } = excluded ?? { start: file.length, length: 0 };
  const store = beside ?? file.subarray(start, start + length);
  const parts = store.length <= storeBytesMax ? boxesIn(boxesIn(store, 2)[1] ?? none, 4) : [];
  const [, assertions = none, claimBox = none, signatureBox = none] = parts;
  const [claim, cose] = [contentOf(claimBox), contentOf(signatureBox)];
  const header = cose.subarray(coseHeadBytes, cose.length > coseHeadBytes ? coseHeadBytes + cose.readUInt16BE(3) : 0);
  const signer = own.find((each) => header.includes(Buffer.from(each)));
  if (!signer) return { valid: false, problems: [foreign], issuer: '', selfSigned: false };
  const { subject, issuer, publicKey } = new X509Certificate(signer);
  const report = (...problems: string[]) => ({
    valid: problems.length === 0,
    problems,
    issuer: subject.replaceAll('\n', ', '),
    selfSigned: issuer.includes(`CN=${selfSignedCa}`),
  });
  const key = { key: publicKey, dsaEncoding: 'ieee-p1363' as const };
  if (!verify('sha256', toSignedBytes(header, claim), key, cose.subarray(-signatureBytes)))
    return report('claimSignature.mismatch');
  const [, made = none, binding = none] = boxesIn(assertions, 3);
  const [label = ''] = /urn:c2pa:[\da-f-]{36}/.exec(claim.toString('latin1')) ?? [];
  const isWhole = store.equals(joinStore(label, [made, binding], claim, cose));
  if (!isWhole || !claim.includes(encodeCbor(toReferences([made, binding]))))
    return report('assertion.hashedURI.mismatch');
  const hash = createHash('sha256')
    .update(file.subarray(0, start))
    .update(file.subarray(start + length));
  const isBound = binding.equals(bindingBox({ hash: hash.digest(), excluded }));
  return isBound ? report() : report('assertion.dataHash.mismatch');
}
