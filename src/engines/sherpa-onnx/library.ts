// Whether the package is installed, with the binary for this platform. Neither is loaded to find out.
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';

export function isLibraryInstalled(): boolean {
  const { resolve } = createRequire(import.meta.url);
  const system = platform() === 'win32' ? 'win' : platform();
  try {
    resolve('sherpa-onnx-node');
    resolve(`sherpa-onnx-${system}-${arch()}/package.json`);
    return true;
  } catch {
    return false;
  }
}
