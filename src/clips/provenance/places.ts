// Signs files. As in c2pa-rs, a WAV has its manifest in a chunk "C2PA" at the end. An MP3 or FLAC has its manifest in
// an object (GEOB) of the ID3 tag at the start. Other formats have their manifest beside the file.
import { createHash } from 'node:crypto';
import type { FormatName } from '../../audio/formats.ts';
import { sevenBits, sevenBitsAt } from '../../audio/origin.ts';
import { readWavHeader } from '../../audio/wav-reader.ts';
import type { Credentials } from './certificate.ts';
import { type Claimed, createManifest, embeddedBytes, type Place } from './manifest.ts';

type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Opens the certificate on first use. */
export type OpenSigner = () => Promise<Credentials>;

/** Whether a file of this format can contain its manifest. */
export const hasPlace = (format: string): boolean => ['wav', 'mp3', 'flac'].includes(format);

/** Creates a manifest to store beside the file. */
export async function signBeside(pieces: Pieces, origin: Claimed, open: OpenSigner): Promise<Buffer> {
  const hash = createHash('sha256');
  for await (const bytes of pieces) hash.update(bytes);
  return createManifest(await open(), origin, { hash: hash.digest() });
}

interface SignedFile {
  /** The file with its manifest. A manifest at the start of the file is zeros until `head` replaces it. */
  pieces: AsyncIterable<Uint8Array>;
  /** Replacement for the first bytes of the file, after all pieces were read; undefined if nothing changes. */
  readonly head: Uint8Array | undefined;
}

/** Adds a manifest to a file while it is written. The first piece must contain the first 44 bytes. */
export function signFile(pieces: Pieces, format: FormatName, origin: Claimed, open: OpenSigner): SignedFile {
  let head: Uint8Array | undefined;
  async function* write(): AsyncGenerator<Uint8Array> {
    const credentials = await open();
    const length = embeddedBytes(credentials, origin);
    const hash = createHash('sha256');
    let start = 0;
    let byteCount = 0;
    const hashed = (bytes: Uint8Array) => {
      hash.update(bytes);
      byteCount += bytes.length;
      return bytes;
    };
    for await (const bytes of pieces) {
      if (byteCount > 0) yield hashed(bytes);
      else if (format === 'wav') yield hashed(growRiff(bytes, 8 + length));
      else {
        const [before, after] = growTag(Buffer.from(bytes), length);
        head = hashed(before);
        start = byteCount;
        yield Buffer.concat([before, Buffer.alloc(length), hashed(after)]);
      }
    }
    if (!head) yield hashed(chunkHead(length));
    start ||= byteCount;
    const manifest = createManifest(credentials, origin, { hash: hash.digest(), excluded: { start, length } });
    if (head) head = Buffer.concat([head, manifest]);
    else yield manifest;
  }
  return {
    pieces: write(),
    get head() {
      return head;
    },
  };
}

/**
 * Signs a finished file: returns a copy with its manifest, or for Opus the manifest beside it. Returns undefined for
 * other formats.
 */
export async function signFinished(
  read: () => Pieces,
  format: FormatName,
  origin: Claimed,
  open: OpenSigner,
): Promise<{ isBeside: boolean; pieces: Pieces; file?: SignedFile } | undefined> {
  if (!hasPlace(format))
    return format === 'opus' ? { isBeside: true, pieces: [await signBeside(read(), origin, open)] } : undefined;
  const file = signFile(read(), format, origin, open);
  return { isBeside: false, pieces: file.pieces, file };
}

const chunkHeadBytes = 8;
/** Number of chunks between the samples and the manifest: cues, labels and an ID3 tag in a joined book. */
const chunksAfterDataMax = 3;

function chunkHead(length: number): Buffer {
  const head = Buffer.from('C2PA....', 'latin1');
  head.writeUInt32LE(length, 4);
  return head;
}

/** Adds `byteCount` to the size in the header of a RIFF or RF64 file. */
function growRiff(first: Uint8Array, byteCount: number): Buffer {
  const grown = Buffer.from(first);
  if (grown.toString('latin1', 0, 4) === 'RF64')
    grown.writeBigUInt64LE(grown.readBigUInt64LE(20) + BigInt(byteCount), 20);
  else grown.writeUInt32LE(Math.min(grown.readUInt32LE(4) + byteCount, 0xffff_ffff), 4);
  return grown;
}

const tagHeadBytes = 10;
const frameHeadBytes = 10;
const objectHead = Buffer.from('\0application/c2pa\0c2pa\0manifest\0', 'latin1');

/** Adds an object as the first frame of the ID3 tag or of a new tag. Returns the bytes around the manifest. */
function growTag(first: Buffer, manifestBytes: number): [Buffer, Buffer] {
  const isThere = first.toString('latin1', 0, 3) === 'ID3';
  const head = isThere ? Buffer.from(first.subarray(0, tagHeadBytes)) : Buffer.from('ID3\x03\0\0\0\0\0\0', 'latin1');
  const frame = Buffer.from('GEOB......', 'latin1').fill(0, 4);
  const size = objectHead.length + manifestBytes;
  if (head[3] === 4) frame.set(sevenBits(size), 4);
  else frame.writeUInt32BE(size, 4);
  head.set(sevenBits(sevenBitsAt(head, 6) + frame.length + size), 6);
  return [Buffer.concat([head, frame, objectHead]), first.subarray(isThere ? tagHeadBytes : 0)];
}

/** Finds a manifest where `signFile` writes it; undefined if there is none. */
export function findPlace(file: Buffer): Place | undefined {
  const has = (at: number, name: string) => file.toString('latin1', at, at + name.length) === name;
  if (has(0, 'ID3')) {
    const start = tagHeadBytes + frameHeadBytes + objectHead.length;
    if (!has(tagHeadBytes, 'GEOB') || !has(start - objectHead.length, objectHead.toString('latin1'))) return undefined;
    const size = file[3] === 4 ? sevenBitsAt(file, tagHeadBytes + 4) : file.readUInt32BE(tagHeadBytes + 4);
    return { start, length: Math.max(0, size - objectHead.length) };
  }
  const data = has(8, 'WAVE') ? readWavHeader(file).data : undefined;
  let at = (data?.start ?? Infinity) + (data?.byteCount ?? Infinity);
  for (let chunks = 0; chunks <= chunksAfterDataMax && at + chunkHeadBytes <= file.length; chunks++) {
    const length = file.readUInt32LE(at + 4);
    const start = at + chunkHeadBytes;
    if (has(at, 'C2PA')) return { start, length };
    at = start + length + (length % 2);
  }
  return undefined;
}
