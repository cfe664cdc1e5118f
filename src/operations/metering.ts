// What a synthesis costs the key that asked for it: a place while it runs, characters of its month, and a line in the
// ledger. The ledger is written before what it tells of is acknowledged: an answer before it is given, a chunk before
// its end is told; so what a caller knows to be spoken is counted, even if the service is killed the next moment.
// What was not spoken, because it failed or was left, is given back.

import { audioFormats } from '../audio/formats.ts';
import type { Delivered } from '../delivery/delivery.ts';
import type { KeyCaller } from '../keys/key-verifier.ts';
import type { LimitStatus } from '../limits/limit-status.ts';
import type { Limiter } from '../limits/limiter.ts';
import { dayOf } from '../limits/usage-day.ts';
import type { UsageLedger } from '../limits/usage-ledger.ts';
import type { SpeechRequest } from '../speech/request.ts';
import type { SpeechEvent, SpeechInfo } from '../speech/speech-events.ts';
import { countChars } from '../text/chars.ts';

export interface Metering {
  limiter: Pick<Limiter, 'takeSynthesis'>;
  ledger: UsageLedger;
}

/** Who asks for what, until when, and who is told how they stand. */
export interface Asking {
  caller: KeyCaller;
  request: SpeechRequest;
  signal: AbortSignal;
  tell(limitStatus: LimitStatus): void;
}

export interface Metered {
  deliver(asking: Asking, work: () => Promise<Delivered>): Promise<Delivered>;
  stream<E extends SpeechEvent>(asking: Asking, events: () => AsyncIterable<E>): AsyncGenerator<E>;
}

export function createMetered({ limiter, ledger }: Metering): Metered {
  const note = ({ caller, request }: Asking, requests: number, characters: number, seconds: number) =>
    ledger.add({
      ...{ keyId: caller.keyId, voiceId: request.voiceId, day: dayOf(Date.now()) },
      ...{ requests, characters, audioMs: Math.round(seconds * 1000) },
    });

  return {
    async deliver(asking, work) {
      const { caller, request, signal, tell } = asking;
      const synthesis = await limiter.takeSynthesis(caller, request.chars, { signal, report: tell });
      let spokenChars = 0;
      try {
        const delivered = await work();
        await note(asking, 1, request.chars, delivered.seconds);
        spokenChars = request.chars;
        return delivered;
      } finally {
        synthesis.end(spokenChars);
      }
    },

    async *stream(asking, events) {
      const { caller, request, signal, tell } = asking;
      const synthesis = await limiter.takeSynthesis(caller, request.chars, { signal, report: tell });
      const account = new StreamAccount(request);
      try {
        for await (const event of events()) {
          account.hear(event);
          if (event.type === 'chunk_done' || event.type === 'done') await account.settle(asking, note);
          yield event;
        }
      } finally {
        // Its reader has left, or it failed: what was sent of the last chunk counts.
        const settled = account.settle(asking, note).catch(() => undefined);
        synthesis.end(account.spokenChars);
        await settled;
      }
    },
  };
}

type Note = (asking: Asking, requests: number, characters: number, seconds: number) => Promise<void>;

/** What of a stream was spoken, and how much of that the ledger has. */
class StreamAccount {
  readonly #request: SpeechRequest;
  readonly #charsBefore: number[] = [0];
  #info: SpeechInfo | undefined;
  #isHeard = false;
  #noted = { requests: 0, chars: 0, seconds: 0 };
  #seconds = 0;
  spokenChars = 0;

  constructor(request: SpeechRequest) {
    this.#request = request;
    for (const chunk of request.chunks) this.#charsBefore.push(this.#charsBefore.at(-1)! + countChars(chunk));
  }

  hear(event: SpeechEvent): void {
    if (event.type === 'info') this.#info = event;
    else if (event.type === 'audio') {
      this.#isHeard = true;
      const { format, sampleRateHz } = this.#info!;
      this.#seconds += event.audio.length / audioFormats[format].bytesPerSecond(sampleRateHz);
      this.spokenChars = Math.max(this.spokenChars, this.#charsBefore[event.chunkIndex]! + event.chunkCharsBegun);
    } else if (event.type === 'chunk_done') {
      this.spokenChars = this.#charsBefore[event.chunkIndex + 1]!;
      this.#seconds = event.endSeconds;
    } else if (event.type === 'done') {
      this.spokenChars = this.#request.chars;
      this.#seconds = event.seconds;
    }
  }

  async settle(asking: Asking, note: Note): Promise<void> {
    const before = this.#noted;
    const requests = this.#isHeard ? 1 : 0;
    this.#noted = { requests, chars: this.spokenChars, seconds: this.#seconds };
    const chars = this.spokenChars - before.chars;
    const seconds = Math.max(0, this.#seconds - before.seconds);
    if (requests === before.requests && chars === 0 && seconds === 0) return;
    try {
      await note(asking, requests - before.requests, chars, seconds);
    } catch (error) {
      this.#noted = before;
      throw error;
    }
  }
}
