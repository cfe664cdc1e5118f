// Finds the parts of models that consist of several ONNX files, by the beginning of their names.
import type { ModelFiles } from './model-files.ts';

/** The ONNX file with this prefix. A smaller version (.int8) is preferred, as in the releases. */
export function findPart({ onnxNames }: ModelFiles, beginning: string): string | undefined {
  const found = onnxNames.filter((name) => name.startsWith(beginning));
  return found.find((name) => name.includes('int8')) ?? found[0];
}

export function needPart(files: ModelFiles, beginning: string): string {
  const name = findPart(files, beginning);
  if (name === undefined) files.faults.add(`${beginning}.onnx`, 'is missing');
  return name ?? `${beginning}.onnx`;
}
