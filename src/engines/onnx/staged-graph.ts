// A part of a graph that runs in stages, one after the other. A run of the runtime cannot be stopped, but a task that is
// cancelled ends before its next stage, so that it takes little time from the next task.
import { floatValue, type GraphChange, type OnnxModel, type OnnxValue } from './onnx-file.ts';
import type { Inputs, Session } from './onnx-runtime.ts';

export interface StagedGraph {
  outputs: readonly string[];
  given: readonly OnnxValue[];
  /** Results of three dimensions inside the part, in order; each is the end of a stage. */
  ends: readonly string[];
  change?: GraphChange | undefined;
}

export async function openStages(
  model: OnnxModel,
  { outputs, given, ends, change }: StagedGraph,
  openGraph: (bytes: Buffer) => Promise<Session>,
): Promise<Session> {
  const sessions: Session[] = [];
  const known = [...given];
  for (const wanted of [...ends.map((name) => [name]), outputs]) {
    sessions.push(await openGraph(model.cut(wanted, known, change)));
    for (const name of wanted) known.push(floatValue(name, 1, `rows of ${name}`, `columns of ${name}`));
  }
  const namesFrom = (n: number) => new Set(sessions.slice(n).flatMap(({ inputNames }) => inputNames));
  const needed = sessions.map((_, n) => namesFrom(n));
  return {
    inputNames: [...namesFrom(0)],
    async run(inputs) {
      let values = inputs;
      for (const [n, session] of sessions.slice(0, -1).entries()) {
        const all: Record<string, Inputs> = { ...values, ...(await session.run(values)) };
        // Results are large, so those that no later stage needs are not kept.
        values = Object.fromEntries(Object.entries(all).filter(([name]) => needed[n + 1]!.has(name)));
      }
      return sessions.at(-1)!.run(values);
    },
  };
}
