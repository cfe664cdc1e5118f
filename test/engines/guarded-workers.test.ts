// The pool of threads under real faults: threads that throw, exit, hang, never start, or do not listen.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { ThreadPool, type ThreadPoolOptions } from '../../src/engines/flite/thread-pool.ts';
import { counts, type FaultyTask, lingerMs } from './faulty-thread.ts';
import { guardWork } from './guarded-work.ts';

const thread = new URL('./faulty-thread.ts', import.meta.url);
let pool: ThreadPool<FaultyTask, string>;
let work: ReturnType<typeof guardWork<FaultyTask, string>>;
let shared: Int32Array;

const open = (threadsMax: number, options: Partial<ThreadPoolOptions> = {}, firstSoundMsMax = 30_000) => {
  shared = new Int32Array(new SharedArrayBuffer(8));
  pool = new ThreadPool({ file: thread, data: () => Promise.resolve(shared), threadsMax, ...options });
  const run = (task: FaultyTask, signal: AbortSignal) => pool.run(task, signal);
  work = guardWork({ run, capabilities: { segmentsSpokenMax: threadsMax, firstSoundMsMax } });
};
const run = (task: FaultyTask, { urgent = false, signal = new AbortController().signal } = {}) =>
  Array.fromAsync(work(task, signal, urgent));
const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error) => error.reason,
  );
