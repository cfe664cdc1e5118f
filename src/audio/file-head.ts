// Reads the header of an audio file: its tags and the offset of its audio.
//     WAV         chunks before "data", among them "LIST" INFO (wav-reader.ts)
//     ID3v2       "ID3" | version, 0, flags | 4 bytes of 7 bits: size | frames, as in origin.ts; before MP3 or FLAC
//     FLAC        "fLaC" | blocks: 1 bit: last | 7: type, 4 for comments | 24: size | body
//     Ogg Opus    pages up to the end of the second packet, "OpusTags" | comments
import { createHash } from 'node:crypto';
import { freeFrame, sevenBitsAt } from './origin.ts';
import { pageBody, pageHeadBytes, pageLengthAt } from './recording/ogg-pages.ts';
import { readWavHeader } from './wav-reader.ts';

export interface FileTag {
  /** Name of the tag in the file, such as "TIT2", or the custom name of the tag, such as "MODEL". */
  name: string;
  value: string;
}

export interface FileHead {
  /** Undefined if the format is unknown, or if the file is raw samples, which have no header. */
  format: 'wav' | 'mp3' | 'flac' | 'opus' | undefined;
  tags: FileTag[];
  /** Offset of the audio. */
  start: number;
  /** Size of the audio in bytes. Undefined if the audio extends to the end of the file. */
  byteCount?: number | undefined;
  /** What the header says about how the audio is played, such as its sample rate; undefined if only the audio says it. */
  playback?: string;
}

const nameBytes = 4;
const id3HeadBytes = 10;
const streamBlock = 0;
const commentsBlock = 4;
/** Limits that protect against malicious files. Further tags are ignored, and longer values are truncated. */
const tagsMax = 200;
/** Number of ID3 frames or FLAC blocks that are read. */
const partsMax = 1_000;
const valueCharsMax = 4096;
const headerPagesMax = 256;

/** Reads the header of a file. Returns undefined if more bytes are needed to find the audio. Ignores damaged fields. */
export function readFileHead(bytes: Buffer): FileHead | undefined {
  if (bytes.length < id3HeadBytes) return undefined;
  const magic = bytes.toString('latin1', 0, nameBytes);
  if ((magic === 'RIFF' || magic === 'RF64') && bytes.toString('latin1', 8, 12) === 'WAVE') return readWav(bytes);
  if (magic === 'fLaC') return readFlac(bytes);
  if (magic === 'OggS') return readOpus(bytes);
  if (magic.startsWith('ID3')) {
    const start = id3HeadBytes + sevenBitsAt(bytes, 6);
    if (bytes.length < start + nameBytes) return undefined;
    const tags = readId3(bytes.subarray(0, start));
    if (bytes.toString('latin1', start, start + nameBytes) !== 'fLaC') return { format: 'mp3', tags, start };
    const flac = readFlac(bytes.subarray(start));
    return flac && { ...flac, tags: [...tags, ...flac.tags], start: start + flac.start };
  }
  return { format: bytes.readUInt16BE(0) >= 0xffe0 ? 'mp3' : undefined, tags: [], start: 0 };
}

function readWav(bytes: Buffer): FileHead | undefined {
  const { data } = readWavHeader(bytes);
  if (!data) return undefined;
  const tags: FileTag[] = [];
  let playback = '';
  for (const { name, body } of chunksOf(bytes.subarray(12, data.start))) {
    // If a file has several such chunks, players may read another one than this program, so all of them count.
    if (name === 'fmt ') playback += body.toString('hex');
    if (name === 'LIST' && body.toString('latin1', 0, nameBytes) === 'INFO')
      for (const { name, body: text } of chunksOf(body.subarray(nameBytes))) {
        if (tags.length === tagsMax) break;
        tags.push({ name, value: text.toString('utf8', 0, valueCharsMax).replace(/\0.*$/s, '') });
      }
  }
  return { format: 'wav', tags, ...data, playback };
}

function* chunksOf(bytes: Buffer) {
  for (let at = 0; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt32LE(at + 4);
    yield { name: bytes.toString('latin1', at, at + nameBytes), body: bytes.subarray(at + 8, at + 8 + size) };
    at += 8 + size + (size % 2);
  }
}

function readFlac(bytes: Buffer): FileHead | undefined {
  const tags: FileTag[] = [];
  let at = nameBytes;
  let playback = '';
  for (let parts = 0; parts < partsMax; parts++) {
    if (at + 4 > bytes.length) return undefined;
    const end = at + 4 + bytes.readUIntBE(at + 1, 3);
    const isLast = bytes[at]! >= 0x80;
    // The sample rate and the channels.
    if ((bytes[at]! & 0x7f) === streamBlock) playback += bytes.toString('hex', at + 14, at + 17);
    if ((bytes[at]! & 0x7f) === commentsBlock && tags.length < tagsMax)
      tags.push(...readComments(bytes.subarray(at + 4, end)));
    if (isLast) return bytes.length < end ? undefined : { format: 'flac', tags, start: end, playback };
    at = end;
  }
  return { format: undefined, tags: [], start: 0 };
}

