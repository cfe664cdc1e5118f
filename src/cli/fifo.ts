// Opens named pipes (FIFOs) so that the wait for the other end can be interrupted. A plain open or read blocks a thread
// of the pool that cannot be cancelled and keeps the process alive.
import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const pollForReaderMs = 50;

/** Reads until the last writer closes the pipe. */
export const openFifoToRead = (path: string): Socket =>
  new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), writable: false });

/** Waits for a reader. */
export async function openFifoToWrite(path: string, signal: AbortSignal): Promise<Socket> {
  for (;;) {
    try {
      return new Socket({ fd: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK), readable: false });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
      await sleep(pollForReaderMs, undefined, { signal });
    }
  }
}