const isStill = async () => {
  for (let before = -1; before !== shared[counts.turns]; ) {
    before = shared[counts.turns]!;
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
};

afterEach(() => pool.close());

test('a job yields its pieces in order, and jobs are done in the order they came, urgent ones first', async () => {
  open(1);
  const ended: string[] = [];
  const before = run({ does: 'end' });
  const say = (name: string, urgent: boolean) =>
    run({ does: 'end', pieces: [name, name] }, { urgent }).then((pieces) => ended.push(pieces.join()));
  await Promise.all([say('a', false), say('b', false), say('c', true), say('d', true), say('e', false), before]);
  expect(ended).toEqual(['c,c', 'd,d', 'a,a', 'b,b', 'e,e']);
});

test('nothing is loaded before the first job, and what cannot be loaded fails it, as something that may succeed later', async () => {
  let loads = 0;
  const data = () => {
    loads++;
    return Promise.reject(new Error('the program is damaged'));
  };
  open(1, { data });
  expect(loads).toBe(0);
  await expect(run({ does: 'end' })).rejects.toMatchObject({
    reason: 'engine_unavailable',
    facts: { retryAfterSeconds: 0 },
    cause: { message: 'the program is damaged' },
  });
  const before = loads;
  await expect(run({ does: 'end' })).rejects.toMatchObject({ reason: 'engine_unavailable' });
  expect(loads).toBeGreaterThan(before);
});

test('there are no more threads than allowed, and no more than needed', async () => {
  open(3);
  const say = () => run({ does: 'end', pieces: ['{thread}'] });
  const alone = [await say(), await say(), await say()];
  expect(new Set(alone.flat()).size).toBe(1);
  const together = await Promise.all(Array.from({ length: 30 }, say));
  expect(new Set(together.flat()).size).toBeLessThanOrEqual(3);
});

test('jobs in the background have a thread of their own, which lives on when a job is aborted', async () => {
  open(2);
  const leaving = new AbortController();
  const inBackground = (task: FaultyTask, signal = new AbortController().signal) =>
    pool.run(task, signal, { isBackground: true });
  const [first] = await run({ does: 'end', pieces: ['{thread}'] });
  const aborted = inBackground({ does: 'linger', pieces: ['{thread}'] }, leaving.signal);
  const { value: second } = await aborted.next();
  expect(second).not.toBe(first);
  expect(await run({ does: 'end', pieces: ['{thread}'] })).toEqual([first]);
  leaving.abort(new Error('something else goes before it'));
  await expect(aborted.next()).rejects.toThrow('goes before it');
  expect(await run({ does: 'end', pieces: ['{thread}'] })).toEqual([first]);
  expect(await Array.fromAsync(inBackground({ does: 'end', pieces: ['{thread}'] }))).toEqual([second]);
});

test('a thread that has stopped lives on, however late that is read', async () => {
  const [blockedFromMs, lateMs, blockedToMs] = [20, lingerMs + 50, lingerMs + 150];
  open(1, { stopMsMax: lateMs });
  const leaving = new AbortController();
  const left = pool.run({ does: 'linger', pieces: ['{thread}'] }, leaving.signal);
  const { value: first } = await left.next();
  const sinceMs = performance.now();
  leaving.abort(new Error('nobody listens'));
  const block = () => {
    while (performance.now() < sinceMs + blockedToMs);
  };
  // After an immediate, timers come before what threads reply.
  setTimeout(() => setImmediate(block), blockedFromMs);
  await expect(left.next()).rejects.toThrow('nobody listens');
  expect(await run({ does: 'end', pieces: ['{thread}'] })).toEqual([first]);
});

test('a thread that dies before it was heard is replaced, and its job done by another', async () => {
  open(1);
  expect(await run({ does: 'exit', times: 1 })).toEqual([]);
  expect(shared[counts.begun]).toBe(2);
});

test('threads that die each time fail their job, and no other', async () => {
  open(2);
  const others = Array.from({ length: 6 }, (_, n) => run({ does: 'end', pieces: [`${n}`] }));
  expect(await reasonOf(run({ does: 'exit' }))).toBe('engine_error');
  expect((await Promise.all(others)).flat()).toEqual(['0', '1', '2', '3', '4', '5']);
  expect(await run({ does: 'end', pieces: ['after'] })).toEqual(['after']);
});

test('a thread that throws between jobs is replaced', async () => {
  open(1);
  const [before] = await run({ does: 'throw', pieces: ['{thread}'] });
  await expect.poll(() => run({ does: 'end', pieces: ['{thread}'] })).not.toEqual([before]);
});

test('a thread that dies after its job was heard fails it: nothing is said twice', async () => {
  open(1);
  const heard: string[] = [];
  const pieces = work({ does: 'exit', pieces: ['once'] }, new AbortController().signal);
  const reading = (async () => {
    for await (const piece of pieces) heard.push(piece);
  })();
  expect(await reasonOf(reading)).toBe('engine_error');
  expect(heard.length).toBeLessThanOrEqual(1);
  expect(shared[counts.begun]).toBe(1);
});

test('a job that fails is not tried again, and its thread goes on', async () => {
  open(1);
  const [before] = await run({ does: 'end', pieces: ['{thread}'] });
  await expect(run({ does: 'fail' })).rejects.toMatchObject({
    reason: 'engine_error',
    cause: { message: 'a job failed' },
  });
  expect(shared[counts.begun]).toBe(2);
  expect(await run({ does: 'end', pieces: ['{thread}'] })).toEqual([before]);
});

test('a thread that hangs is a timeout and is ended, and the next job gets another', async () => {
  open(2, {}, 4_000);
  const others = [run({ does: 'end', pieces: ['a'] }), run({ does: 'end', pieces: ['b'] })];
  expect(await reasonOf(run({ does: 'hang' }))).toBe('engine_timeout');
  expect(await Promise.all(others)).toEqual([['a'], ['b']]);
  expect(await run({ does: 'end', pieces: ['next'] })).toEqual(['next']);
  await isStill();
});

test('the time that a job may take does not run while it waits', async () => {
  open(1, { stopMsMax: 20_000 }, 2_000);
  const first = run({ does: 'listen' }, { signal: AbortSignal.timeout(1_300) });
  const second = run({ does: 'listen' }, { signal: AbortSignal.timeout(2_600) });
  const third = run({ does: 'end', pieces: ['done'] });
  await expect(first).rejects.toMatchObject({ name: 'TimeoutError' });
  await expect(second).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(await third).toEqual(['done']);
});

test('a queued job that is aborted is never begun', async () => {
  open(1);
  const first = new AbortController();
  const second = new AbortController();
  const running = run({ does: 'listen', pieces: [] }, { signal: first.signal });
  const waiting = run({ does: 'end' }, { signal: second.signal });
  const last = run({ does: 'end', pieces: ['last'] });
  second.abort('left');
  await expect(waiting).rejects.toBe('left');
  first.abort('left too');
  await expect(running).rejects.toBe('left too');
  expect(await last).toEqual(['last']);
  expect(shared[counts.begun]).toBeLessThanOrEqual(2);
});

test('a job at work that listens stops when aborted, and its thread lives on', async () => {
  open(1, { stopMsMax: 20_000 });
  const [before] = await run({ does: 'end', pieces: ['{thread}'] });
  const abort = new AbortController();
  const pieces = work({ does: 'listen', pieces: ['a'] }, abort.signal);
  expect(await pieces.next()).toEqual({ value: 'a', done: false });
  abort.abort('enough');
  await expect(pieces.next()).rejects.toBe('enough');
  await isStill();
  expect(await run({ does: 'end', pieces: ['{thread}'] })).toEqual([before]);
});

test('a job at work that does not listen is ended with its thread, and another takes its place', async () => {
  open(1);
  const abort = new AbortController();
  const pieces = work({ does: 'hang', pieces: ['{thread}'] }, abort.signal);
  const { value: before } = await pieces.next();
  abort.abort('enough');
  await expect(pieces.next()).rejects.toBe('enough');
  await isStill();
  const [after] = await run({ does: 'end', pieces: ['{thread}'] });
  expect(after).not.toBe(before);
});

test('a reader who leaves ends the job', async () => {
  open(1);
  const task: FaultyTask = { does: 'hang', pieces: ['a'] };
  for await (const _ of work(task, new AbortController().signal)) break;
  await isStill();
  expect(await run({ does: 'end', pieces: ['next'] })).toEqual(['next']);
});

test('an aborted signal begins nothing', async () => {
  open(1);
  await expect(run({ does: 'end' }, { signal: AbortSignal.abort('no') })).rejects.toBe('no');
  expect(shared[counts.begun]).toBe(0);
});

test('threads that cannot start make the pool unavailable, again and again, and nothing spins', async () => {
  open(2, { file: new URL('./no-such-thread.ts', import.meta.url) });
  expect(await reasonOf(run({ does: 'end' }))).toBe('engine_unavailable');
  expect(await reasonOf(run({ does: 'end' }))).toBe('engine_unavailable');
});

test('closing fails what is under way or waits, and what comes after', async () => {
  open(1);
  const running = [run({ does: 'hang' }), run({ does: 'end' })].map(reasonOf);
  await pool.close();
  expect(await Promise.all(running)).toEqual(['engine_unavailable', 'engine_unavailable']);
  expect(await reasonOf(run({ does: 'end' }))).toBe('engine_unavailable');
  await isStill();
});

test('jobs and closing keep the process alive, and idle threads do not', async () => {
  const poolFile = new URL('../../src/engines/flite/thread-pool.ts', import.meta.url);
  const script = `(async () => {
    const { ThreadPool } = await import(${JSON.stringify(poolFile.href)});
    const data = () => Promise.resolve(new Int32Array(new SharedArrayBuffer(8)));
    const pool = new ThreadPool({ file: new URL(${JSON.stringify(thread.href)}), data, threadsMax: 1 });
    const task = { does: 'end', pieces: ['spoken'] };
    for await (const piece of pool.run(task, new AbortController().signal)) console.log(piece);
    if (process.argv[1] === 'close') await pool.close().then(() => console.log('closed'));
  })()`;
  const output = async (...args: string[]) =>
    (await promisify(execFile)(process.execPath, ['--eval', script, ...args], { timeout: 30_000 })).stdout;
  expect(await Promise.all([output(), output('close')])).toEqual(['spoken\n', 'spoken\nclosed\n']);
});
