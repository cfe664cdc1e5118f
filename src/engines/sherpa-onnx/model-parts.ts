// The parts of models that consist of several ONNX files, found by the beginnings of their names.
import type { ModelFiles } from './model-files.ts';

/** The ONNX file whose name begins so; a smaller one (.int8) goes first, as in the releases. */
export function findPart({ onnxNames }: ModelFiles, beginning: string): string | undefined {
  const found = onnxNames.filter((name) => name.startsWith(beginning));
  return found.find((name) => name.includes('int8')) ?? found[0];
}

export function needPart(files: ModelFiles, beginning: string): string {
  const name = findPart(files, beginning);
  if (name === undefined) files.faults.add(`${beginning}.onnx`, 'is missing');
  return name ?? `${beginning}.onnx`;
}
