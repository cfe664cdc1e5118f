// Tests the guarantees of the host, over threads, forked processes and processes on pipes that finish, fail, exit,
// hang, do not start or do not stop.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Host, type HostOptions, type WorkerLink, type WorkerStart } from '../../../src/platform/runtime/host.ts';
import { pipeLink, processLink, threadLink } from '../../../src/platform/runtime/worker-links.ts';
import { isAlive } from '../../engines/is-alive.ts';
import { newFolder } from '../../new-folder.ts';
import { type FaultyStart, type FaultyTask, floodChars, floodPieces, lingerMs } from './faulty-work.ts';
import { lineCodec } from './line-codec.ts';

type Link = WorkerLink<FaultyTask, string>;
type OpenLink = (given: FaultyStart, isBackground: boolean) => Link;

const child = new URL('./faulty-child.ts', import.meta.url);
const program = new URL('./faulty-program.ts', import.meta.url);
const { PATH, NODE_COMPILE_CACHE } = process.env;
const options = { name: 'the worker', env: { PATH, NODE_COMPILE_CACHE } };
const command = process.execPath;

const kinds: Record<string, OpenLink> = {
  thread: (given, isBackground) => threadLink({ file: child, data: Promise.resolve(given), isBackground }),
  process: (data, isBackground) => processLink({ ...options, file: child, data, isBackground }),
  'process on pipes': (given, isBackground) => {
    const args = [program.pathname, JSON.stringify(given)];
    return pipeLink({ ...options, command, args, codec: lineCodec, isBackground });
  },
};

const never = new AbortController().signal;

