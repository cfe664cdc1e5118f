// Writes a C2PA manifest (specification 2.2): a claim that a machine generated the audio, and the voice that was used.
// The claim is bound to the file by a hash and signed with ES256. The manifest never contains the spoken text.
import { createHash, randomUUID, sign } from 'node:crypto';
import type { Origin } from '../../audio/origin.ts';
import type { Credentials } from './certificate.ts';

/** What a manifest states. */
export interface Claimed extends Origin {
  /** Id of the receipt of the audio; absent if there is none. */
  receipt?: string | undefined;
}

/** The range of a manifest in a file. */
export interface Place {
  start: number;
  length: number;
}

export interface Binding {
  /** SHA-256 of the file without the excluded bytes. */
  hash: Buffer;
  /** Range of the manifest in the file; absent if the manifest is stored beside the file. */
  excluded?: Place | undefined;
}

/** Minimum padding of a manifest in a file. From 256 bytes on, the encoded padding length has a constant size. */
const padBytesMin = 256;
/** Bytes before the padding: its name and its encoded length. */
const padHeadBytes = 7;
/** Bytes reserved for numbers that are known only when the file is written. */
const numbersBytes = 32;

/** Size of a manifest that is stored in a file; always even. */
export function embeddedBytes(credentials: Credentials, origin: Claimed): number {
  const binding = { hash: Buffer.alloc(32), excluded: { start: 0, length: 0 } };
  const { length } = buildStore(credentials, origin, binding).store(Buffer.alloc(64), {});
  return length + padHeadBytes + padBytesMin + numbersBytes + (length % 2) + 1;
}

export function createManifest(credentials: Credentials, origin: Claimed, binding: Binding): Buffer {
  const { toSign, store } = buildStore(credentials, origin, binding);
  const signature = sign('sha256', toSign, { key: credentials.key, dsaEncoding: 'ieee-p1363' });
  const manifest = store(signature, {});
  if (!binding.excluded) return manifest;
  return store(signature, { pad: Buffer.alloc(binding.excluded.length - manifest.length - padHeadBytes) });
}

/** Returns the bytes to sign, and a function that completes the manifest with their signature. */
function buildStore(credentials: Credentials, origin: Claimed, binding: Binding) {
  const label = `urn:c2pa:${randomUUID()}`;
  const [name, version] = origin.software.split(' ');
  const program = { name, version };
  const { sourceType, model, voice, operator, receipt } = origin;
  const parameters = { model, voice, operator: operator || undefined, receipt };
  const made = { action: 'c2pa.created', digitalSourceType: sourceType, softwareAgent: program, parameters };
  const assertions = [assertionBox('c2pa.actions.v2', { actions: [made] }), bindingBox(binding)];
  const claim = encodeCbor({
    instanceID: `xmp:iid:${randomUUID()}`,
    claim_generator_info: program,
    signature: `self#jumbf=/c2pa/${label}/c2pa.signature`,
    created_assertions: toReferences(assertions),
    alg: 'sha256',
  });
  // COSE (RFC 9052 and 9360): algorithm -7 is ES256, and header 33 is the certificate chain.
  const chain = credentials.chain.map(({ raw }) => raw);
  const header = encodeCbor(new Map<number, unknown>().set(1, -7).set(33, chain.length > 1 ? chain : chain[0]));
  const store = (signature: Buffer, unprotected: object): Buffer => {
    const cose = Buffer.concat([coseSign1Tag, encodeCbor([header, unprotected, null, signature])]);
    return joinStore(label, assertions, claim, cose);
  };
  return { toSign: toSignedBytes(header, claim), store };
}

const labels = ['c2pa.actions.v2', 'c2pa.hash.data'] as const;
const assertionBox = (label: (typeof labels)[number], content: object): Buffer =>
  labelledBox('cbor', label, box('cbor', encodeCbor(content)));

