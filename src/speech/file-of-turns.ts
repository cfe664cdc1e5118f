// The file that the turns of a live session form. A turn takes the file while it is spoken, and gives it back when it is
// complete. A turn that was interrupted or has failed keeps it, and the next turn begins another file.
import type { AudioPipeline } from '../audio.ts';

export class FileOfTurns {
  /** Whether the turn being spoken is the last one, so that it ends the file. */
  readonly isLastTurn: () => boolean;
  #pipeline: AudioPipeline | undefined;
  #isClosed = false;

  constructor(isLastTurn: () => boolean) {
    this.isLastTurn = isLastTurn;
  }

  /** Returns the file that earlier turns began, if any. The caller must give it back, or close it. */
  take(): AudioPipeline | undefined {
    const pipeline = this.#pipeline;
    this.#pipeline = undefined;
    return pipeline;
  }

  giveBack(pipeline: AudioPipeline): void {
    if (this.#isClosed) pipeline.close();
    else this.#pipeline = pipeline;
  }

  /** Ends the file. Returns its last bytes. */
  end(): Uint8Array {
    return this.take()?.end() ?? new Uint8Array();
  }

  /** Drops the file. */
  close(): void {
    this.#isClosed = true;
    this.take()?.close();
  }
}
