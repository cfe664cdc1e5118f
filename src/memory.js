// Memory settings of long-running commands. On Linux, such a command restarts itself with execve, because these
// settings must be set before a program starts. Without them, glibc and V8 would keep the memory that the highest load
// so far needed. bench/run.ts passes the same settings to its services. The operator's settings take precedence.
import { setFlagsFromString } from 'node:v8';

/** Size of a V8 semi-space in MiB. In a smaller space, audio would move to the old generation before it is sent. */
export const newSpaceFlag = '--max-semi-space-size=16';

/**
 * V8 starts marking when the heap has used this percentage of the space between its size after the last collection and
 * its limit. By default, V8 starts when the remaining space is smaller than the new space. After a pause, V8 has
 * lowered the limit so far that marking starts again and again; this took 40 % of the CPU time.
 */
export const markingFlag = '--incremental-marking-soft-trigger=50';

/**
 * Sizes in bytes. glibc maps each allocation of at least the first size, and returns the memory when it is freed. By
 * default, glibc raises the first size to as much as 32 MiB. Mapping takes time, so a second of audio (at most 96000
 * bytes) stays below the first size. The second size is the free memory that glibc keeps at the end of an arena.
 */
export const serviceEnvironment = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '524288' };

const longCommands = ['serve', 'book'];
/** The flag is set only after startup, because Node rejects compiled code that was cached under other V8 flags. */
const markingSetAfterMs = 10_000;

const { argv, env, execArgv, execPath, platform } = process;
const isLong = longCommands.includes(argv[2]);
if (isLong && !execArgv.some((each) => /^--incremental[-_]marking[-_]soft/.test(each)))
  setTimeout(() => setFlagsFromString(markingFlag), markingSetAfterMs).unref();

// If the operator has set one of these settings, Sonant changes none. Only glibc reads the environment variables.
const isSet =
  Object.keys(serviceEnvironment).some((name) => name in env) || /semi[-_]space/.test(env.NODE_OPTIONS ?? '');
// With execve, a parent process that sends messages would lose its channel.
const hasChannel = process.channel !== undefined;
if (platform === 'linux' && isLong && !isSet && !hasChannel) {
  try {
    process.execve?.(execPath, [execPath, newSpaceFlag, ...execArgv, ...argv.slice(1)], {
      ...env,
      ...serviceEnvironment,
    });
  } catch {
    // Node's permission model may forbid execve. The process then uses more memory.
  }
}
