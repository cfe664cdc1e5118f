// All speech streams that are running or can be resumed, within a shared memory limit. Running streams have equal
// shares. Ended streams are discarded first, starting with the oldest of the key that has most of them.
import { eventBytesMax, eventBytesPerStreamMax } from '../http-limits.ts';
import { ResumableStream, type ResumableStreamOptions } from './resumable-stream.ts';

export class ResumableStreams {
  readonly #running = new Map<string, ResumableStream>();
  /** Ended streams, in the order in which they ended. */
  readonly #ended = new Map<string, ResumableStream>();
  #heldBytes = 0;

  open(options: Omit<ResumableStreamOptions, 'watcher'>) {
    const { audioId } = options;
    const watcher = {
      resized: (bytes: number) => {
        this.#heldBytes += bytes;
        if (bytes > 0) this.#makeRoom(this.#running.get(audioId));
      },
      ended: () => {
        this.#running.delete(audioId);
        this.#ended.set(audioId, stream);
      },
      gone: () => {
        this.#running.delete(audioId);
        this.#ended.delete(audioId);
      },
    };
    const stream = new ResumableStream({ ...options, watcher });
    this.#running.set(audioId, stream);
    for (const other of this.#running.values()) other.shrink(this.#partBytes);
    return stream;
  }

  /** Returns the stream with this id if it exists and the key or ticket may read it. */
  find(audioId: string, holder: string): ResumableStream | undefined {
    const stream = this.#running.get(audioId) ?? this.#ended.get(audioId);
    if (!stream || stream.isForgotten) return undefined;
    return stream.holders.includes(holder) ? stream : undefined;
  }

  /** Ends the stream with a failure, so that it cannot be resumed. */
  leave(stream: ResumableStream): void {
    stream.isForgotten = true;
    if (this.#ended.has(stream.audioId)) stream.drop(undefined);
    else stream.end('The stream was ended by its own key.');
  }

  /**
   * Prevents streams of this voice from being resumed. The operation that deletes the voice ends the running streams.
   */
  forgetVoice(voiceId: string): void {
    const isOfVoice = (stream: ResumableStream) => stream.voiceIds.includes(voiceId);
    for (const stream of [...this.#ended.values()].filter(isOfVoice)) stream.drop(undefined);
    for (const stream of [...this.#running.values()].filter(isOfVoice)) stream.isForgotten = true;
  }

  close(reason: unknown): void {
    for (const stream of [...this.#running.values(), ...this.#ended.values()]) stream.drop(reason);
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get #partBytes(): number {
    return Math.min(eventBytesPerStreamMax, eventBytesMax / Math.max(1, this.#running.size));
  }

  #makeRoom(grown: ResumableStream | undefined): void {
    grown?.shrink(this.#partBytes);
    while (this.#heldBytes > eventBytesMax) {
      const ofKeys = Map.groupBy(this.#ended.values(), ({ holders }) => holders[0]);
      const most = ofKeys.values().reduce((most, each) => (each.length > most.length ? each : most), []);
      if (!most[0]) return;
      most[0].drop(undefined);
    }
  }
}