describe.each(Object.entries(kinds))('a %s', (kind, openLink) => {
  function open(more: Partial<HostOptions<FaultyTask, string>> & { given?: FaultyStart } = {}) {
    const { given = {}, ...limits } = more;
    const links: Link[] = [];
    const host = new Host<FaultyTask, string>({
      open({ isBackground }: WorkerStart) {
        const link = openLink(given, isBackground);
        links.push(link);
        return link;
      },
      workersMax: 1,
      startMsMax: 30_000,
      stopMsMax: 20_000,
      ...limits,
    });
    onTestFinished(() => host.close());
    const run = (task: FaultyTask, signal = never, at?: Partial<WorkerStart>) =>
      Array.fromAsync(host.run(task, signal, at));
    const worker = async (at?: Partial<WorkerStart>) =>
      (await run({ does: 'end', pieces: ['{worker}'] }, never, at))[0]!;
    return { host, links, run, worker };
  }

  test('yields the pieces of each task in order; runs get workers in the order they came', async () => {
    const { run, links } = open();
    const ended: string[] = [];
    const say = (name: string) =>
      run({ does: 'end', pieces: [name, name] }).then((pieces) => ended.push(pieces.join()));
    await Promise.all(['a', 'b', 'c', 'd'].map(say));
    expect(ended).toEqual(['a,a', 'b,b', 'c,c', 'd,d']);
    expect(links.length).toBe(1);
  });

  test('is not started before it is needed, nor more often than allowed', async () => {
    const { links, worker } = open({ workersMax: 2 });
    expect(links.length).toBe(0);
    const alone = [await worker(), await worker(), await worker()];
    expect(new Set(alone).size).toBe(1);
    const together = await Promise.all(Array.from({ length: 12 }, () => worker()));
    expect(new Set(together).size).toBe(2);
    expect(links.length).toBe(2);
  });

  test('runs background tasks apart from others, and has longer to stop then', async () => {
    const { host, worker } = open({ stopMsMax: 1, backgroundStopMsMax: 20_000 });
    const background = { isBackground: true };
    const leaving = new AbortController();
    const first = await worker();
    const aborted = host.run({ does: 'linger', pieces: ['{worker}'] }, leaving.signal, background);
    const { value: second } = await aborted.next();
    expect(second).not.toBe(first);
    expect(await worker()).toBe(first);
    leaving.abort(new Error('something else goes first'));
    await expect(aborted.next()).rejects.toThrow('goes first');
    expect(await worker(background)).toBe(second);
  });

  test('that exits fails its run with the reason, and another one takes the next', async () => {
    const { host, run, worker } = open({ workersMax: 2 });
    const other = run({ does: 'end', pieces: ['other'] });
    const exiting = host.run({ does: 'exit', pieces: ['{worker}'] }, never);
    const { value: first } = await exiting.next();
    await expect(exiting.next()).rejects.toMatchObject({
      reason: 'engine_error',
      facts: { retryAfterSeconds: 0 },
      cause: { message: kind === 'thread' ? 'the thread exited' : 'the worker ended with 3: ' },
    });
    expect(await other).toEqual(['other']);
    expect(await worker()).not.toBe(first);
  });

  test('that is killed fails its run, and another one takes the next', async () => {
    const { host, links, worker } = open();
    const killed = host.run({ does: 'listen', pieces: ['{worker}'] }, never);
    const { value: first } = await killed.next();
    links[0]!.kill();
    await expect(killed.next()).rejects.toMatchObject({ reason: 'engine_error', facts: { retryAfterSeconds: 0 } });
    expect(await worker()).not.toBe(first);
  });

  test('that throws between two tasks is replaced', async () => {
    const { run, worker } = open();
    const [before] = await run({ does: 'throw', pieces: ['{worker}'] });
    await expect.poll(() => worker().catch(() => before)).not.toBe(before);
  });

  test('whose task fails is not to blame, and takes the next', async () => {
    const { run, worker } = open();
    const before = await worker();
    await expect(run({ does: 'fail' })).rejects.toMatchObject({
      reason: 'engine_error',
      facts: {},
      cause: { message: 'the task failed' },
    });
    expect(await worker()).toBe(before);
  });

  test.each(['exit', 'throw'] as const)('that does not start (%s) is engine_unavailable each time', async (does) => {
    const { host, run, links } = open({ given: { does } });
    const message = does === 'exit' ? /exited|ended with 3/ : /the data is damaged/;
    const unavailable = {
      reason: 'engine_unavailable',
      facts: { retryAfterSeconds: 0 },
      cause: { message: expect.stringMatching(message) },
    };
    await expect(run({ does: 'end' })).rejects.toMatchObject(unavailable);
    await expect(run({ does: 'end' })).rejects.toMatchObject(unavailable);
    await expect(host.open()).rejects.toMatchObject(unavailable);
    expect(links.length).toBe(3);
  });

  test('that does not start leaves its run to a worker that is ready', async () => {
    const given: FaultyStart = {};
    const { host, links, run, worker } = open({ given, workersMax: 2 });
    const leaving = new AbortController();
    const running = host.run({ does: 'listen', pieces: ['{worker}'] }, leaving.signal);
    const { value: first } = await running.next();
    given.does = 'exit';
    const returned = run({ does: 'end', pieces: ['{worker}'] });
    await expect.poll(() => links[1]?.isGone).toBe(true);
    await expect.poll(() => host.workers.length).toBe(1);
    delete given.does;
    leaving.abort('left');
    await expect(running.next()).rejects.toBe('left');
    expect(await returned).toEqual([first]);
    expect(await worker()).toBe(first);
    expect(links.length).toBe(2);
  });

  test('that becomes ready after its run was aborted takes a run that was returned', async () => {
    const given: FaultyStart = {};
    const { host, links, run } = open({ given, workersMax: 3 });
    const running = host.run({ does: 'listen', pieces: ['{worker}'] }, never);
    const { value: first } = await running.next();
    const left = new AbortController();
    const starting = run({ does: 'end' }, left.signal);
    await expect.poll(() => links.length, { interval: 1 }).toBe(2);
    given.does = 'exit';
    const returned = run({ does: 'end', pieces: ['{worker}'] });
    left.abort('left');
    await expect(starting).rejects.toBe('left');
    expect(await returned).not.toEqual([first]);
    expect(links.length).toBe(3);
    await running.return(undefined);
  });

  test('that takes too long to start is killed', async () => {
    const { run } = open({ given: { does: 'hang' }, startMsMax: 300 });
    await expect(run({ does: 'end' })).rejects.toMatchObject({ reason: 'engine_unavailable' });
  });

  test('whose task is aborted stops, and takes the next', async () => {
    const { host, worker } = open();
    const before = await worker();
    const leaving = new AbortController();
    const pieces = host.run({ does: 'listen', pieces: ['a'] }, leaving.signal);
    expect(await pieces.next()).toEqual({ value: 'a', done: false });
    leaving.abort('enough');
    await expect(pieces.next()).rejects.toBe('enough');
    expect(await worker()).toBe(before);
  });

  test('whose reader leaves stops', async () => {
    const { host, worker } = open();
    const before = await worker();
    for await (const piece of host.run({ does: 'listen', pieces: ['a'] }, never)) {
      expect(piece).toBe('a');
      break;
    }
    expect(await worker()).toBe(before);
  });

  test('that does not stop is killed before the run ends', async () => {
    const { host, links, worker } = open({ stopMsMax: 20 });
    const leaving = new AbortController();
    const pieces = host.run({ does: 'hang', pieces: ['{worker}'] }, leaving.signal);
    const { value: before } = await pieces.next();
    leaving.abort('enough');
    await expect(pieces.next()).rejects.toBe('enough');
    expect(links[0]!.isGone).toBe(true);
    if (links[0]!.pid) expect(isAlive(links[0]!.pid)).toBe(false);
    expect(await worker()).not.toBe(before);
  });

  test('that has stopped takes the next task, however late that is read', async () => {
    const lateMs = lingerMs + 50;
    const { host, worker } = open({ stopMsMax: lateMs });
    const folder = newFolder();
    const repliedFile = join(folder, 'replied');
    const leaving = new AbortController();
    const left = host.run({ does: 'linger', pieces: ['{worker}'], repliedFile }, leaving.signal);
    const { value: first } = await left.next();
    const sinceMs = performance.now();
    leaving.abort(new Error('nobody listens'));
    const hasReplied = () => existsSync(repliedFile) || performance.now() > sinceMs + 30_000;
    // After an immediate, timers run before replies of workers.
    setImmediate(() => {
      while (performance.now() < sinceMs + lateMs + 50 || !hasReplied());
    });
    await expect(left.next()).rejects.toThrow('nobody listens');
    expect(await worker()).toBe(first);
  });

  test('that starts for an aborted run is there for the next', async () => {
    const { host, links, worker } = open({ stopMsMax: 0 });
    const leaving = new AbortController();
    const left = host.run({ does: 'hang' }, leaving.signal).next();
    leaving.abort('left');
    await expect(left).rejects.toBe('left');
    expect(host.workers.length).toBe(1);
    await worker();
    expect(links.length).toBe(1);
  });

  test('gets no task of a run that was aborted before it began', async () => {
    const { host, run, links } = open();
    await expect(run({ does: 'end' }, AbortSignal.abort('no'))).rejects.toBe('no');
    expect(links.length).toBe(0);
    const [first, second] = [new AbortController(), new AbortController()];
    const running = host.run({ does: 'listen', pieces: ['a'] }, first.signal);
    await running.next();
    const waiting = run({ does: 'exit' }, second.signal);
    const last = run({ does: 'end', pieces: ['last'] });
    second.abort('left');
    await expect(waiting).rejects.toBe('left');
    first.abort('left too');
    await expect(running.next()).rejects.toBe('left too');
    expect(await last).toEqual(['last']);
    expect(links.length).toBe(1);
  });

  test('yields everything to a slow reader', async () => {
    const { host } = open();
    let size = 0;
    for await (const piece of host.run({ does: 'flood' }, never)) {
      if (size < 10 * floodChars) await new Promise((resolve) => setTimeout(resolve, 10));
      size += piece.length;
    }
    expect(size).toBe(floodPieces * floodChars);
  });

  test('ends after a time without tasks', async () => {
    const { host, links, worker } = open({ idleMsMax: 20 });
    await host.open();
    await expect.poll(() => links[0]!.isGone).toBe(true);
    await worker();
    await expect.poll(() => links[1]!.isGone).toBe(true);
    expect(links.length).toBe(2);
  });

  test('belongs to a group, of which the last worker ends after its run', async () => {
    const { host, links, worker } = open();
    const one = await worker({ group: 'one' });
    expect(await worker({ group: 'two' })).not.toBe(one);
    expect(await worker({ group: 'one' })).toBe(one);
    const leaving = new AbortController();
    const running = host.run({ does: 'listen', pieces: ['a'] }, leaving.signal, { group: 'one' });
    await running.next();
    host.end('one');
    expect(host.workers.map(({ group }) => group)).toEqual(['two']);
    expect(links[0]!.isGone).toBe(false);
    leaving.abort('left');
    await expect(running.next()).rejects.toBe('left');
    await expect.poll(() => links[0]!.isGone).toBe(true);
    expect(await worker({ group: 'one' })).not.toBe(one);
  });

  test('is one more only where the group may grow, and where others that are idle made room', async () => {
    let mayGrow = false;
    const { host, worker } = open({
      workersMax: 5,
      mayGrow: () => mayGrow,
      makeRoom: (idle) => idle.filter(({ group }) => group === 'old'),
    });
    await worker({ group: 'old' });
    expect(new Set(await Promise.all([worker(), worker(), worker()])).size).toBe(1);
    expect(host.workers.map(({ group }) => group)).toEqual(['']);
    mayGrow = true;
    expect(new Set(await Promise.all([worker(), worker(), worker()])).size).toBe(3);
  });

  test('is closed with the host, whose runs fail, those that wait and those that come later', async () => {
    const { host, run, links } = open();
    const running = host.run({ does: 'hang', pieces: ['a'] }, never);
    await running.next();
    const failures = [running.next(), run({ does: 'end' })].map((each) => each.catch(({ reason }) => reason));
    await host.close();
    expect(await Promise.all(failures)).toEqual(['engine_unavailable', 'engine_unavailable']);
    await expect(run({ does: 'end' })).rejects.toMatchObject({ reason: 'engine_unavailable' });
    await expect(host.open()).rejects.toMatchObject({ reason: 'engine_unavailable' });
    expect(links.map(({ isGone }) => isGone)).toEqual([true]);
    if (links[0]!.pid) expect(isAlive(links[0]!.pid)).toBe(false);
  });

  test('keeps this process alive while it has a task or is closed, and not while it is idle', async () => {
    const [hostFile, links] = ['host', 'worker-links'].map((name) => JSON.stringify(fileOf(name)));
    const script = `(async () => {
      const { Host } = await import(${hostFile});
      const { threadLink, processLink, pipeLink } = await import(${links});
      const { lineCodec } = await import(${JSON.stringify(new URL('./line-codec.ts', import.meta.url).href)});
      const [child, program] = ${JSON.stringify([child.href, program.href])}.map((each) => new URL(each));
      const [options, command] = [{ name: 'the worker', env: process.env }, process.execPath];
      const openLink = {
        thread: () => threadLink({ file: child, data: Promise.resolve({}), isBackground: false }),
        process: () => processLink({ ...options, file: child, data: {} }),
        'process on pipes': () => pipeLink({ ...options, command, args: [program.pathname, '{}'], codec: lineCodec }),
      };
      const open = openLink[${JSON.stringify(kind)}];
      const host = new Host({ open, workersMax: 1, startMsMax: 30_000, stopMsMax: 100 });
      if (process.argv[1] === 'open') await host.open();
      const task = { does: 'end', pieces: ['spoken'] };
      for await (const piece of host.run(task, new AbortController().signal)) console.log(piece);
      if (process.argv[1] === 'close') await host.close().then(() => console.log('closed'));
    })()`;
    const output = async (...args: string[]) =>
      (await promisify(execFile)(command, ['--eval', script, ...args], { timeout: 50_000 })).stdout;
    expect(await Promise.all([output(), output('open'), output('close')])).toEqual([
      'spoken\n',
      'spoken\n',
      'spoken\nclosed\n',
    ]);
  });
});

