// Collects faults of a model for the operator, with the file and the remedy, so that all are reported at once.
import { reasonOf } from '../../platform/runtime/system-errors.ts';

/** A fault of one file. The message continues the file's name: "is damaged". */
export class ModelFault extends Error {}

export class ModelFaults {
  readonly all: string[] = [];

  add(file: string, fault: string): void {
    const message = `${file} ${fault}`;
    if (!this.all.includes(message)) this.all.push(message);
  }

  /** Returns the result of `read`; undefined if it throws a fault, which is collected. */
  async catch<T>(file: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (error instanceof ModelFault) this.add(file, error.message);
      else if (code) this.add(file, code === 'ENOENT' ? 'is missing' : `cannot be read: ${reasonOf(error)}`);
      else throw error;
      return undefined;
    }
  }
}
