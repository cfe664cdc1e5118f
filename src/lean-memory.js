// Sets how commands that run for long use memory. They begin again as the same process, with what only a new program can
// be given: a C library that returns freed memory to the system, and V8's space for new objects kept small. Both grow with
// the largest load there was, otherwise, and stay so. And V8 looks for old garbage only when some can have gathered.
// Imported before all that is large, as plain JavaScript. What the operator has set wins.
import { setFlagsFromString } from 'node:v8';

const longCommands = ['serve', 'book'];
/** In MiB, of which V8 takes two. */
const newSpaceFlag = '--max-semi-space-size=8';
/**
 * In percent of the room between what was left by the last collection and the limit of the heap. By itself, V8 begins to
 * mark all objects as soon as less room is left than the space for new objects has. After a pause, when it has lowered the
 * limit, that is always so: it marks again and again, which took 40 % of the CPU.
 */
const markingFlag = '--incremental-marking-soft-trigger=50';
/** What V8 is given for a service, for whoever starts one in another way. */
export const serviceFlags = [newSpaceFlag, markingFlag];
/**
 * In bytes. What is as large or larger is mapped, and given back when it is freed; glibc raises that to 32 MiB by itself. To map
 * takes time: a second of sound, 96 000 bytes at most, stays below. Of what is freed at the end of an arena, the second is kept.
 */
export const serviceEnvironment = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '524288' };

const { argv, env, execArgv, execPath, platform } = process;
const isLong = longCommands.includes(argv[2]);
if (isLong && !execArgv.some((each) => /^--incremental[-_]marking[-_]soft/.test(each))) setFlagsFromString(markingFlag);
// Other C libraries than glibc read none of it. Whoever has set one of them decides about all.
const isSet =
  Object.keys(serviceEnvironment).some((name) => name in env) || /semi[-_]space/.test(env.NODE_OPTIONS ?? '');
// A parent that sends messages would lose the channel to it.
const hasChannel = process.channel !== undefined;
if (platform === 'linux' && isLong && !isSet && !hasChannel) {
  try {
    process.execve?.(execPath, [execPath, newSpaceFlag, ...execArgv, ...argv.slice(1)], {
      ...env,
      ...serviceEnvironment,
    });
  } catch {
    // Node's permission model may forbid it: then it takes more memory.
  }
}