const fileOf = (name: string): string => new URL(`../../../src/platform/runtime/${name}.ts`, import.meta.url).href;

describe('a process on pipes', () => {
  function open() {
    let received = 0;
    const pids: unknown[] = [];
    const codec: typeof lineCodec = {
      ...lineCodec,
      createParser: (onReply) =>
        lineCodec.createParser((reply) => {
          received++;
          onReply(reply);
        }),
    };
    const host = new Host<FaultyTask, string>({
      open() {
        const link = pipeLink({ ...options, command, args: [program.pathname, '{}'], codec });
        pids.push(link.pid);
        return link;
      },
      workersMax: 1,
      startMsMax: 30_000,
      stopMsMax: 20_000,
    });
    onTestFinished(() => host.close());
    return { host, pids, received: () => received };
  }

  test('is blocked while its pieces are not read, and yields the rest later', async () => {
    const { host, received } = open();
    const pieces = host.run({ does: 'flood' }, never);
    let size = (await pieces.next()).value!.toString().length;
    let before: number;
    do {
      before = received();
      await new Promise((resolve) => setTimeout(resolve, 200));
    } while (received() > before);
    expect(received()).toBeLessThan(20);
    for await (const piece of pieces) size += piece.length;
    expect(size).toBe(floodPieces * floodChars);
  });

  test('has facts, and each of its tasks has an end', async () => {
    const { host } = open();
    expect(await host.open()).toBe('a fact');
    const pieces = host.run({ does: 'end', pieces: ['a'] }, never);
    expect(await pieces.next()).toEqual({ value: 'a', done: false });
    expect(await pieces.next()).toEqual({ value: 'task 1', done: true });
  });

  test('that is worn out gets no further task', async () => {
    const { host, pids } = open();
    const run = () => Array.fromAsync(host.run({ does: 'wear' }, never));
    await run();
    await run();
    expect(pids.length).toBe(2);
    await expect.poll(() => pids.filter((pid) => isAlive(pid as number))).toEqual([]);
  });
});

