// Tests the guard over workers that exit, fail or hang: which segments are repeated, and by which worker.
import { expect, onTestFinished, test } from 'vitest';
import { Host } from '../../src/platform/runtime/host.ts';
import { threadLink } from '../../src/platform/runtime/worker-links.ts';
import type { FaultyStart, FaultyTask } from '../platform/runtime/faulty-work.ts';
import { guardWork } from './guarded-work.ts';

const file = new URL('../platform/runtime/faulty-child.ts', import.meta.url);

function open(workersMax: number, { firstSoundMsMax = 30_000, stopMsMax = 25, starts = [] as FaultyStart[] } = {}) {
  let started = 0;
  const host = new Host<FaultyTask, string>({
    open: () => threadLink({ file, data: Promise.resolve(starts[started++] ?? {}), isBackground: false }),
    workersMax,
    startMsMax: 30_000,
    stopMsMax,
  });
  onTestFinished(() => host.close());
  const work = guardWork<FaultyTask, string>({
    run: (task, signal) => host.run(task, signal),
    capabilities: { segmentsSpokenMax: workersMax, firstSoundMsMax },
  });
  const run = (task: FaultyTask, { urgent = false, signal = new AbortController().signal } = {}) =>
    Array.fromAsync(work(task, signal, urgent));
  return { work, run, started: () => started };
}
const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error) => error.reason,
  );

test('segments are spoken in the order they came, urgent ones first', async () => {
  const { run } = open(1);
  const ended: string[] = [];
  const before = run({ does: 'end' });
  const say = (name: string, urgent: boolean) =>
    run({ does: 'end', pieces: [name, name] }, { urgent }).then((pieces) => ended.push(pieces.join()));
  await Promise.all([say('a', false), say('b', false), say('c', true), say('d', true), say('e', false), before]);
  expect(ended).toEqual(['c,c', 'd,d', 'a,a', 'b,b', 'e,e']);
});

test('a worker that exits before its segment was heard is replaced, and the segment spoken by another', async () => {
  const { run, started } = open(1, { starts: [{ does: 'exit-later' }] });
  expect(await run({ does: 'end', pieces: ['heard'] })).toEqual(['heard']);
  expect(started()).toBe(2);
});

test('a segment with which each worker exits fails, and no other', async () => {
  const { run } = open(2);
  const others = Array.from({ length: 6 }, (_, n) => run({ does: 'end', pieces: [`${n}`] }));
  expect(await reasonOf(run({ does: 'exit' }))).toBe('engine_error');
  expect((await Promise.all(others)).flat()).toEqual(['0', '1', '2', '3', '4', '5']);
  expect(await run({ does: 'end', pieces: ['after'] })).toEqual(['after']);
});

test('a worker that exits after its segment was heard fails it: nothing is spoken twice', async () => {
  const { work, started } = open(1);
  const heard: string[] = [];
  const reading = (async () => {
    for await (const piece of work({ does: 'exit', pieces: ['once'] }, new AbortController().signal)) heard.push(piece);
  })();
  expect(await reasonOf(reading)).toBe('engine_error');
  expect(heard).toEqual(['once']);
  expect(started()).toBe(1);
});

test('a segment that fails is not spoken again, and its worker takes the next', async () => {
  const { run, started } = open(1);
  await expect(run({ does: 'fail' })).rejects.toMatchObject({
    reason: 'engine_error',
    cause: { message: 'the task failed' },
  });
  expect(await run({ does: 'end', pieces: ['next'] })).toEqual(['next']);
  expect(started()).toBe(1);
});

test('a worker that hangs times out and is stopped, and the next segment gets a new worker', async () => {
  const { run, started } = open(1, { firstSoundMsMax: 4_000 });
  await run({ does: 'end' });
  expect(await reasonOf(run({ does: 'hang' }))).toBe('engine_timeout');
  expect(await run({ does: 'end', pieces: ['next'] })).toEqual(['next']);
  expect(started()).toBe(2);
});

test('the time that a segment may take does not run while it waits', async () => {
  const { run } = open(1, { stopMsMax: 20_000, firstSoundMsMax: 2_000 });
  const first = run({ does: 'listen' }, { signal: AbortSignal.timeout(1_300) });
  const second = run({ does: 'listen' }, { signal: AbortSignal.timeout(2_600) });
  const third = run({ does: 'end', pieces: ['done'] });
  await expect(first).rejects.toMatchObject({ name: 'TimeoutError' });
  await expect(second).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(await third).toEqual(['done']);
});

test('workers that do not start make the engine unavailable, again and again, and nothing spins', async () => {
  const starts: FaultyStart[] = Array(20).fill({ does: 'exit' });
  const { run, started } = open(2, { starts });
  expect(await reasonOf(run({ does: 'end' }))).toBe('engine_unavailable');
  expect(await reasonOf(run({ does: 'end' }))).toBe('engine_unavailable');
  expect(started()).toBeLessThan(10);
});
