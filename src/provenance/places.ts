// The place of a manifest in a file, as c2pa-rs has it: a chunk "C2PA" at the end of a WAV, and an object (GEOB) in the ID3 tag
// at the start of an MP3 or FLAC. Other formats have their manifest beside the file.
import { createHash } from 'node:crypto';
import type { FormatName } from '../audio/formats.ts';
import { type Binding, createManifest, embeddedBytes, type MadeSound, type Signer } from './manifest.ts';

type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Whether a file of this format can contain its manifest. */
export const hasPlace = (format: FormatName): boolean => ['wav', 'mp3', 'flac'].includes(format);

/** A manifest that is stored beside the file. */
export async function signBeside(pieces: Pieces, sound: MadeSound, signer: Signer): Promise<Buffer> {
  const hash = createHash('sha256');
  for await (const bytes of pieces) hash.update(bytes);
  return createManifest(signer, sound, { hash: hash.digest() });
}

export interface SignedFile {
  /** The file with its manifest, which is still empty in a format that stores it at the start. */
  pieces: AsyncIterable<Uint8Array>;
  /** Replaces the first bytes, after the pieces were read to their end. */
  readonly head: Uint8Array | undefined;
}

const objectHead = Buffer.from('\0application/c2pa\0c2pa\0c2pa manifest store\0', 'latin1');
const headBytesMin = 44;
const tagHeadBytes = 10;

/** Adds a manifest to a file while it is written. A file in another format passes unchanged. */
export function signFile(pieces: Pieces, format: FormatName, sound: MadeSound, signer: Signer): SignedFile {
  let head: Uint8Array | undefined;
  async function* write(): AsyncGenerator<Uint8Array> {
    const length = embeddedBytes(signer, sound);
    const hash = createHash('sha256');
    let byteCount = 0;
    const noted = (bytes: Uint8Array) => {
      hash.update(bytes);
      byteCount += bytes.length;
      return bytes;
    };
    const finish = (start: number): Promise<Buffer> => {
      const excluded: Binding['excluded'] = { start, length };
      return createManifest(signer, sound, { hash: hash.digest(), excluded });
    };
    const [first, rest] = await splitFirst(pieces, headBytesMin);
    if (format === 'wav') {
      yield noted(growRiff(first, 8 + length));
      for await (const bytes of rest) yield noted(bytes);
      const chunkHead = Buffer.from('C2PA....', 'latin1');
      chunkHead.writeUInt32LE(length, 4);
      yield noted(chunkHead);
      yield await finish(byteCount);
      return;
    }
    const [tagHead, after] = growTag(first, length);
    yield noted(tagHead);
    const start = byteCount;
    yield Buffer.alloc(length);
    yield noted(after);
    for await (const bytes of rest) yield noted(bytes);
    head = Buffer.concat([tagHead, await finish(start)]);
  }
  return {
    pieces: hasPlace(format) ? write() : (pieces as AsyncIterable<Uint8Array>),
    get head() {
      return head;
    },
  };
}

/** Collects the first bytes, at least `bytesMin` if there are so many. */
async function splitFirst(pieces: Pieces, bytesMin: number): Promise<[Buffer, Pieces]> {
  const iterator = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
  let first = Buffer.alloc(0);
  while (first.length < bytesMin) {
    const { done, value } = await iterator.next();
    if (done) break;
    first = Buffer.concat([first, value]);
  }
  return [first, { [Symbol.asyncIterator]: () => iterator as AsyncIterator<Uint8Array> }];
}

/** Adds bytes to the size of a RIFF or RF64. */
function growRiff(first: Buffer, bytes: number): Buffer {
  const grown = Buffer.from(first);
  if (grown.toString('latin1', 0, 4) === 'RF64') grown.writeBigUInt64LE(grown.readBigUInt64LE(20) + BigInt(bytes), 20);
  else grown.writeUInt32LE(grown.readUInt32LE(4) + bytes, 4);
  return grown;
}

/** Adds an object as the first frame of the ID3 tag, or of a new tag. Returns the bytes before it and those after it. */
function growTag(first: Buffer, manifestBytes: number): [Buffer, Buffer] {
  const isThere = first.toString('latin1', 0, 3) === 'ID3';
  const head = isThere ? Buffer.from(first.subarray(0, tagHeadBytes)) : Buffer.from('ID3\x03\0\0\0\0\0\0', 'latin1');
  const size = objectHead.length + manifestBytes;
  writeSyncSafe(head, readSyncSafe(head, 6) + 10 + size, 6);
  const frame = Buffer.from('GEOB....\0\0', 'latin1');
  if (head[3] === 4) writeSyncSafe(frame, size, 4);
  else frame.writeUInt32BE(size, 4);
  return [Buffer.concat([head, frame, objectHead]), isThere ? first.subarray(tagHeadBytes) : first];
}

/** Numbers of seven bits a byte. */
const readSyncSafe = (bytes: Buffer, at: number): number =>
  [0, 1, 2, 3].reduce((sum, i) => (sum << 7) | (bytes[at + i]! & 127), 0);

function writeSyncSafe(bytes: Buffer, number: number, at: number): void {
  for (let i = 0; i < 4; i++) bytes[at + i] = (number >>> (7 * (3 - i))) & 127;
}

/** Finds the manifest in a file. Throws an Error if the file is malformed. */
export function findPlace(file: Buffer): { start: number; length: number } | undefined {
  const kind = file.toString('latin1', 0, 4);
  if (kind === 'RIFF' || kind === 'RF64') return findChunk(file);
  return kind.startsWith('ID3') ? findObject(file) : undefined;
}

function findChunk(file: Buffer) {
  let dataBytes64 = 0;
  for (let at = 12; at + 8 <= file.length; ) {
    const name = file.toString('latin1', at, at + 4);
    const stated = file.readUInt32LE(at + 4);
    const length = name === 'data' && stated === 0xffff_ffff && dataBytes64 ? dataBytes64 : stated;
    if (name === 'C2PA') return { start: at + 8, length: Math.min(length, file.length - at - 8) };
    if (name === 'ds64' && at + 24 <= file.length) dataBytes64 = Number(file.readBigUInt64LE(at + 16));
    at += 8 + length + (length % 2);
  }
  return undefined;
}

function findObject(file: Buffer) {
  const end = Math.min(file.length, tagHeadBytes + readSyncSafe(file.subarray(0, tagHeadBytes), 6));
  for (let at = tagHeadBytes; at + 10 <= end; ) {
    const length = file[3] === 4 ? readSyncSafe(file, at + 4) : file.readUInt32BE(at + 4);
    const body = file.subarray(at + 10, Math.min(end, at + 10 + length));
    if (
      file.toString('latin1', at, at + 4) === 'GEOB' &&
      /^\0application\/(c2pa|x-c2pa-manifest-store)\0/.test(body.toString('latin1', 0, 40))
    ) {
      const ends = [...body.subarray(0, 400).entries()].filter(([, byte]) => byte === 0).map(([i]) => i);
      // After the encoding, the media type, the file name and the description.
      const from = (ends[3] ?? body.length - 1) + 1;
      return { start: at + 10 + from, length: body.length - from };
    }
    at += 10 + length;
  }
  return undefined;
}
