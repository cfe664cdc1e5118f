// Measures the overhead of a running service with the built-in voice. A service in its own process streams texts over
// REST, one after the other. The baseline is the engine's bare program in this process on the same texts. CPU time is
// that of the service's process, including its engine threads.
import { join } from 'node:path';
import { startProcess } from './measuring/asked-process.ts';
import type { Bench, Cell, Goal } from './measuring/bench.ts';
import { ownCpuMs } from './measuring/machine.ts';
import type { OpenCheckout } from './measuring/open-checkout.ts';
import { openRawEngine } from './measuring/raw-engine.ts';
import { compareCpu, cpuOf, cpuRatio } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

const voiceId = 'arthur';
const rounds = 5;
/** V8 compiles the service during its first few hundred requests. */
const warmUps = 12;
/** Number of texts per measurement, by length of text. */
const countOf = new Map([
  [60, 12],
  [1000, 1],
]);
const outputs = [
  { name: 'PCM 24 kHz', output_format: 'pcm', sample_rate: 24_000, max: 1.15 },
  { name: 'WAV 44.1 kHz', output_format: 'wav', sample_rate: 44_100, max: 1.2 },
  { name: 'MP3 24 kHz', output_format: 'mp3', sample_rate: 24_000, max: 1.45 },
] as const;

export const bench: Bench = {
  about: 'the raw flite program, and the built-in voice through a running service (CPU time)',
  async run() {
    const root = join(import.meta.dirname, '..');
    const file = join(import.meta.dirname, 'overload/serve.ts');
    const service = await startProcess<OpenCheckout>(file, [root, 'flite'], {
      stdio: ['ignore', 'inherit', 'ignore', 'ipc'],
    });
    const raw = await openRawEngine();
    const rows: Cell[][] = [];
    const goals: Goal[] = [];
    for (const [chars, count] of countOf) {
      const texts = Array.from({ length: count }, (_, n) => passage(chars, n));
      const served = outputs.map(({ name, max: _, ...output }) => {
        const speakAll = async () => {
          const before = await service.ask();
          for (const text of texts) await stream(service.told, { ...output, text_chunks: [text] });
          return (await service.ask()) - before;
        };
        return [name, speakAll] as const;
      });
      const speakRaw = async () => {
        const before = ownCpuMs();
        for (const text of texts) raw.say(voiceId, [text]);
        return ownCpuMs() - before;
      };
      const contenders = { raw: speakRaw, ...Object.fromEntries(served) };
      const costs = await compareCpu<string>(contenders, { rounds, warmUps });
      const ratios = outputs.map(({ name }) => cpuRatio([costs[name]!], [costs.raw!]));
      const cpu = Object.values(costs).map((cost) => cpuOf(cost) / count);
      rows.push([`${chars}`, ...cpu, ...ratios]);
      for (const [i, { name, max }] of outputs.entries())
        goals.push({ name: `${name} / raw, ${chars} characters`, figure: ratios[i]!, digits: 2, max });
    }
    await service.close();
    const names = outputs.map(({ name }) => name);
    const columns = [
      { name: 'characters' },
      ...['raw', ...names].map((name) => ({ name: `${name} ms`, digits: 1 })),
      ...names.map((name) => ({ name: `${name}/raw`, digits: 2 })),
    ];
    return { tables: [{ title: 'CPU for a text, and its ratio to the raw program', columns, rows }], goals };
  },
};

/** Streams are never served from the cache. */
async function stream({ port, apiKey }: OpenCheckout, fields: object): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/audio/speech`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ voice_id: voiceId, method: 'streaming', ...fields }),
  });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  for await (const _ of answer.body!);
}
