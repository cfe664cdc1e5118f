// Runs the graph of a Kokoro model whole, in the runtime of the service, without anything around it.
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { toFloatConvolutions } from '../../src/engines/onnx/float-convolutions.ts';
import { readOnnxModel } from '../../src/engines/onnx/onnx-file.ts';
import { findRuntime, openRuntime } from '../../src/engines/onnx/onnx-runtime.ts';
import { openEnglish } from '../../src/engines/phonemes/english.ts';

const styleSize = 256;

/** CPU milliseconds for a text, sentence by sentence as in the service; undefined without the native runtime. */
export async function measureRawGraph(folder: string, texts: readonly string[]): Promise<number | undefined> {
  const runtime = findRuntime();
  if (runtime?.is !== 'native') return undefined;
  const openGraph = await openRuntime({ is: 'native', entry: runtime.entry });
  const model = readOnnxModel(readFileSync(join(folder, 'model.onnx')));
  const threads = Math.min(2, availableParallelism());
  const graph = await openGraph(model.cut(model.outputs, [], toFloatConvolutions(model)), { threads });
  const vocabulary: Record<string, number> = JSON.parse(readFileSync(join(folder, 'vocabulary.json'), 'utf8'));
  const styles = new Float32Array(new Uint8Array(readFileSync(join(folder, 'af_heart.bin'))).buffer);
  const english = openEnglish(folder, 'US');
  const speak = async (sentence: string) => {
    const phonemes = english(sentence).map((word) => word.phonemes);
    const known = [...phonemes.join(' ')].flatMap((each) => vocabulary[each] ?? []);
    const style = styles.subarray(styleSize * known.length, styleSize * (known.length + 1));
    await graph.run({
      tokens: { data: BigInt64Array.from([0, ...known, 0], BigInt), dims: [1, known.length + 2] },
      style: { data: style, dims: [1, styleSize] },
      speed: { data: Float32Array.of(1), dims: [1] },
    });
  };
  const sentences = texts.flatMap((text) => text.split(/(?<=[.?!])\s+/));
  await speak(sentences[0]!);
  const before = process.cpuUsage();
  for (const sentence of sentences) await speak(sentence);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / texts.length;
}
