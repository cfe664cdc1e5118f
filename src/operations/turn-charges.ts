// What a turn of live speech is charged: the characters of each part as it is taken, and one concurrency slot while parts are
// spoken. The slot is given back between two parts, so that the requests of a key take turns; a turn that has begun waits
// for it longer than a request would.
import { Failure } from '../errors.ts';
import type { Synthesis } from '../limits/limiter.ts';
import type { LivePlace } from '../speech/live-plan.ts';
import { turnWaitMsMax } from './limits.ts';

export class TurnCharges implements LivePlace {
  readonly #account: { readonly spokenChars: number };
  readonly #takeSlot: (chars: number) => Promise<Synthesis>;
  #held: { chars: number; synthesis: Synthesis } | undefined;
  /** Characters of the parts that were charged before. */
  #charsBefore = 0;
  #isClosed = false;

  constructor(account: { readonly spokenChars: number }, takeSlot: (chars: number) => Promise<Synthesis>) {
    this.#account = account;
    this.#takeSlot = takeSlot;
  }

  async take(chars: number): Promise<void> {
    this.#end(Infinity);
    const synthesis = await this.#takePatiently(chars);
    this.#held = { chars, synthesis };
    if (this.#isClosed) this.#end(0);
  }

  /** Nothing is spoken for now. */
  rest(): void {
    this.#end(this.#account.spokenChars - this.#charsBefore);
  }

  /** The turn is over; what was not spoken is given back. */
  close(): void {
    this.#isClosed = true;
    this.rest();
  }

  #end(spokenChars: number): void {
    if (!this.#held) return;
    const { chars, synthesis } = this.#held;
    synthesis.end(Math.max(0, Math.min(chars, spokenChars)));
    this.#charsBefore += chars;
    this.#held = undefined;
  }

  async #takePatiently(chars: number): Promise<Synthesis> {
    const untilMs = this.#charsBefore > 0 ? performance.now() + turnWaitMsMax : 0;
    for (;;) {
      try {
        return await this.#takeSlot(chars);
      } catch (error) {
        const isBusy = error instanceof Failure && error.facts.limitReason === 'concurrency';
        if (!isBusy || performance.now() > untilMs) throw error;
      }
    }
  }
}
