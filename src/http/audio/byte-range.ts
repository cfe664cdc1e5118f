// Byte ranges (RFC 9110 section 14). A malformed header is ignored, as the RFC requires. A range beyond the end, or too
// many ranges, are `unsatisfiable`.
//     Range: bytes=0-99          the first hundred
//     Range: bytes=100-          from 100 to the end
//     Range: bytes=-100          the last hundred
//     Range: bytes=0-9,90-99     several: the whole audio is sent, as the RFC permits
import type { ByteRange } from '../../delivery/stores/clip-store.ts';

/** Ranges that a request may name. */
export const rangesMax = 100;

export function parseRange(header: string | undefined, byteCount: number): ByteRange | 'whole' | 'unsatisfiable' {
  const set = /^bytes=(.+)$/i.exec(header ?? '')?.[1];
  const specs =
    set
      ?.split(',')
      .map((spec) => spec.trim())
      .filter(Boolean) ?? [];
  const ranges = specs.map((spec) => toRange(spec, byteCount));
  if (ranges.length === 0 || ranges.includes(undefined)) return 'whole';
  const satisfiable = ranges.filter((range) => range!.first < byteCount && range!.first <= range!.last);
  if (satisfiable.length === 0 || ranges.length > rangesMax) return 'unsatisfiable';
  return ranges.length === 1 ? satisfiable[0]! : 'whole';
}

/** Undefined if malformed. An empty range is unsatisfiable. */
function toRange(spec: string, byteCount: number): ByteRange | undefined {
  const [, from = '', to = ''] = /^(\d{0,15})-(\d{0,15})$/.exec(spec) ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '')
    return { first: Number(to) === 0 ? byteCount : Math.max(0, byteCount - Number(to)), last: byteCount - 1 };
  if (to !== '' && Number(to) < Number(from)) return undefined;
  return { first: Number(from), last: to === '' ? byteCount - 1 : Math.min(Number(to), byteCount - 1) };
}
