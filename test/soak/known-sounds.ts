// Provides texts for an installation under faults, and their exact audio, recorded while everything worked: the
// embedded engine is deterministic.
import { expect } from 'vitest';
import { sentences } from '../sentences.ts';

export interface KnownText {
  chunks: readonly string[];
  format: 'wav' | 'mp3' | 'pcm';
  chars: number;
  /** The file with its true sizes; only for short texts. Another version may have different audio. */
  file?: readonly Buffer[];
  /** The streamed body. */
  streamed: readonly Buffer[];
}

export interface KnownSounds {
  short: readonly KnownText[];
  /** Texts of half a minute each, to be cut midway. */
  long: readonly KnownText[];
}

export type Post = (path: string, body: object) => Promise<Response>;

const sayingOf = (first: number, count: number) =>
  Array.from({ length: count }, (_, n) => sentences[(first + n) % sentences.length]!).join(' ');
const formats = ['wav', 'mp3', 'pcm'] as const;
/** A high rate, which gives many bytes for little speech. */
export const longRateHz = 48_000;

export async function learnSounds(post: Post): Promise<KnownSounds> {
  const speak = async (fields: object) => {
    const answer = await post('/api/audio/speech', { voice_id: 'arthur', ...fields });
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
    return Buffer.from(await answer.arrayBuffer());
  };
  const learn = async (chunks: readonly string[], format: KnownText['format'], isLong: boolean): Promise<KnownText> => {
    const fields = { text_chunks: chunks, output_format: format, ...(isLong && { sample_rate: longRateHz }) };
    const streamed = await speak({ ...fields, method: 'streaming' });
    const chars = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    if (isLong) return { chunks, format, chars, streamed: [streamed] };
    const file = await speak({ text: chunks[0], output_format: format, return_format: 'buffer' });
    return { chunks, format, chars, streamed: [streamed], file: [file] };
  };
  const short: KnownText[] = [];
  for (const [n, format] of formats.entries())
    for (const count of [1, 3]) short.push(await learn([sayingOf(5 * n + count, count)], format, false));
  const long: KnownText[] = [];
  for (const format of ['wav', 'pcm'] as const) {
    const chunks = Array.from({ length: 4 }, (_, n) => sayingOf(3 * n, 3));
    long.push(await learn(chunks, format, true));
  }
  return { short, long };
}

/** The answer is one of these files. */
export async function expectSound(answer: Response, sounds: readonly Buffer[], path: string): Promise<void> {
  const heard = Buffer.from(await answer.arrayBuffer());
  expect([answer.status, sounds.some((sound) => sound.equals(heard))], path).toEqual([200, true]);
}

/** Combines the audio of two versions of the service, because either version may answer a request. */
export function joinSounds(before: KnownSounds, after: KnownSounds): KnownSounds {
  const join = (texts: readonly KnownText[], others: readonly KnownText[]) =>
    texts.map((text, n) => ({
      ...text,
      ...(text.file && { file: [...text.file, ...others[n]!.file!] }),
      streamed: [...text.streamed, ...others[n]!.streamed],
    }));
  return { short: join(before.short, after.short), long: join(before.long, after.long) };
}
