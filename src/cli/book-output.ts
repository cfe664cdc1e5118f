// Where `sonant book` writes: the file, what is beside it, and the folder of the work until the file is whole.
import { extname, resolve } from 'node:path';
import { openAudioFile } from './audio-sink.ts';
import { withOpened } from './command.ts';

export const workFolderOf = (output: string): string => `${resolve(output)}.work`;

export const captionPathOf = (output: string, kind: string): string =>
  `${output.slice(0, output.length - extname(output).length)}.${kind}`;

/** Whole or not at all; how many bytes it has. */
export const writeWhole = async (
  path: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  signal: AbortSignal,
): Promise<number> =>
  withOpened(await openAudioFile(path, signal), async (sink) => {
    let byteCount = 0;
    for await (const piece of pieces) {
      await sink.write(piece);
      byteCount += piece.length;
    }
    await sink.finish(undefined);
    return byteCount;
  });
