// Faults of a model, reported to the operator: in which file, and what to do about it. Faults are collected, so that all are
// reported at once.

/** A fault of one file; the message continues the file's name: "is damaged". */
export class ModelFault extends Error {}

/** Collects the faults of a model. */
export interface ModelFaults {
  all: readonly string[];
  add(file: string, fault: string): void;
  /** The result of `read`; undefined, with the fault collected, where it throws one. */
  catch<T>(file: string, read: () => Promise<T>): Promise<T | undefined>;
}

export function createModelFaults(): ModelFaults {
  const all: string[] = [];
  const add = (file: string, fault: string): void => {
    const message = `${file} ${fault}`;
    if (!all.includes(message)) all.push(message);
  };
  return {
    all,
    add,
    async catch(file, read) {
      try {
        return await read();
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (error instanceof ModelFault) add(file, error.message);
        else if (code) add(file, code === 'ENOENT' ? 'is missing' : `cannot be read (${code})`);
        else throw error;
        return undefined;
      }
    },
  };
}
