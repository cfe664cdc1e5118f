// Creates model folders for tests: headers without weights, and all other files that a model of the kind has.
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { floats, node, type ValueShape, writeOnnx } from './onnx-writer.ts';

export type ModelContents = Readonly<Record<string, string | Uint8Array>>;

/** A folder of this name, in a new folder in `root`. */
export async function makeModelFolder(root: string, name: string, files: ModelContents): Promise<string> {
  const folder = join(await mkdtemp(join(root, 'case-')), name);
  await mkdir(join(folder, 'espeak-ng-data'), { recursive: true });
  for (const [file, content] of Object.entries(files)) await writeFile(join(folder, file), content);
  return folder;
}

export const espeak: ModelContents = Object.fromEntries(
  ['phontab', 'phonindex', 'phondata', 'intonations'].map((file) => [`espeak-ng-data/${file}`, 'x']),
);
export const phonemes = '_ 0\n^ 1\n$ 2\n  3\na 4\n, 5\n';

/** The header of a model with inputs of these types, and its metadata. */
export function header(
  types: readonly number[],
  metadata: Readonly<Record<string, string>> = {},
  names: readonly string[] = [],
): Uint8Array {
  const inputs = types.map((type, n): ValueShape => [names[n] ?? `input${n}`, type, [1]]);
  return writeOnnx({
    inputs,
    outputs: [['y', 1, [1]]],
    constants: { weights: floats([4], [1, 2, 3, 4]) },
    nodes: [node('Identity', ['weights'], ['y'])],
    metadata,
  });
}