/** The assertion that binds a manifest to its file. Verification creates it again, so it must not change. */
export const bindingBox = ({ hash, excluded }: Binding): Buffer => {
  const exclusions = excluded && [excluded];
  return assertionBox('c2pa.hash.data', { exclusions, alg: 'sha256', hash, pad: Buffer.alloc(0), name: 'file' });
};

/** The references of a claim to its assertions. Verification creates them again, so they must not change. */
export const toReferences = (assertions: readonly Buffer[]): object[] =>
  assertions.map((each, i) => ({ url: `self#jumbf=c2pa.assertions/${labels[i]}`, hash: hashBox(each) }));

/** Joins the assertions, the claim and the signature. Verification does it again, so the order must not change. */
export function joinStore(label: string, assertions: readonly Buffer[], claim: Buffer, cose: Buffer): Buffer {
  const parts = [
    labelledBox('c2as', 'c2pa.assertions', ...assertions),
    labelledBox('c2cl', 'c2pa.claim.v2', box('cbor', claim)),
    labelledBox('c2cs', 'c2pa.signature', box('cbor', cose)),
  ];
  return labelledBox('c2pa', 'c2pa', labelledBox('c2ma', label, ...parts));
}

const coseSign1Tag = Buffer.of(0xd2);

/** The `Sig_structure` of COSE_Sign1: the bytes that the signature covers. */
export const toSignedBytes = (header: Uint8Array, claim: Uint8Array): Buffer =>
  encodeCbor(['Signature1', header, Buffer.alloc(0), claim]);

/** Encodes a value. Objects and Maps become CBOR maps without their undefined members. */
export function encodeCbor(value: unknown): Buffer {
  if (value === null) return Buffer.of(0xf6);
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(encodeCbor)]);
  const entries = value instanceof Map ? [...value] : Object.entries(value as object);
  const kept = entries.filter(([, member]) => member !== undefined);
  return Buffer.concat([head(5, kept.length), ...kept.flat().map(encodeCbor)]);
}

function head(major: number, number: number): Buffer {
  if (number < 24) return Buffer.of((major << 5) | number);
  const size = [0, 1, 2, 3].find((each) => number < 2 ** (8 * 2 ** each))!;
  const digits = number.toString(16).padStart(2 ** (size + 1), '0');
  return Buffer.concat([Buffer.of((major << 5) | (24 + size)), Buffer.from(digits, 'hex')]);
}

const headBytes = 8;
const typeRest = Buffer.from('00110010800000aa00389b71', 'hex');

export function box(name: string, ...parts: readonly Uint8Array[]): Buffer {
  const head = Buffer.from(`....${name}`, 'latin1');
  head.writeUInt32BE(parts.reduce((sum, { length }) => sum + length, 8));
  return Buffer.concat([head, ...parts]);
}

/** Builds a labelled box. `kind` is the first four bytes of the box type. */
export const labelledBox = (kind: string, label: string, ...boxes: readonly Uint8Array[]): Buffer =>
  box('jumb', box('jumd', Buffer.from(kind, 'latin1'), typeRest, Buffer.from(`\x03${label}\0`)), ...boxes);

/** Hash of a labelled box as C2PA defines it, without the box's length and name. */
const hashBox = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes.subarray(headBytes)).digest();

/** Returns the boxes in a box. Returns no boxes unless there are exactly `count`, without bytes before or after them. */
export function boxesIn(outer: Buffer, count: number): Buffer[] {
  const boxes: Buffer[] = [];
  let at = headBytes;
  while (boxes.length < count && outer.length - at >= headBytes) {
    const length = outer.readUInt32BE(at);
    boxes.push(outer.subarray(at, at + length));
    at += length;
  }
  return at === outer.length && boxes.length === count ? boxes : [];
}

/** Returns the content of the only box, apart from the description, in a labelled box. Empty if there is none. */
export const contentOf = (labelled: Buffer): Buffer => boxesIn(labelled, 2)[1]?.subarray(headBytes) ?? Buffer.alloc(0);
