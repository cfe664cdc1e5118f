// Whether the package is installed, and with it the program for this kind of machine. Neither is loaded to find out.
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
