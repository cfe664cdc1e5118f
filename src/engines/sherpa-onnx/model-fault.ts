// Faults of a model, reported to the operator: in which file, and what to do about it. Faults are collected, so that all are
// reported at once.
import { reasonOf } from '../../runtime/system-errors.ts';

/** A fault of one file; the message continues the file's name: "is damaged". */
export class ModelFault extends Error {}

export class ModelFaults {
  readonly all: string[] = [];

  add(file: string, fault: string): void {
    const message = `${file} ${fault}`;
    if (!this.all.includes(message)) this.all.push(message);
  }

  /** The result of `read`; undefined, with the fault collected, where it throws one. */
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
