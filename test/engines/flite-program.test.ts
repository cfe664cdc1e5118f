// Tests that the flite program is identified by its hash, and discarded after a fault or when it has grown large.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { openFliteHost } from '../../src/engines/flite/flite.ts';
import { FliteProgram } from '../../src/engines/flite/flite-program.ts';
import type { FliteTask } from '../../src/engines/flite/flite-thread.ts';
import { compileWasm, readWasm } from '../../src/engines/flite/wasi.ts';
import { guardWork } from './guarded-work.ts';

let program: FliteProgram;
beforeAll(async () => {
  program = new FliteProgram(await compileWasm());
});

const args = ['-voice', 'kal16'];
function say(text: string): string {
  const heard: string[] = [];
  program.run({ args, text, onSound: (samples) => heard.push(Buffer.from(samples.buffer).toString('base64')) });
  return heard.join();
}

test('another build is refused, and the message says which was found', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sonant-'));
  const path = join(folder, 'flite.wasm');
  await writeFile(path, 'not flite');
  await expect(readWasm(path)).rejects.toThrow(
    /flite\.wasm is not the expected build of flite: its SHA-256 is dd9f57fc/,
  );
  await rm(folder, { recursive: true });
});

test('what a run leaves behind, the next does not find', () => {
  const alone = say('Good evening.');
  say('Something quite different. And long!');
  expect(say('Good evening.')).toBe(alone);
});

test('a trap throws, and the next run is as it should be', () => {
  const before = say('Good evening.');
  expect(() => say('!'.repeat(600))).toThrow('memory access out of bounds');
  expect(program.memoryBytes).toBe(0);
  expect(say('Good evening.')).toBe(before);
});

test('text that traps twice fails its segment and nothing else', async () => {
  const host = openFliteHost(1);
  const run = (task: FliteTask, signal: AbortSignal) => host.run(task, signal);
  const work = guardWork({ run, capabilities: { segmentsSpokenMax: 1 } });
  const speak = (spoken: string) => {
    const task = { args, sampleRateHz: 16_000, parts: [[{ from: 0, to: 1, spoken }]], timings: false };
    return Array.fromAsync(work(task, new AbortController().signal));
  };
  const [before, trapped, after] = await Promise.allSettled(
    ['Good evening.', '!'.repeat(600), 'Good evening.'].map(speak),
  );
  expect(trapped).toMatchObject({
    reason: { reason: 'engine_error', cause: { message: 'memory access out of bounds' } },
  });
  expect(before).toMatchObject({ status: 'fulfilled', value: [{ sampleRateHz: 16_000 }] });
  expect(after).toEqual(before);
  await host.close();
});

test('what a listener throws ends the run', () => {
  const before = say('Good evening.');
  const stop = () => {
    throw new Error('enough');
  };
  expect(() => program.run({ args, text: 'One. Two. Three.', onSound: stop })).toThrow('enough');
  expect(say('Good evening.')).toBe(before);
});

test('an instance that has grown large is not kept', () => {
  say('Good evening.');
  expect(program.memoryBytes).toBeGreaterThan(0);
  program.run({ args: [...args, '--setf', 'duration_stretch=1200'], text: 'Good evening.' });
  expect(program.memoryBytes).toBe(0);
});
