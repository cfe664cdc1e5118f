// Inspects files in a worker thread, one at a time and with a time limit, so that no file blocks the event loop. Accounts
// take turns.
import { Failure } from '../../platform/errors.ts';
import { Host } from '../../platform/runtime/host.ts';
import { SlotQueue } from '../../platform/runtime/slot-queue.ts';
import { threadLink } from '../../platform/runtime/worker-links.ts';
import type { InspectingTask, Inspection } from './inspecting-thread.ts';

/** Each waiting file takes up to 32 MiB of memory. */
const waitingMax = 8;
/** Includes the start of the thread. Inspecting the largest upload takes a fraction of a second. */
const inspectMsMax = 10_000;

const busy = () => new Failure('overloaded', { retryAfterSeconds: 1 });
const slots = new SlotQueue({ slotsMax: 1, waitingMax, refusal: busy });
const thread = {
  file: new URL('./inspecting-thread.ts', import.meta.url),
  data: Promise.resolve(),
  isBackground: false,
};
const host = new Host<InspectingTask, Inspection>({
  open: () => threadLink(thread),
  workersMax: 1,
  startMsMax: inspectMsMax,
  stopMsMax: 0,
  idleMsMax: 60_000,
});

interface Inspected extends Omit<InspectingTask, 'file'> {
  file: Uint8Array;
  /** The account that waits. */
  owner: string;
}

export async function inspectFile({ file, owner, ...rest }: Inspected, signal: AbortSignal): Promise<Inspection> {
  const release = await slots.take({ signal, owner });
  const late = AbortSignal.timeout(inspectMsMax);
  try {
    const shared = new SharedArrayBuffer(file.length);
    new Uint8Array(shared).set(file);
    const pieces = host.run({ file: shared, ...rest }, AbortSignal.any([signal, late]));
    return (await Array.fromAsync(pieces))[0]!;
  } catch (error) {
    if (signal.aborted) throw error;
    throw late.aborted ? busy() : new Failure('internal_error', {}, error);
  } finally {
    release();
  }
}
