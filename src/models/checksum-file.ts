// The list of hashes that a release has beside its files, checksum.txt: a line has the name of a file and its SHA-256, in
// any order. It comes from where the file comes from, so it finds damage, not a source that lies.
import { get } from './http-get.ts';
import type { Build } from './model-row.ts';
import { type LeastRate, TransferRate } from './transfer-rate.ts';

interface ListPatience extends LeastRate {
  stallMs: number;
}

const bytesMax = 2 * 2 ** 20;

/** None where there is no list, it cannot be fetched, or it lacks the file. */
export async function findStatedBuild(url: string, signal: AbortSignal, patience: ListPatience): Promise<Build[]> {
  const file = new URL(url).pathname.split('/').at(-1)!;
  // A source without a list is as good as any; that its files cannot be fetched either is told then.
  const text = await readList(new URL('checksum.txt', url).href, signal, patience).catch(() => '');
  signal.throwIfAborted();
  for (const line of text.split('\n')) {
    const words = line.split(/[\s,;:|*]+/);
    const sha256 = words.find((word) => /^[0-9a-f]{64}$/i.test(word))?.toLowerCase();
    if (sha256 && words.includes(file)) return [{ bytes: null, sha256 }];
  }
  return [];
}

async function readList(url: string, signal: AbortSignal, patience: ListPatience): Promise<string> {
  const answer = await get(url, { signal, stallMs: patience.stallMs });
  const chunks: Buffer[] = [];
  const rate = new TransferRate(url, patience);
  let bytes = 0;
  rate.run();
  try {
    if (answer.status !== 200) return '';
    for await (const chunk of answer.body) {
      bytes += chunk.length;
      rate.add(chunk.length);
      if (bytes > bytesMax) break;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  } finally {
    answer.close();
  }
}
