// Neural models of the operator's own, spoken with by the real library: it keeps the contract, and survives what ends the
// processes it runs in.
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine, Segment } from '../../src/engines/engine.ts';
import { isLibraryInstalled } from '../../src/engines/sherpa-onnx/library.ts';
import { openSherpaOnnx } from '../../src/engines/sherpa-onnx/sherpa-onnx.ts';
import { engineConformance } from '../conformance/engine.ts';
import { makeTinyVits } from './tiny-vits.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sonant-sherpa-'));
});
afterAll(() => rm(folder, { recursive: true }));

const open = async (dataDir: string) => openSherpaOnnx({ dataDir, threads: 1, modelsMax: 2 });

engineConformance(
  'sherpa-onnx',
  async () => {
    const dataDir = join(folder, 'conformance');
    await makeTinyVits(join(dataDir, 'models/tiny'));
    return open(dataDir);
  },
  { needs: 'the package sherpa-onnx-node' },
);
