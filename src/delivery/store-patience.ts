// Lets work that is good to have use the store of clips, while nobody depends on it: work that fails because the store is
// full or away, or that takes too long, is given up. While the store is slow or away, one attempt at a time finds out
// whether it is back, and nobody waits for it.
import { Failure } from '../errors.ts';

const waitMsMaxDefault = 2_000;

export interface StorePatience {
  /** The result; undefined where the store did not give it in time. Rejects with errors that are not of the store. */
  run<Result>(work: () => Promise<Result>): Promise<Result | undefined>;
}

interface StorePatienceOptions {
  waitMsMax?: number;
  /** Takes errors that no caller gets. */
  onFault(fault: unknown): void;
}

const isOfStore = (error: unknown): error is Failure =>
  error instanceof Failure && ['storage_full', 'storage_unavailable'].includes(error.reason);

export function createStorePatience({ waitMsMax = waitMsMaxDefault, onFault }: StorePatienceOptions): StorePatience {
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
      // A full store answers at once.
      if (error.reason === 'storage_unavailable') noteAway(error);
      return undefined;
    } finally {
      running--;
    }
  };

  return {
    async run(work) {
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
