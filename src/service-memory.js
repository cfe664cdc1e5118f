// What V8 and the C library of a service are given, as plain JavaScript: lean-memory.js gives it to `sonant serve`, and
// bench/run.ts to the services that benches start.

/** In MiB, of which V8 takes two. In less, pieces of sound are taken for old before they are sent, and are freed late. */
export const newSpaceFlag = '--max-semi-space-size=16';

/**
 * In percent of the room between what the last collection has left and the present limit of the heap. By itself, V8 begins
 * to mark all objects as soon as less room is left than the space for new objects has. After a pause, when it has lowered
 * the limit, that is always so: it marks again and again, which took 40 % of the CPU.
 */
export const markingFlag = '--incremental-marking-soft-trigger=50';

/**
 * In bytes. What is as large or larger is mapped, and given back when it is freed; glibc raises that to 32 MiB by itself. To map
 * takes time: a second of sound, 96 000 bytes at most, stays below. Of what is freed at the end of an arena, the second is kept.
 */
export const serviceEnvironment = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '524288' };
