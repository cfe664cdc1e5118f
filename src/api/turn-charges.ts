// What a turn of live speech is charged: the characters of each part as it is taken, and one concurrency slot, which it keeps
// from part to part. Once it has rested, it waits for a slot longer than a request would.
import type { Synthesis } from '../access/limiter.ts';
import { Failure } from '../errors.ts';
import type { LivePlace } from '../speech/live-plan.ts';
import { turnWaitMsMax } from './limits.ts';

type TakeSlot = (chars: number, replaces: Synthesis | undefined) => Synthesis | Promise<Synthesis>;

export class TurnCharges implements LivePlace {
  readonly #account: { readonly spokenChars: number };
  readonly #takeSlot: TakeSlot;
  /** With the characters of all parts since the slot was taken. */
  #held: { chars: number; synthesis: Synthesis } | undefined;
  /** Characters of the parts before these. */
  #charsBefore = 0;
  #isTaking = false;
  #isClosed = false;

  constructor(account: { readonly spokenChars: number }, takeSlot: TakeSlot) {
    this.#account = account;
    this.#takeSlot = takeSlot;
  }

  async take(chars: number): Promise<void> {
    this.#isTaking = true;
    try {
      const synthesis = await this.#takePatiently(chars);
      this.#held = { chars: chars + (this.#held?.chars ?? 0), synthesis };
    } finally {
      this.#isTaking = false;
      if (this.#isClosed) this.rest();
    }
  }

  /** Nothing is spoken for now. */
  rest(): void {
    if (!this.#held) return;
    const { chars, synthesis } = this.#held;
    synthesis.end(this.#ofHeld(this.#account.spokenChars, chars));
    this.#charsBefore += chars;
    this.#held = undefined;
  }

  /** So many characters of the turn are in the usage ledger. */
  recorded(turnChars: number): void {
    if (this.#held) this.#held.synthesis.recorded?.(this.#ofHeld(turnChars, this.#held.chars));
  }

  /** The turn is over; what was not spoken is given back. */
  close(): void {
    this.#isClosed = true;
    if (!this.#isTaking) this.rest();
  }

  /** How many of the first characters of the turn are among those that are held. */
  #ofHeld(turnChars: number, heldChars: number): number {
    return Math.max(0, Math.min(heldChars, turnChars - this.#charsBefore));
  }

  async #takePatiently(chars: number): Promise<Synthesis> {
    const untilMs = this.#charsBefore > 0 ? performance.now() + turnWaitMsMax : 0;
    for (;;) {
      try {
        return await this.#takeSlot(chars, this.#held?.synthesis);
      } catch (error) {
        const isBusy = error instanceof Failure && error.facts.limitReason === 'concurrency';
        if (!isBusy || this.#isClosed || performance.now() > untilMs) throw error;
      }
    }
  }
}