test.each(['process', 'process on pipes'])('a %s ends with its parent', async (kind) => {
  const script = `
    const { processLink, pipeLink } = await import('${fileOf('worker-links')}');
    const { lineCodec } = await import('${new URL('./line-codec.ts', import.meta.url).href}');
    const options = { name: 'the worker', env: process.env };
    const link = '${kind}' === 'process'
      ? processLink({ ...options, file: new URL('${child.href}'), data: {} })
      : pipeLink({ ...options, command: process.execPath, args: ['${program.pathname}', '{}'], codec: lineCodec });
    link.onReply = () => {
      console.log(link.pid);
      process.kill(process.pid, 'SIGKILL');
    };`;
  const { stdout } = await promisify(execFile)(command, ['--input-type=module', '--eval', script]).catch(
    (error) => error,
  );
  expect(stdout).toMatch(/^\d+\n$/);
  await expect.poll(() => isAlive(Number(stdout))).toBe(false);
});

test('a program that is missing ends the run with the reason', async () => {
  const args = { ...options, command: '/nowhere/speak', args: [], codec: lineCodec };
  const host = new Host<FaultyTask, string>({
    open: () => pipeLink(args),
    workersMax: 1,
    startMsMax: 30_000,
    stopMsMax: 20_000,
  });
  onTestFinished(() => host.close());
  await expect(Array.fromAsync(host.run({ does: 'end', pieces: [] }, never))).rejects.toMatchObject({
    reason: 'engine_unavailable',
  });
});
