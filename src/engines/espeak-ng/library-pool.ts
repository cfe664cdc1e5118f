// The processes of eSpeak NG's library: started when a segment needs one, replaced when one is worn out or gone, and ended
// after a time without segments. The caller sees to it that no more is spoken at once than there may be processes.
import { Failure } from '../../errors.ts';
import type { LibraryFacts } from './library-frames.ts';
import { LibraryProcess, type LibraryProcessOptions } from './library-process.ts';

const idleMsUsual = 600_000;

export interface LibraryPoolOptions extends LibraryProcessOptions {
  idleMsMax?: number;
  /** Called when a process has been started. */
  onStart?(pid: number | undefined): void;
  /** Called when a process did not begin to work. */
  onFault?(): void;
}

interface Idle {
  process: LibraryProcess;
  timer: NodeJS.Timeout;
}

export class LibraryPool {
  readonly #options: LibraryPoolOptions;
  /** Those that wait, the one used last at the end. */
  #idle: Idle[] = [];
  readonly #all = new Set<LibraryProcess>();
  #isClosed = false;

  constructor(options: LibraryPoolOptions) {
    this.#options = options;
  }

  /** Starts a process, which stays; rejects where the library does not work here. */
  async open(): Promise<LibraryFacts> {
    const process = this.#start();
    try {
      const facts = await process.ready;
      this.giveBack(process);
      return facts;
    } catch (error) {
      this.#all.delete(process);
      throw error;
    }
  }

  /** Ends every process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { timer } of this.#idle) clearTimeout(timer);
    this.#idle = [];
    await Promise.all([...this.#all].map((process) => process.kill()));
    this.#all.clear();
  }

  /** A process that is free, to be given back. */
  take(): LibraryProcess {
    if (this.#isClosed) throw new Failure('engine_unavailable');
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      clearTimeout(idle.timer);
      if (idle.process.isUsable) return idle.process;
      this.#end(idle.process);
    }
    return this.#start();
  }

  #start(): LibraryProcess {
    const process = new LibraryProcess(this.#options);
    this.#all.add(process);
    this.#options.onStart?.(process.pid);
    process.ready.catch(() => this.#isClosed || this.#options.onFault?.());
    return process;
  }

  giveBack(process: LibraryProcess): void {
    if (this.#isClosed) return;
    if (!process.isUsable) {
      this.#end(process);
      return;
    }
    const leave = () => {
      this.#idle = this.#idle.filter((idle) => idle.process !== process);
      this.#end(process);
    };
    this.#idle.push({ process, timer: setTimeout(leave, this.#options.idleMsMax ?? idleMsUsual).unref() });
  }

  #end(process: LibraryProcess): void {
    this.#all.delete(process);
    void process.kill();
  }
}
