// Checks the signature, hashes and certificate dates of a C2PA manifest, and the hash of its file. Checks neither a
// trust list nor a timestamp.
import { constants, createHash, verify, X509Certificate } from 'node:crypto';
import { decodeCbor } from './cbor.ts';
import { selfSignedCa } from './certificate.ts';
import { hashBox, type LabelledBox, readLabelledBox } from './jumbf.ts';
import { toSignedBytes } from './manifest.ts';
import { findPlace } from './places.ts';

export interface ManifestReport {
  /** Faults, each beginning with a status code from section 15.2 of the specification. Empty if there are none. */
  faults: string[];
  generator?: string;
  /** The IPTC digital source type. */
  sourceType?: string;
  facts?: Readonly<Record<string, string>>;
  /** Subject and issuer of the certificate. */
  signedBy?: string;
  issuer?: string;
  /** Whether the signing certificate is self-signed, or was issued by Sonant's self-signed CA. */
  isSelfSigned?: boolean;
  isTimeStamped?: boolean;
}

/** Maximum size of a manifest. Audio manifests usually take a few kilobytes. */
const storeBytesMax = 2 ** 20;

/** Checks the manifest `beside`, or by default the manifest in the file. Returns undefined if there is none. */
export function verifyManifest(file: Buffer, beside?: Buffer): ManifestReport | undefined {
  const report: ManifestReport = { faults: [] };
  try {
    const place = beside ? undefined : findPlace(file);
    const bytes = beside ?? (place && file.subarray(place.start, place.start + place.length));
    if (!bytes) return undefined;
    if (bytes.length > storeBytesMax) throw new Error('the manifest is larger than 1 MiB');
    check(file, readLabelledBox(bytes), place?.length ?? 0, report);
  } catch (error) {
    report.faults.push(`claim.malformed: ${(error as Error).message}`);
  }
  return report;
}

function check(file: Buffer, store: LabelledBox, placeBytes: number, report: ManifestReport): void {
  const { faults } = report;
  const find = (name: string) => store.boxes.at(-1)?.boxes.find(({ label }) => label.startsWith(name));
  const [claimBox, signature] = [find('c2pa.claim'), find('c2pa.signature')];
  if (!claimBox || !signature) throw new Error('there is no claim or no signature');
  checkSignature(signature.content, claimBox.content, report);
  const claim = toMap(decodeCbor(claimBox.content));
  const info = toMap([claim.get('claim_generator_info')].flat()[0]);
  report.generator = `${info.get('name') ?? claim.get('claim_generator')} ${info.get('version') ?? ''}`.trim();
  const lists = ['created_assertions', 'gathered_assertions', 'assertions'];
  let isBound = false;
  for (const each of lists.flatMap((name) => toList(claim.get(name))).map(toMap)) {
    const name = String(each.get('url')).replace(/^.*\//, '');
    const found = find('c2pa.assertions')?.boxes.find(({ label }) => label === name);
    if (!found) faults.push(`assertion.missing: ${name}`);
    else if (!isSame(hashBox(found.bytes, algOf(each, claim)), each.get('hash')))
      faults.push(`assertion.hashedURI.mismatch: ${name}`);
    else if (name.startsWith('c2pa.actions')) readActions(toMap(decodeCbor(found.content)), report);
    else if (name === 'c2pa.hash.data') {
      isBound = true;
      const binding = toMap(decodeCbor(found.content));
      if (!isHashOf(file, binding, algOf(binding, claim), placeBytes)) faults.push('assertion.dataHash.mismatch');
    }
  }
  if (!isBound) faults.push('claim.hardBindings.missing');
}

type CborMap = ReadonlyMap<unknown, unknown>;
const toMap = (value: unknown): CborMap => (value instanceof Map ? value : new Map());
const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isSame = (hash: Buffer, other: unknown): boolean => other instanceof Uint8Array && hash.equals(other);

function algOf(assertion: CborMap, claim: CborMap): string {
  const alg = String(assertion.get('alg') ?? claim.get('alg') ?? 'sha256');
  if (!/^sha(256|384|512)$/.test(alg)) throw new Error(`the hash ${alg} is not known`);
  return alg;
}

/** Hash size in bits by COSE algorithm. Algorithms -37, -38 and -39 are RSA-PSS; the others are ECDSA. */
const bitsOf = new Map<unknown, number>(
  Object.entries({ 7: 256, 35: 384, 36: 512, 37: 256, 38: 384, 39: 512 }).map(([id, bits]) => [-Number(id), bits]),
);

function checkSignature(content: Buffer, claim: Buffer, report: ManifestReport): void {
  const [header, unprotected, , signature] = toList(decodeCbor(content)) as [Buffer, unknown, unknown, Buffer];
  const known = toMap(decodeCbor(header));
  const other = toMap(unprotected);
  const certificates = [known.get(33) ?? other.get('x5chain') ?? []].flat();
  const chain = certificates.map((bytes) => new X509Certificate(bytes as Buffer));
  const alg = known.get(1);
  if (!chain[0] || !bitsOf.has(alg)) throw new Error('there is no certificate, or the algorithm is not known');
  report.isTimeStamped = other.has('sigTst2') || other.has('sigTst');
  report.isSelfSigned = chain[0].checkIssued(chain[0]) || chain[0].issuer.includes(`CN=${selfSignedCa}`);
  report.signedBy = chain[0].subject.replaceAll('\n', ', ');
  report.issuer = chain[0].issuer.replaceAll('\n', ', ');
  const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
  const form = Number(alg) <= -37 ? padding : { dsaEncoding: 'ieee-p1363' as const };
  const key = { key: chain[0].publicKey, ...form };
  if (!verify(`sha${bitsOf.get(alg)}`, toSignedBytes(header, claim), key, signature))
    report.faults.push('claimSignature.mismatch');
  const now = new Date();
  if (chain.some(({ validFromDate, validToDate }) => validFromDate > now || validToDate < now))
    report.faults.push('signingCredential.expired');
  if (chain.slice(1).some((by, i) => !chain[i]!.checkIssued(by) || !chain[i]!.verify(by.publicKey)))
    report.faults.push('signingCredential.invalid');
}

function readActions(actions: CborMap, report: ManifestReport): void {
  const made = toList(actions.get('actions')).map(toMap);
  const action = made.find((each) => each.has('digitalSourceType'));
  if (!action) return;
  report.sourceType = String(action.get('digitalSourceType'));
  report.facts = Object.fromEntries([...toMap(action.get('parameters'))].map((fact) => fact.map(String)));
}

/** Maximum size of a chunk or frame header. Other programs exclude this header from the file's hash too. */
const headBytesMax = 256;

function isHashOf(file: Buffer, binding: CborMap, alg: string, placeBytes: number): boolean {
  const hash = createHash(alg);
  let at = 0;
  // An exclusion may cover only the manifest and its header, so that the hash covers all of the audio.
  let left = placeBytes && placeBytes + headBytesMax;
  for (const range of toList(binding.get('exclusions')).map(toMap)) {
    const [start, length] = [Number(range.get('start')), Number(range.get('length'))];
    if (!(start >= at && length >= 0 && start + length <= file.length && length <= left)) return false;
    hash.update(file.subarray(at, start));
    at = start + length;
    left -= length;
  }
  return isSame(hash.update(file.subarray(at)).digest(), binding.get('hash'));
}
