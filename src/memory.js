// Memory settings of commands that run for long. On Linux, such a command replaces itself (execve) with the same process and these
// settings, which only a new program accepts: otherwise glibc and V8 keep the memory of the largest load so far. Imported first, as
// plain JavaScript; bench/run.ts gives the same settings to the services that it starts. Settings of the operator take precedence.
import { setFlagsFromString } from 'node:v8';

/** In MiB; V8 uses two such spaces. In smaller ones, pieces of audio are promoted to old objects before they are sent. */
export const newSpaceFlag = '--max-semi-space-size=16';

/**
 * When V8 starts marking, as a percentage of the room between the heap after the last collection and its limit. By default V8
 * starts marking when the remaining room is smaller than the space for new objects. After a pause, when V8 has lowered the limit, that
 * is always true: marking again and again took 40 % of the CPU.
 */
export const markingFlag = '--incremental-marking-soft-trigger=50';

/**
 * In bytes. Allocations from the first size on are mapped and returned to the system when freed; glibc itself raises that size to
 * 32 MiB. Mapping takes time, so a second of audio, at most 96 000 bytes, stays below. The second size is the free memory that is
 * kept at the end of an arena.
 */
export const serviceEnvironment = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '524288' };

const longCommands = ['serve', 'book'];
/** Node rejects compiled code that was stored under other V8 flags. By this time, the start has loaded its code. */
const markingSetAfterMs = 10_000;

const { argv, env, execArgv, execPath, platform } = process;
const isLong = longCommands.includes(argv[2]);
if (isLong && !execArgv.some((each) => /^--incremental[-_]marking[-_]soft/.test(each)))
  setTimeout(() => setFlagsFromString(markingFlag), markingSetAfterMs).unref();

// If the operator has set one of them, none is changed. C libraries other than glibc ignore the environment.
const isSet =
  Object.keys(serviceEnvironment).some((name) => name in env) || /semi[-_]space/.test(env.NODE_OPTIONS ?? '');
// A parent that sends messages would lose its channel.
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
