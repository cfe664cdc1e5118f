// Writes archives for tests (tar, zip and bzip2) byte by byte, so that any field can be made invalid. The bzip2 encoder
// is simple: blocks are sorted slowly, and every symbol has a nine-bit code.
import { crc32, deflateRawSync } from 'node:zlib';

export interface TarEntry {
  name: string | Uint8Array;
  content?: string | Uint8Array;
  /** '0' a file, '5' a folder, '1' a hard link, '2' a symbolic link, '3' a device, 'x' a pax header, and so on. */
  type?: string;
  link?: string;
  /** A wrong size for the header. */
  size?: number;
  group?: string;
  checksum?: number;
}

const block = 512;
const padded = (bytes: Uint8Array): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((block - (bytes.length % block)) % block)]);

export function tarEntry({
  name,
  content = '',
  type = '0',
  link = '',
  size,
  group = 'staff',
  checksum,
}: TarEntry): Buffer {
  const bytes = Buffer.from(content as string);
  const header = Buffer.alloc(block);
  Buffer.from(name as string).copy(header, 0, 0, 100);
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size ?? bytes.length, 124, 12);
  octal(0, 136, 12);
  header.write(type, 156, 'latin1');
  header.write(link, 157, 'utf8');
  header.write('ustar\x0000', 257, 'latin1');
  header.write(group, 297, 'utf8');
  header.fill(0x20, 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${(checksum ?? sum).toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([header, padded(bytes)]);
}

export const writeTar = (entries: readonly TarEntry[]): Buffer =>
  Buffer.concat([...entries.map(tarEntry), Buffer.alloc(2 * block)]);

/** Creates a tar archive of a folder with files, like release archives. */
export const tarOf = (folder: string, files: Readonly<Record<string, string | Uint8Array>>): Buffer =>
  writeTar([
    { name: `${folder}/`, type: '5' },
    ...Object.entries(files).map(([name, content]) => ({ name: `${folder}/${name}`, content })),
  ]);

export function pax(values: Readonly<Record<string, string>>): TarEntry {
  const lines = Object.entries(values).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    const length = [...Array(9).keys()]
      .map((n) => Buffer.byteLength(rest) + n)
      .find((n, at) => String(n).length === at)!;
    return `${length}${rest}`;
  });
  return { name: 'pax', type: 'x', content: lines.join('') };
}

export interface ZipEntry {
  name: string;
  content?: string | Uint8Array;
  isStored?: boolean;
  /** The Unix mode, such as 0o120777 for a link. */
  mode?: number;
  bytes?: number;
  flags?: number;
  /** The stated position of the entry's content. */
  at?: number;
}

export function writeZip(entries: readonly ZipEntry[]): Buffer {
  const bodies: Buffer[] = [];
  const rows: Buffer[] = [];
  let length = 0;
  for (const { name, content = '', isStored = false, mode = 0o100644, bytes, flags = 0, at } of entries) {
    const plain = Buffer.from(content as string);
    const packed = isStored ? plain : deflateRawSync(plain);
    const encoded = Buffer.from(name);
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(flags, 2);
    shared.writeUInt16LE(isStored ? 0 : 8, 4);
    shared.writeUInt32LE(crc32(plain), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(bytes ?? plain.length, 18);
    shared.writeUInt16LE(encoded.length, 22);
    const row = Buffer.alloc(14);
    row.writeUInt32LE((mode << 16) >>> 0, 6);
    row.writeUInt32LE(at ?? length, 10);
    rows.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x03'), shared, row, encoded]));
    bodies.push(Buffer.concat([Buffer.from('PK\x03\x04'), shared, encoded, packed]));
    length += bodies.at(-1)!.length;
  }
  const directory = Buffer.concat(rows);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(length, 12);
  return Buffer.concat([...bodies, directory, Buffer.from('PK\x05\x06'), end]);
}

class BitWriter {
  #bytes: number[] = [];
  #held = 0;
  #count = 0;

  put(value: number, bits: number): void {
    for (let bit = bits - 1; bit >= 0; bit--) {
      this.#held = (this.#held << 1) | ((value >>> bit) & 1);
      if (++this.#count % 8 === 0) {
        this.#bytes.push(this.#held);
        this.#held = 0;
      }
    }
  }

  end(): Buffer {
    while (this.#count % 8 !== 0) this.put(0, 1);
    return Buffer.from(this.#bytes);
  }
}

function bzip2Checksum(bytes: Uint8Array): number {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) sum = sum < 0 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
  }
  return ~sum;
}

/** A run of four to 255 bytes is written as four bytes and the remaining length. */
function codeRuns(bytes: Uint8Array): Buffer {
  const coded: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    let run = 1;
    while (run < 255 && bytes[at + run] === bytes[at]) run++;
    for (let n = 0; n < Math.min(run, 4); n++) coded.push(bytes[at]!);
    if (run >= 4) coded.push(run - 4);
    at += run;
  }
  return Buffer.from(coded);
}

const codeBits = 9;

function putBlock(bits: BitWriter, bytes: Uint8Array): void {
  const coded = codeRuns(bytes);
  const twice = Buffer.concat([coded, coded]);
  const order = Array.from(coded.keys()).sort((one, other) =>
    twice.compare(twice, other, other + coded.length, one, one + coded.length),
  );
  const used = [...new Set(coded)].sort((one, other) => one - other);
  const recent = [...used];
  const symbols: number[] = [];
  let run = 0;
  const putRun = () => {
    for (; run > 0; run = (run - 1) >> 1) symbols.push((run - 1) & 1);
  };
  for (const at of order) {
    const value = coded[(at + coded.length - 1) % coded.length]!;
    const place = recent.indexOf(value);
    if (place === 0) {
      run++;
      continue;
    }
    putRun();
    symbols.push(place + 1);
    recent.unshift(...recent.splice(place, 1));
  }
  putRun();
  symbols.push(used.length + 1);

  bits.put(0x314159, 24);
  bits.put(0x265359, 24);
  bits.put(bzip2Checksum(bytes), 32);
  bits.put(0, 1);
  bits.put(order.indexOf(0), 24);
  const groups = Array.from({ length: 16 }, (_, group) => used.filter((value) => value >> 4 === group));
  for (const group of groups) bits.put(group.length > 0 ? 1 : 0, 1);
  for (const group of groups.filter(({ length }) => length > 0)) {
    for (let n = 0; n < 16; n++) bits.put(group.some((value) => (value & 15) === n) ? 1 : 0, 1);
  }
  const selectors = Math.ceil(symbols.length / 50);
  bits.put(2, 3);
  bits.put(selectors, 15);
  for (let n = 0; n < selectors; n++) bits.put(0, 1);
  for (let table = 0; table < 2; table++) {
    bits.put(codeBits, 5);
    for (let symbol = 0; symbol < used.length + 2; symbol++) bits.put(0, 1);
  }
  for (const symbol of symbols) bits.put(symbol, codeBits);
}

export function bzip2(bytes: Uint8Array, blockBytes = 20_000): Buffer {
  const bits = new BitWriter();
  let checksum = 0;
  bits.put(0x425a6831, 32);
  for (let at = 0; at < bytes.length; at += blockBytes) {
    const part = bytes.subarray(at, at + blockBytes);
    checksum = ((checksum << 1) | (checksum >>> 31)) ^ bzip2Checksum(part);
    putBlock(bits, part);
  }
  bits.put(0x177245, 24);
  bits.put(0x385090, 24);
  bits.put(checksum, 32);
  return bits.end();
}
