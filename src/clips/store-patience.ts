// Runs optional work on the clip store. Work that fails because the store is full or unreachable, or that takes too
// long, is abandoned. While the store is slow or unreachable, one attempt at a time probes the store, and no caller
// waits for the attempt.
import { Failure } from '../platform/errors.ts';

const waitMsMaxDefault = 2_000;

export type StorePatience = ReturnType<typeof createStorePatience>;

interface StorePatienceOptions {
  waitMsMax?: number;
  /** Called with errors that no caller receives. */
  onFault(fault: unknown): void;
}

const isOfStore = (error: unknown): error is Failure =>
  error instanceof Failure && ['storage_full', 'storage_unavailable'].includes(error.reason);

export function createStorePatience({ waitMsMax = waitMsMaxDefault, onFault }: StorePatienceOptions) {
  let isAway = false;
  let running = 0;

  const noteAway = (fault: unknown) => {
    if (!isAway) onFault(fault);
    isAway = true;
  };

  const attempt = async <Result>(work: () => Promise<Result>): Promise<Result | undefined> => {
    running++;
    try {
      const result = await work();
      isAway = false;
      return result;
    } catch (error) {
      if (!isOfStore(error)) throw error;
      // A full store answers at once, so only an unreachable store is probed by one attempt at a time.
      if (error.reason === 'storage_unavailable') noteAway(error);
      return undefined;
    } finally {
      running--;
    }
  };

  return {
    /** Returns undefined if the store fails or is too slow. Rejects with errors that do not come from the store. */
    async run<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
      if (isAway && running > 0) return undefined;
      const wasAway = isAway;
      const result = attempt(work);
      if (!wasAway) {
        const first = await within(waitMsMax, result);
        if (first !== slow) return first;
        const cause = new Error(`the audio store took longer than ${waitMsMax} ms`);
        noteAway(new Failure('storage_unavailable', {}, cause));
      }
      result.catch(onFault);
      return undefined;
    },
  };
}

const slow = Symbol('slow');

function within<Result>(waitMsMax: number, work: Promise<Result>): Promise<Result | typeof slow> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(slow), waitMsMax).unref();
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
