// Temporary files of one model process: a copy of eSpeak NG's data, and the styles of blended speakers. They are
// removed with the process.
import { cp, type FileHandle, open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Failure } from '../../platform/errors.ts';
import { openTemporaryFolder } from '../../platform/runtime/files.ts';
import type { BlendedStyle, LibraryOptions, Model, StyleFile } from './model.ts';

type LibraryConfig = { model?: Readonly<Record<string, LibraryOptions | string | number | boolean>> };

/** Temporary files of a process. */
interface ProcessFiles {
  /** The library's configuration with these files. */
  config: object;
  remove(): Promise<void>;
}

export async function prepareFiles(model: Model, config: object): Promise<ProcessFiles> {
  const styles = await writeStyles(model, config);
  const data = await copySpeechData(styles.config);
  return {
    config: data.config,
    async remove() {
      await Promise.all([styles.remove(), data.remove()]);
    },
  };
}

/**
 * Copies eSpeak NG's data (about 18 MB) for the process, because the process reads the data again for each text, and
 * the model's folder may be removed during requests. If the copy fails, the original is used.
 */
async function copySpeechData(config: object): Promise<ProcessFiles> {
  const { model = {} } = config as LibraryConfig;
  const found = Object.entries(model).find(([, part]) => typeof part === 'object' && 'dataDir' in part);
  if (!found) return { config, remove: async () => {} };
  const [kind, part] = found as [string, LibraryOptions];
  const folder = await openTemporaryFolder().catch(() => undefined);
  if (folder === undefined) return { config, remove: async () => {} };
  const { path, remove } = folder;
  const dataDir = join(path, 'espeak-ng-data');
  try {
    await cp(String(part.dataDir), dataDir, { recursive: true, dereference: true });
  } catch {
    await remove();
    return { config, remove: async () => {} };
  }
  return { config: { ...config, model: { ...model, [kind]: { ...part, dataDir } } }, remove };
}

/**
 * Writes the styles of blends. The library requires as many styles as the model has speakers, so blends have a separate
 * file of the same size and a separate process. Each blend takes the place of a speaker and is the weighted sum of its
 * parts; unused places are zeros.
 */
async function writeStyles({ blended, styles }: Model, config: object): Promise<ProcessFiles> {
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
  const supertonic = { ...(model.supertonic as object), voiceStyle: path };
  return { config: { ...config, model: { ...model, supertonic } }, remove };
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
