// What is wrong with a model, told to the operator: in which file, and what to do about it. Faults are gathered, so that
// all are told at once.

/** What is wrong with one file; the message goes on from the file's name: "is damaged". */
export class ModelFault extends Error {}

/** Gathers what is wrong with a model. */
export interface ModelFaults {
  all: readonly string[];
  add(file: string, fault: string): void;
  /** What `read` answers; undefined, and the fault gathered, where there is one. */
  catch<T>(file: string, read: () => Promise<T>): Promise<T | undefined>;
}

export function createModelFaults(): ModelFaults {
  const all: string[] = [];
  const add = (file: string, fault: string): void => {
    const told = `${file} ${fault}`;
    if (!all.includes(told)) all.push(told);
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
