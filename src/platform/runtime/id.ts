// Ids: a prefix, an underscore and a ULID (https://github.com/ulid/spec) in Crockford's base 32. Ids sort by creation
// time. Ids in public URLs have 128 random bits or more.
//
//     aud_01JD3Q8S6V 5W2K9YB4...
//         |          +-- randomness, 5 bits a character: 16 characters (80 bits) by default
//         +-- 10 characters: milliseconds since 1970
import { randomFillSync } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const timeChars = 10;

/** Random characters are generated in bulk, because one system call per id would dominate the cost of an id. */
const randomChars = Buffer.alloc(4096);
let randomCharsUsed = randomChars.length;
/** Time and text of the last id. */
let known = { ms: -1, text: '' };

export function createId(prefix: string, randomBits = 80): string {
  const ms = Date.now();
  if (ms !== known.ms) known = { ms, text: timeText(ms) };
  return `${prefix}_${known.text}${randomText(Math.ceil(randomBits / 5))}`;
}

function timeText(ms: number): string {
  let text = '';
  for (let rest = ms, left = timeChars; left > 0; left--) {
    text = crockford[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function randomText(chars: number): string {
  if (randomCharsUsed + chars > randomChars.length) {
    randomFillSync(randomChars);
    for (let i = 0; i < randomChars.length; i++) randomChars[i] = crockford.charCodeAt(randomChars[i]! & 31);
    randomCharsUsed = 0;
  }
  const from = randomCharsUsed;
  randomCharsUsed += chars;
  return randomChars.toString('latin1', from, randomCharsUsed);
}

// Name of this process in data shared by several processes. Cloned machines have the same host name, so this
// name includes the boot id.
//     host|0ea67c1e-...|pid:[4026531836]|4711|run_01JD...
//     host name, boot id (Linux), process id namespace (Linux), process id, run id

/** Returns the trimmed text, or "" if the file cannot be read. */
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

/**
 * Whether the process is known to have ended. False for a process on another machine, in another container or from
 * another boot, because its state cannot be checked.
 */
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
