// Checks a C2PA manifest: the signature of its claim, the hashes of its assertions, the hash of the file, and the dates of its
// certificates. It does not check whether a certificate is on a trust list, and no time-stamp.
import { constants, createHash, verify as verifySignature, X509Certificate } from 'node:crypto';
import { decodeCbor } from './cbor.ts';
import { hashBox, type LabelledBox, readLabelledBox } from './jumbf.ts';
import { toSignedBytes } from './manifest.ts';
import { findPlace } from './places.ts';

export interface ManifestReport {
  /** Empty if the manifest holds. The names are those of the specification, section 15.2. */
  faults: readonly string[];
  generator?: string | undefined;
  sourceType?: string | undefined;
  facts: Readonly<Record<string, string>>;
  /** Subject and issuer of the certificate that signed. */
  signedBy?: string | undefined;
  issuer?: string | undefined;
  isTimeStamped: boolean;
}

/** The manifest in a file, or beside it. Undefined if the file has none. */
export function verifyManifest(file: Buffer, beside?: Buffer): ManifestReport | undefined {
  const faults: string[] = [];
  const report: ManifestReport = { faults, facts: {}, isTimeStamped: false };
  try {
    const place = beside ? undefined : findPlace(file);
    const bytes = beside ?? (place && file.subarray(place.start, place.start + place.length));
    if (!bytes) return undefined;
    check(file, readLabelledBox(bytes), place?.length ?? 0, report, faults);
  } catch (error) {
    faults.push(`claim.malformed: ${(error as Error).message}`);
  }
  return report;
}

function check(file: Buffer, store: LabelledBox, placeBytes: number, report: ManifestReport, faults: string[]): void {
  const active = store.boxes.at(-1);
  const claimBox = active?.boxes.find(({ label }) => label.startsWith('c2pa.claim'));
  const signature = active?.boxes.find(({ label }) => label === 'c2pa.signature');
  const assertions = active?.boxes.find(({ label }) => label === 'c2pa.assertions')?.boxes ?? [];
  if (!claimBox || !signature) throw new Error('it has no claim or no signature');
  const claim = toMap(decodeCbor(claimBox.content));
  checkSignature(signature.content, claimBox.content, report, faults);
  const info = toMap([claim.get('claim_generator_info')].flat()[0]);
  report.generator = `${info.get('name') ?? claim.get('claim_generator')} ${info.get('version') ?? ''}`.trim();
  let isBound = false;
  for (const each of ['created_assertions', 'gathered_assertions', 'assertions'].flatMap((name) =>
    toList(claim.get(name)),
  )) {
    const name = String(toMap(each).get('url')).replace(/^.*\//, '');
    const found = assertions.find(({ label }) => label === name);
    if (!found) faults.push(`assertion.missing: ${name}`);
    else if (!isSame(hashBox(found.bytes, algOf(each, claim)), toMap(each).get('hash')))
      faults.push(`assertion.hashedURI.mismatch: ${name}`);
    else if (name.startsWith('c2pa.actions')) readActions(found, report);
    else if (name === 'c2pa.hash.data') {
      isBound = true;
      if (!isHashOf(file, toMap(decodeCbor(found.content)), claim, placeBytes))
        faults.push('assertion.dataHash.mismatch');
    }
  }
  if (!isBound) faults.push('claim.hardBindings.missing');
}

type CborMap = ReadonlyMap<unknown, unknown>;
const toMap = (value: unknown): CborMap => (value instanceof Map ? value : new Map());
const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isSame = (hash: Buffer, other: unknown): boolean => other instanceof Uint8Array && hash.equals(other);

function algOf(assertion: unknown, claim: CborMap): string {
  const alg = String(toMap(assertion).get('alg') ?? claim.get('alg') ?? 'sha256');
  if (!/^sha(256|384|512)$/.test(alg)) throw new Error(`it uses the unknown hash ${alg}`);
  return alg;
}

/** The algorithms of COSE that C2PA allows, without Ed25519, with the bits of their hash. From -37 on they are RSA-PSS. */
const algorithmBits: Readonly<Record<string, number>> = {
  '-7': 256,
  '-35': 384,
  '-36': 512,
  '-37': 256,
  '-38': 384,
  '-39': 512,
};

function checkSignature(content: Buffer, claim: Buffer, report: ManifestReport, faults: string[]): void {
  const cose = decodeCbor(content);
  const [header, unprotected, , signature] = toList(cose instanceof Tagged && cose.tag === 18 ? cose.value : undefined);
  if (!Buffer.isBuffer(header) || !Buffer.isBuffer(signature)) throw new Error('its signature is not COSE_Sign1');
  const known = toMap(decodeCbor(header));
  const other = toMap(unprotected);
  const chain = [known.get(33) ?? known.get('x5chain') ?? other.get(33) ?? other.get('x5chain')]
    .flat()
    .map((bytes) => new X509Certificate(bytes as Buffer));
  const [leaf] = chain;
  const bits = algorithmBits[String(known.get(1))];
  report.isTimeStamped = other.has('sigTst2') || other.has('sigTst');
  if (!leaf || !bits) throw new Error('its signature has no certificate or an unknown algorithm');
  [report.signedBy, report.issuer] = [leaf.subject, leaf.issuer].map((name) => name.replaceAll('\n', ', '));
  const isPss = Number(known.get(1)) <= -37;
  const padding = isPss && { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
  const key = { key: leaf.publicKey, dsaEncoding: 'ieee-p1363' as const, ...padding };
  if (!verifySignature(`sha${bits}`, toSignedBytes(header, claim), key, signature))
    faults.push('claimSignature.mismatch');
  const now = new Date();
  if (chain.some(({ validFromDate, validToDate }) => validFromDate > now || validToDate < now))
    faults.push('signingCredential.expired');
  const isIssued = (each: X509Certificate, by?: X509Certificate) =>
    !by || (each.checkIssued(by) && each.verify(by.publicKey));
  if (!chain.every((each, i) => isIssued(each, chain[i + 1]))) faults.push('signingCredential.invalid');
}

function readActions({ content }: LabelledBox, report: ManifestReport): void {
  for (const action of toList(toMap(decodeCbor(content)).get('actions')).map(toMap)) {
    if (!action.has('digitalSourceType')) continue;
    report.sourceType = String(action.get('digitalSourceType'));
    const facts = [...toMap(action.get('parameters'))].filter(([, fact]) => typeof fact === 'string');
    report.facts = Object.fromEntries(facts);
  }
}

/** Bytes around a manifest that other programs exclude from the hash of the file: the heads of its chunk or frame. */
const headBytesMax = 256;

function isHashOf(file: Buffer, binding: CborMap, claim: CborMap, placeBytes: number): boolean {
  const hash = createHash(algOf(binding, claim));
  const ranges = toList(binding.get('exclusions')).map((range) => [
    toMap(range).get('start'),
    toMap(range).get('length'),
  ]);
  let at = 0;
  let left = placeBytes && placeBytes + headBytesMax;
  for (const [start, length] of ranges as [number, number][]) {
    // A manifest that leaves out more than itself would say nothing about the audio there.
    if (!(start >= at && length >= 0 && start + length <= file.length && length <= left)) return false;
    hash.update(file.subarray(at, start));
    at = start + length;
    left -= length;
  }
  return isSame(hash.update(file.subarray(at)).digest(), binding.get('hash'));
}
