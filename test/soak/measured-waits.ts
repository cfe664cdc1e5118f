// Computes the waits that a replica reports for the first audio (for a slot, for a turn at the engine, for the engine),
// over a period, from two readings of its metrics.
import type { ReplicaProcess } from '../replica-process.ts';

type Readings = ReadonlyMap<string, number>;

const families: Readonly<Record<string, string>> = {
  'first sound of all streams': 'sonant_first_sound_seconds',
  'wait for a slot, interactive': 'sonant_wait_seconds{class="interactive"}',
  'wait for a slot, bulk': 'sonant_wait_seconds{class="bulk"}',
  'wait for the engine, first segment': 'sonant_engine_wait_seconds{engine="flite",segment="first"}',
  'wait for the engine, later segment': 'sonant_engine_wait_seconds{engine="flite",segment="later"}',
  'first sound of the engine': 'sonant_engine_first_sound_seconds{engine="flite"}',
};

export async function readWaits({ adminPort }: ReplicaProcess): Promise<Readings> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  return new Map([...text.matchAll(/^(\w+(?:\{.*?\})?) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)]));
}

/** Mean and count of each wait between two readings, and the CPU time of the replica. */
export function toWaits(before: Readings, after: Readings): string[] {
  const grown = (family: string, end: '_sum' | '_count') => {
    const [name, labels = ''] = family.split('{');
    const isOf = (each: string) => each.startsWith(`${name}${end}`) && each.endsWith(labels);
    const sum = (readings: Readings) => [...readings].reduce((all, [each, value]) => all + (isOf(each) ? value : 0), 0);
    return sum(after) - sum(before);
  };
  const cpu = 'sonant_process_cpu_seconds_total';
  const lines = Object.entries(families).flatMap(([what, family]) => {
    const count = grown(family, '_count');
    return count > 0 ? [`${what}: mean ${((1000 * grown(family, '_sum')) / count).toFixed(0)} ms of ${count}`] : [];
  });
  return [...lines, `processor: ${((after.get(cpu) ?? 0) - (before.get(cpu) ?? 0)).toFixed(1)} s`];
}
