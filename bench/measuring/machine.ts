// Describes the origin of figures: the machine, Node, the commit, and the load by other processes.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface MachineFacts {
  processor: string;
  cores: number;
  memoryGiB: number;
  system: string;
  node: string;
  /** Hash of the commit, followed by a plus if files differ from it. */
  commit: string;
}

export function machineFacts(): MachineFacts {
  const commit = git('rev-parse', '--short', 'HEAD');
  const changed = git('status', '--porcelain') !== '';
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    system: `${process.platform} ${release()} ${process.arch}`,
    node: process.version,
    commit: changed ? `${commit}+` : commit,
  };
}

function git(...args: string[]): string {
  try {
    return execFileSync('git', args, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}

export interface MachineWatch {
  loadAtStart: number;
  /** Share of all cores' time that processes other than this one and its children used. */
  othersShare: number;
  isDisturbed: boolean;
}

const quietShareMax = 0.1;

/** Measures the load on the machine until the returned function is called. */
export function watchMachine(): () => MachineWatch {
  const [loadAtStart = 0] = loadavg();
  const before = { machine: machineMs(), own: ownMs() };
  return () => {
    const { busy, all } = machineMs();
    const others = busy - before.machine.busy - (ownMs() - before.own);
    const othersShare = Math.max(0, others / (all - before.machine.all));
    return { loadAtStart, othersShare, isDisturbed: othersShare > quietShareMax };
  };
}

function machineMs(): { busy: number; all: number } {
  let busy = 0;
  let idle = 0;
  for (const { times } of cpus()) {
    busy += times.user + times.nice + times.sys + times.irq;
    idle += times.idle;
  }
  return { busy, all: busy + idle };
}

setFlagsFromString('--expose-gc');
/** Collects garbage now. */
export const collectGarbage: () => void = runInNewContext('gc');

const ownMs = (): number => ownCpuMs() + childrenCpuMs();

/** CPU time of this process in milliseconds, all threads together. */
export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Length of a tick of /proc: 10 ms on all current Linux systems. */
const tickMs = 10;

/** CPU time in milliseconds of the children that have exited; 0 if there is no /proc. */
export function childrenCpuMs(): number {
  try {
    // The times are fields 16 and 17 of `stat` (proc(5)). Its second field is a name in brackets with any characters.
    const fields = readFileSync('/proc/self/stat', 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[13]) + Number(fields[14])) * tickMs;
  } catch {
    return 0;
  }
}

/** CPU time of other processes, from the nanoseconds of each thread, because the ticks of `stat` are too coarse. */
export const threadsCpuMs = (pids: readonly (number | string)[]): number =>
  pids.reduce<number>((sum, pid) => {
    const ns = tasksOf(pid).map((task) => Number(readFileSync(`${task}/schedstat`, 'latin1').split(' ')[0]));
    return sum + ns.reduce((total, each) => total + each, 0) / 1e6;
  }, 0);

export const childrenOf = (pid: number): string[] =>
  tasksOf(pid)
    .flatMap((task) => readFileSync(`${task}/children`, 'latin1').trim().split(/\s+/))
    .filter((child) => child !== '');

const tasksOf = (pid: number | string): string[] =>
  readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}`);
