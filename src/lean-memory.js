// Sets how commands that run for long use memory. On Linux they begin again as the same process, with what only a new program
// can be given: a C library that returns freed memory to the system, and V8's space for new objects kept small. Both grow
// with the largest load there was, otherwise, and stay so. And V8 looks for old garbage only when some can have gathered.
// Imported before all that is large, as plain JavaScript. What the operator has set wins.
import { setFlagsFromString } from 'node:v8';
import { markingFlag, newSpaceFlag, serviceEnvironment } from './service-memory.js';

const longCommands = ['serve', 'book'];
/** Compiled code is kept with a hash of V8's flags, and rejected under others: the start has loaded its code by then. */
const markingSetAfterMs = 10_000;

const { argv, env, execArgv, execPath, platform } = process;
const isLong = longCommands.includes(argv[2]);
if (isLong && !execArgv.some((each) => /^--incremental[-_]marking[-_]soft/.test(each)))
  setTimeout(() => setFlagsFromString(markingFlag), markingSetAfterMs).unref();

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
