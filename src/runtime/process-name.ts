// Names this process in data that processes share, and checks whether the process with such a name has ended. This is known
// only of processes of this machine since its last start, in the same container. Cloned machines have equal host names, so
// the name includes the id of the machine's start.
//     host|0ea67c1e-...|pid:[4026531836]|4711|run_01JD...
//     host, id of the start of the machine (Linux), namespace of process ids (Linux), process id, id of the run
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { createId } from './id.ts';

/** Returns "" if the file cannot be read. */
function readIfThere(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return '';
  }
}

const bootId = readIfThere(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'));
const namespace = readIfThere(() => readlinkSync('/proc/self/ns/pid'));
const machine = `${hostname()}|${bootId}|${namespace}`;
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
    // EPERM: the process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
