// Pipes with a name (FIFOs), opened so that an interrupt ends the wait for the other end. A plain open, or a read,
// waits for it in a thread that nothing calls back and that the program cannot end without.
import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How often it is looked whether somebody reads yet. */
const readerWaitMs = 50;

/** What is written into the pipe, from the first writer to the last. */
export const openFifoToRead = (path: string): Socket =>
  new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), writable: false });

/** Waits for somebody to read. */
export async function openFifoToWrite(path: string, signal: AbortSignal): Promise<Socket> {
  for (;;) {
    try {
      return new Socket({ fd: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK), readable: false });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
      await sleep(readerWaitMs, undefined, { signal });
    }
  }
}
