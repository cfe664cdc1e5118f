// The name of this process in what processes share, and whether the bearer of such a name is known to be dead: a process of
// this machine whose id nobody has, or this process has. Nothing is known of other machines, and of other containers.
//     host|pid:[4026531836]|4711|run_01JD...          host, namespace of process ids (Linux), process id, id of the run
import { existsSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { createId } from '../id.ts';

const namespacePath = '/proc/self/ns/pid';
const namespace = existsSync(namespacePath) ? readlinkSync(namespacePath) : '';
const machine = `${hostname()}|${namespace}`;
const run = createId('run');

export const processName = `${machine}|${process.pid}|${run}`;

const namesHere = `${machine}|`;

export function isDead(name: string): boolean {
  if (!name.startsWith(namesHere)) return false;
  const [pid, itsRun] = name.slice(namesHere.length).split('|');
  return Number(pid) === process.pid ? itsRun !== run : !isRunning(Number(pid));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is somebody else's.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
