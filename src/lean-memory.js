// Has commands that run for long begin again as the same process, with what only a new program can be given: a C library
// that returns freed memory to the system, and V8's space for new objects kept small. Both grow with the largest load there
// was, otherwise, and stay so. Imported before all that is large, as plain JavaScript. What the operator has set wins.

const longCommands = ['serve', 'book'];
/** In MiB, of which V8 takes two. In less, pieces of sound are taken for old before they are sent, and are freed late. */
const flag = '--max-semi-space-size=16';
/**
 * In bytes. What is as large or larger is mapped, and given back when it is freed; glibc raises that to 32 MiB by itself. To map
 * takes time: a second of sound, 96 000 bytes at most, stays below. Of what is freed at the end of an arena, the second is kept.
 */
const environment = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '524288' };

const { argv, env, execArgv, execPath, platform } = process;
// Other C libraries than glibc read none of it. Whoever has set one of them decides about all.
const isSet = Object.keys(environment).some((name) => name in env) || /semi[-_]space/.test(env.NODE_OPTIONS ?? '');
// A parent that sends messages would lose the channel to it.
const hasChannel = process.channel !== undefined;
if (platform === 'linux' && longCommands.includes(argv[2]) && !isSet && !hasChannel) {
  try {
    process.execve?.(execPath, [execPath, flag, ...execArgv, ...argv.slice(1)], { ...env, ...environment });
  } catch {
    // Node's permission model may forbid it: then it takes more memory.
  }
}