/** The tags start on the second page, and no other packet shares their pages (RFC 7845, section 3). */
function readOpus(bytes: Buffer): FileHead | undefined {
  const bodies: Buffer[] = [];
  for (let start = 0; ; ) {
    const length = pageLengthAt(bytes, start);
    if (length === undefined || start + length > bytes.length) return undefined;
    const page = bytes.subarray(start, start + length);
    start += length;
    bodies.push(pageBody(page));
    const isOpus = bodies.length > 1 || bodies[0]!.toString('latin1', 0, 8) === 'OpusHead';
    if (!isOpus || bodies.length > headerPagesMax) return { format: undefined, tags: [], start: 0 };
    const continues = page[pageHeadBytes + page[pageHeadBytes - 1]! - 1] === 255;
    if (bodies.length === 1 || continues) continue;
    const playback = bodies[0]!.toString('hex');
    return { format: 'opus', tags: readComments(Buffer.concat(bodies.slice(1)).subarray(8)), start, playback };
  }
}

function readComments(bytes: Buffer): FileTag[] {
  const texts: string[] = [];
  // The name of the program comes first, then the number of comments.
  let at = bytes.length < 4 ? Infinity : 8 + bytes.readUInt32LE(0);
  while (at + 4 <= bytes.length && texts.length < tagsMax) {
    const end = at + 4 + bytes.readUInt32LE(at);
    texts.push(bytes.toString('utf8', at + 4, Math.min(end, at + 4 + valueCharsMax)));
    at = end;
  }
  return texts.flatMap((text) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    return name === undefined || value === undefined ? [] : [{ name, value }];
  });
}

function readId3(tag: Buffer): FileTag[] {
  const tags: FileTag[] = [];
  // Only versions 3 and 4 without flags (such as the flag of an extended header) are supported.
  if ((tag[3] !== 3 && tag[3] !== 4) || tag[5] !== 0) return [];
  let at = id3HeadBytes;
  for (let parts = 0; parts < partsMax && at + id3HeadBytes < tag.length && tags.length < tagsMax; parts++) {
    const id = tag.toString('latin1', at, at + nameBytes);
    const size = tag[3] === 4 ? sevenBitsAt(tag, at + 4) : tag.readUInt32BE(at + 4);
    const body = tag.subarray(at + id3HeadBytes, at + id3HeadBytes + Math.min(size, valueCharsMax));
    at += id3HeadBytes + size;
    if (id !== 'COMM' && !/^T\w{3}$/.test(id)) continue;
    const [first = '', ...rest] = textsOf(body[0], body.subarray(id === 'COMM' ? 4 : 1));
    if (id === 'COMM') tags.push({ name: id, value: rest.join('') });
    else if (id === freeFrame) tags.push({ name: first, value: rest.join('') });
    else tags.push({ name: id, value: first });
  }
  return tags;
}

const codings = ['latin1', 'utf-16le', 'utf-16be', 'utf-8'];

/** Returns the strings in a frame, which are separated by NUL characters. */
const textsOf = (coding = 0, bytes: Buffer): string[] =>
  new TextDecoder(codings[coding] ?? 'latin1').decode(bytes).replaceAll('\ufeff', '').split('\0');

/** Returns the audio of a complete file. */
export const soundOf = (bytes: Buffer, { start, byteCount = Infinity }: FileHead): Buffer =>
  bytes.subarray(start, start + byteCount);

/**
 * Returns a function that removes the header from a file that arrives in chunks. The function returns no bytes until
 * the header is complete. `toEnd` ignores the audio size in the header. `onHead` is called when the header is complete.
 */
export function createHeadCutter(toEnd = false, onHead?: (head: FileHead) => void): (bytes: Uint8Array) => Uint8Array {
  let held: Buffer | undefined = Buffer.alloc(0);
  let left = Infinity;
  return (bytes) => {
    let rest = bytes;
    if (held) {
      held = Buffer.concat([held, bytes]);
      const head = readFileHead(held);
      if (!head) return held.subarray(0, 0);
      onHead?.(head);
      rest = held.subarray(head.start);
      if (!toEnd) left = head.byteCount ?? Infinity;
      held = undefined;
    }
    const audio = rest.subarray(0, left);
    left -= audio.length;
    return audio;
  };
}

/**
 * Computes the SHA-256 of a file's audio without its header. The hash stays the same if only the header differs, such
 * as in a stream of unknown length or in a copy with other tags.
 */
export function createFingerprint() {
  const range = { start: 0, byteCount: 0 };
  const cut = createHeadCutter(false, ({ start }) => {
    range.start = start;
  });
  const hash = createHash('sha256');
  return {
    update(bytes: Uint8Array): void {
      const audio = cut(bytes);
      range.byteCount += audio.length;
      hash.update(audio);
    },
    digest: (): string => hash.digest('hex'),
    /** The bytes of the file that the hash covers so far. */
    range,
  };
}
