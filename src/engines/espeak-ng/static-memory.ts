// The writable memory of a loaded library, to be kept and restored: a library that has no call to begin anew begins anew.
// Its place is read from the headers that the loader left in memory (ELF, 64 bits, little-endian):
//     e_phoff u64 @32   e_phentsize u16 @54   e_phnum u16 @56
//     p_type u32 @0   p_flags u32 @4   p_vaddr u64 @16   p_memsz u64 @40
// What the loader made read-only after it had bound the library (RELRO) is left out. Memory that the library has allocated
// is not restored: keep anew once it has freed what it had when it was kept.
import type { NativeMemory } from './native-calls.ts';

const elfMagic = 0x464c457f;
const is64Bits = 2;
const isLittleEndian = 1;
const loadType = 1;
const relroType = 0x6474e552;
const writableFlag = 2;
const headerBytes = 64;
const programHeadersMax = 64;

export interface StaticMemory {
  /** Keeps what is there. */
  keep(): void;
  /** Puts back what was kept last. */
  restore(): void;
}

/** The memory of the library that has this function; undefined where its format is another. */
export function openStaticMemory({ view, baseOf, pageBytes }: NativeMemory, symbol: bigint): StaticMemory | undefined {
  const base = baseOf(symbol);
  if (base === undefined) return undefined;
  const areas = writableAreas(view, base, pageBytes);
  if (!areas) return undefined;
  const kept = areas.map((area) => area.slice());
  return {
    keep() {
      for (const [i, area] of areas.entries()) kept[i]!.set(area);
    },
    restore() {
      for (const [i, area] of areas.entries()) area.set(kept[i]!);
    },
  };
}

function writableAreas(view: NativeMemory['view'], base: bigint, pageBytes: number): Uint8Array[] | undefined {
  const header = new DataView(view(base, headerBytes));
  const isKnown = header.getUint8(4) === is64Bits && header.getUint8(5) === isLittleEndian;
  if (header.getUint32(0, true) !== elfMagic || !isKnown) return undefined;
  const at = Number(header.getBigUint64(32, true));
  const [size, count] = [header.getUint16(54, true), header.getUint16(56, true)];
  if (count > programHeadersMax) return undefined;
  const table = new DataView(view(base + BigInt(at), size * count));
  const rows = Array.from({ length: count }, (_, n) => ({
    type: table.getUint32(n * size, true),
    flags: table.getUint32(n * size + 4, true),
    from: Number(table.getBigUint64(n * size + 16, true)),
    length: Number(table.getBigUint64(n * size + 40, true)),
  }));
  const relro = rows.find(({ type }) => type === relroType);
  const relroEnd = relro ? Math.floor((relro.from + relro.length) / pageBytes) * pageBytes : 0;
  return rows
    .filter(({ type, flags }) => type === loadType && (flags & writableFlag) !== 0)
    .map(({ from, length }) => ({ from: Math.max(from, relroEnd), to: from + length }))
    .filter(({ from, to }) => to > from)
    .map(({ from, to }) => new Uint8Array(view(base + BigInt(from), to - from)));
}
