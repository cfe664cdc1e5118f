// Opens the engine of natural voices with the real voice "heart", imported into a temporary folder.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../../src/engines/engine.ts';
import { importVoice } from '../../src/engines/onnx/import-voice.ts';
import { openOnnx } from '../../src/engines/onnx/onnx.ts';
import { fetchVoice } from './fetched-voice.ts';

/** Undefined if the files of the voice cannot be had here. The folder is removed when the engine is closed. */
export async function openNatural(workers = 2): Promise<Engine | undefined> {
  const { folder } = await fetchVoice();
  if (folder === undefined) return undefined;
  const dataDir = mkdtempSync(join(tmpdir(), 'sonant-natural-'));
  await importVoice({ path: folder, dataDir, signal: new AbortController().signal, print: () => {} });
  const engine = (await openOnnx({ dataDir, workers }))!;
  const { close } = engine;
  return Object.assign(engine, {
    async close() {
      await close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  });
}
