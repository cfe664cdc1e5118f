// Reads the files and folders of a tar archive (POSIX ustar and pax, GNU long names) one by one. Bytes of a file follow
// its header, padded with zeros to a multiple of 512. Two zero headers end the archive. Fields of a header: name 100 |
// mode 8 | owner 8 | group 8 | size 12 | time 12 | checksum 8 | type 1 | link 100 | "ustar" 8 | owner's name 32 |
// group's name 32 | device 16 | prefix of the name 155 | padding 12
import { type ArchiveEntry, ArchiveFault, contentLimits } from './entry-rules.ts';

const blockBytes = 512;
/** Maximum size of a long name or a pax header. */
const extensionBytesMax = 65_536;

const extensionsMax = 2 * contentLimits.files;
/** Maximum number of bytes after the end mark. Tar pads an archive to a complete record. */
const paddingBytesMax = 2 ** 20;

const damaged = () => new ArchiveFault('is damaged: a header is invalid');
const cutShort = () => new ArchiveFault('is incomplete: it ends too early');

const types: Readonly<Record<string, 'file' | 'folder'>> = { '0': 'file', '\0': 'file', '7': 'file', '5': 'folder' };
const linkTypes = '12346';

export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveEntry> {
  const bytes = new ByteReader(source);
  let stated: Stated = {};
  let extensions = 0;
  while (true) {
    const header = await bytes.take(blockBytes);
    if (header.length < blockBytes) throw cutShort();
    // The archive is read to its end, so that the decompressor verifies its checksums.
    if (header.every((byte) => byte === 0)) return bytes.drain(paddingBytesMax);
    checkHeader(header);
    const type = String.fromCharCode(header[156]!);
    const size = stated.size ?? readNumber(header.subarray(124, 136));
    const padding = (blockBytes - (size % blockBytes)) % blockBytes;
    if (type === 'L' || type === 'x' || type === 'g') {
      if (size > extensionBytesMax || ++extensions > extensionsMax) throw damaged();
      const extension = await bytes.take(size);
      if (extension.length < size) throw cutShort();
      if (type === 'L') stated.name = readText(extension);
      if (type === 'x') stated = { ...stated, ...readPax(extension) };
      await bytes.skip(padding);
      continue;
    }
    const kind = types[type];
    if (linkTypes.includes(type) || stated.isLink)
      throw new ArchiveFault('contains links or devices; only files and folders are allowed');
    if (!kind) throw new ArchiveFault('contains an entry that is neither a file nor a folder');
    const left = { bytes: kind === 'folder' ? 0 : size };
    const name = stated.name ?? headerName(header);
    // Archives older than ustar mark a folder with a slash at the end of its name.
    const isFolder = kind === 'folder' || (name.endsWith('/') && size === 0);
    yield { name, kind: isFolder ? 'folder' : 'file', bytes: left.bytes, content: bytes.stream(left) };
    await bytes.skip(left.bytes + (kind === 'folder' ? 0 : padding));
    stated = {};
  }
}

/** Fields from preceding extension entries. They override the fields of the next header. */
interface Stated {
  name?: string;
  size?: number;
  isLink?: boolean;
}

function checkHeader(header: Uint8Array): void {
  const stated = readNumber(header.subarray(148, 156));
  let sum = 8 * 0x20;
  for (let n = 0; n < blockBytes; n++) if (n < 148 || n >= 156) sum += header[n]!;
  if (sum !== stated) throw damaged();
}

function headerName(header: Uint8Array): string {
  const name = readText(header.subarray(0, 100));
  const isUstar = readText(header.subarray(257, 262)) === 'ustar';
  // In GNU archives, the field that POSIX uses for the name prefix contains timestamps.
  const isPosix = isUstar && header[262] === 0;
  const prefix = isPosix ? readText(header.subarray(345, 500)) : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

/** Reads octal digits, or a binary number if the highest bit is set. */
function readNumber(field: Uint8Array): number {
  if ((field[0]! & 0x80) !== 0) {
    const value = field.subarray(1).reduce((sum, byte) => 256 * sum + byte, field[0]! & 0x7f);
    if (!Number.isSafeInteger(value) || (field[0]! & 0x40) !== 0) throw damaged();
    return value;
  }
  const digits = readText(field).trim();
  if (!/^[0-7]{0,12}$/.test(digits)) throw damaged();
  return Number.parseInt(digits === '' ? '0' : digits, 8);
}

/** Reads up to the first NUL byte. Invalid UTF-8 becomes U+FFFD, which names may not contain. */
function readText(field: Uint8Array): string {
  const end = field.indexOf(0);
  return Buffer.from(end < 0 ? field : field.subarray(0, end)).toString('utf8');
}

/** Reads lines of "length key=value\n". */
function readPax(extension: Uint8Array): Stated {
  const stated: Stated = {};
  let rest = Buffer.from(extension);
  while (rest.length > 0) {
    const length = Number(/^(\d{1,9}) /.exec(rest.toString('latin1', 0, 10))?.[1]);
    if (!(length > 0) || length > rest.length || rest[length - 1] !== 0x0a) throw damaged();
    const line = rest.toString('utf8', 0, length - 1);
    const [, key = '', value = ''] = /^\d+ ([^=]+)=([\s\S]*)$/.exec(line) ?? [];
    if (key === 'path') stated.name = value;
    if (key === 'linkpath') stated.isLink = true;
    if (key === 'size' && !/^\d{1,15}$/.test(value)) throw damaged();
    if (key === 'size') stated.size = Number(value);
    if (key.startsWith('GNU.sparse.')) throw new ArchiveFault('contains an entry that is neither a file nor a folder');
    rest = rest.subarray(length);
  }
  return stated;
}

/** Reads requested numbers of bytes from a stream of chunks. */
class ByteReader {
  #source: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Returns at least one byte and at most `count`; undefined at the end. */
  async some(count: number): Promise<Uint8Array | undefined> {
    while (this.#chunk.length === 0) {
      const { value, done } = await this.#source.next();
      if (done) return undefined;
      this.#chunk = value;
    }
    const taken = this.#chunk.subarray(0, count);
    this.#chunk = this.#chunk.subarray(taken.length);
    return taken;
  }

  /** Returns exactly `count` bytes, or fewer at the end. */
  async take(count: number): Promise<Uint8Array> {
    const taken = new Uint8Array(count);
    let length = 0;
    while (length < count) {
      const chunk = await this.some(count - length);
      if (!chunk) break;
      taken.set(chunk, length);
      length += chunk.length;
    }
    return taken.subarray(0, length);
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0; ) {
      const chunk = await this.some(left);
      if (!chunk) throw cutShort();
      left -= chunk.length;
    }
  }

  async drain(count: number): Promise<void> {
    for (let left = count; left > 0; ) {
      const chunk = await this.some(left);
      if (!chunk) return;
      left -= chunk.length;
    }
    throw new ArchiveFault('has data after its end');
  }

  /** Yields the next `left.bytes` bytes. Reduces `left.bytes` as bytes are read. */
  async *stream(left: { bytes: number }): AsyncGenerator<Uint8Array> {
    while (left.bytes > 0) {
      const chunk = await this.some(left.bytes);
      if (!chunk) throw cutShort();
      left.bytes -= chunk.length;
      yield chunk;
    }
  }
}
