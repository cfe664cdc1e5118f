// The styles of blends, as the library reads styles. It takes only a file with as many styles as the model says it has
// speakers, and so blends have a file of their own, of the same size, for a process of their own: each style in the place of
// a speaker, the sum of its parts by their weights. Places without a blend are zeros. The file is in the folder for
// temporary files, and goes with the process.
import { type FileHandle, open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Failure } from '../../errors.ts';
import { openTemporaryFolder } from '../../runtime/temporary-folder.ts';
import type { LibraryConfig, ProcessFiles } from './espeak-copy.ts';
import type { BlendedStyle, Model, StyleFile } from './model.ts';

export async function writeStyles({ blended, styles }: Model, config: object): Promise<ProcessFiles> {
  if (!blended || !styles) return { config, remove: async () => {} };
  const { path: folder, remove } = await openTemporaryFolder();
  const path = join(folder, basename(styles.path));
  try {
    await writeStyleFile(styles, blended.styles, path);
  } catch (error) {
    await remove();
    throw new Failure('engine_unavailable', {}, error);
  }
  const { model = {} } = config as LibraryConfig;
  const part = { ...(model[styles.kind] as object), [styles.member]: path };
  return { config: { ...config, model: { ...model, [styles.kind]: part } }, remove };
}

async function writeStyleFile(
  { path, sections }: StyleFile,
  styles: readonly (BlendedStyle | undefined)[],
  target: string,
): Promise<void> {
  await using from = await open(path);
  await using to = await open(target, 'wx');
  const { size } = await from.stat();
  await to.truncate(size);
  await to.write(await readBytes(from, 0, sections[0]!.offset), 0, sections[0]!.offset, 0);
  for (const { offset, bytesPerSpeaker } of sections) {
    for (const [place, style] of styles.entries()) {
      if (!style) continue;
      const sum = new Float64Array(bytesPerSpeaker / 4);
      for (const { sid, weight } of style.parts) {
        const bytes = await readBytes(from, offset + sid * bytesPerSpeaker, bytesPerSpeaker);
        const floats = new Float32Array(bytes.buffer);
        for (let i = 0; i < sum.length; i++) sum[i]! += weight * floats[i]!;
      }
      const blend = Float32Array.from(sum);
      await to.write(new Uint8Array(blend.buffer), 0, bytesPerSpeaker, offset + place * bytesPerSpeaker);
    }
  }
}

async function readBytes(from: FileHandle, at: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  const { bytesRead } = await from.read(bytes, 0, length, at);
  if (bytesRead < length) throw new Error('the file with the styles is shorter than it was');
  return bytes;
}
