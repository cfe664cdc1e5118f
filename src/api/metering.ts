// Charges speech to its key: a concurrency slot while it runs, characters of the monthly quota, and usage rows. Usage
// is stored before the response to a whole text is sent, or before the end of a chunk is reported. It therefore counts
// even if the service is then killed. If the store is full or unreachable, the ledger keeps usage in
// memory. Characters that were not spoken are refunded.
import type { Accounts } from '../accounts.ts';
import { audioFormats } from '../audio.ts';
import type { Clip } from '../clips.ts';
import type { Voice } from '../engines.ts';
import { Failure } from '../platform/errors.ts';
import type { Plan, SpeechEvent, SpeechRequest } from '../speech.ts';
import type { Call } from './call.ts';
import { turnWaitMsMax } from './call-limits.ts';

/** A running synthesis, with its slot and its characters. */
type Synthesis = Awaited<ReturnType<Accounts['limiter']['takeSynthesis']>>;

interface MeteringOptions {
  limiter: Pick<Accounts['limiter'], 'takeSynthesis'>;
  ledger: Pick<Accounts['ledger'], 'add' | 'checkPending'>;
  /** Called with errors that no caller receives. */
  onFault(fault: unknown): void;
}

/** The request to charge, and its voice. */
type SpeechCharged = Pick<Plan, 'request' | 'main'>;

type Note = (requests: number, characters: number, seconds: number) => Promise<void>;

export type Metering = ReturnType<typeof createMetering>;

export function createMetering({ limiter, ledger, onFault }: MeteringOptions) {
  const take = (
    { caller, signal, reportLimits }: Call,
    chars: number,
    options: { replaces?: Synthesis | undefined; isPart?: boolean } = {},
  ) => {
    ledger.checkPending();
    return limiter.takeSynthesis(caller, chars, { signal, report: reportLimits, ...options });
  };
  const noteFor =
    ({ caller: { keyId } }: Call, { voiceId }: Pick<SpeechRequest, 'voiceId'>): Note =>
    (requests, characters, seconds) =>
      ledger.add({ keyId, voiceId, requests, characters, audioMs: Math.round(seconds * 1000) });

  return {
    /** Takes a concurrency slot while work other than speech runs. Charges no characters. */
    async occupy<T>({ caller, signal, reportLimits }: Call, work: () => Promise<T>): Promise<T> {
      const slot = await limiter.takeSynthesis(caller, 0, { signal, report: reportLimits });
      try {
        return await work();
      } finally {
        slot.end(0);
      }
    },

    /**
     * Charges a request, unless its audio comes from the cache. `chars` is the number of characters that it may cost. If
     * the client disconnects after `work` has called `onSpoken`, the request is charged too, because its audio may be
     * cached. Closes the audio if the charge fails or the client has disconnected.
     */
    async charge(
      call: Call,
      { request, main }: SpeechCharged,
      chars: number,
      work: (onSpoken: () => void) => Promise<Clip>,
    ): Promise<Clip> {
      reportVoice(call, request, main.offered.voice);
      const synthesis = await take(call, chars);
      const note = noteFor(call, request);
      let chargedChars = 0;
      let isSpoken = false;
      try {
        const delivered = await work(() => {
          isSpoken = true;
        });
        await note(1, delivered.charsCharged, delivered.seconds).catch(closing(delivered));
        chargedChars = delivered.charsCharged;
        isSpoken = false;
        call.reportSpeech({ isCached: delivered.cached, audioSeconds: delivered.seconds });
        return call.signal.aborted ? closing(delivered)(call.signal.reason) : delivered;
      } finally {
        if (isSpoken && call.signal.aborted) {
          chargedChars = chars;
          await note(1, chars, 0).catch(onFault);
        }
        synthesis.end(chargedChars);
      }
    },

    /** Opens the meter of a stream, and takes its concurrency slot. */
    async openStream(call: Call, { request, main }: SpeechCharged) {
      reportVoice(call, request, main.offered.voice);
      const synthesis = await take(call, request.chars);
      const account = new StreamAccount(call, noteFor(call, request));
      return meterOf(account, synthesis, () => synthesis.end(account.spokenChars));
    },

    /** Opens the meter of a turn of live speech, which holds a concurrency slot while a part is spoken. */
    openTurn(call: Call, { request, main }: SpeechCharged) {
      reportVoice(call, request, main.offered.voice);
      const account = new StreamAccount(call, noteFor(call, request));
      const takeSlot = (chars: number, replaces: Synthesis | undefined) =>
        take(call, chars, { replaces, isPart: true });
      const place = new TurnCharges(account, takeSlot);
      return { place, openMeter: () => meterOf(account, place, () => place.close()) };
    },
  };

  function meterOf(account: StreamAccount, running: Pick<Synthesis, 'recorded'>, close: () => void) {
    return {
      count: (event: SpeechEvent) => (account.isToSettle(event) ? account.settle(running) : undefined),
      async end() {
        // If the client disconnected or the stream failed, the sent part of the last chunk is charged.
        const settled = account.settle().catch(onFault);
        close();
        await settled;
      },
    };
  }
}

/** Closes the audio that nobody will read, and rethrows the error. */
const closing =
  (delivered: Clip) =>
  (error: unknown): never => {
    delivered.close();
    throw error;
  };

const reportVoice = (call: Call, { format, chars }: SpeechRequest, voice: Voice): void =>
  call.reportSpeech({ voiceId: voice.voiceId, engine: voice.engine, format, ...(chars && { characters: chars }) });

/** Counts the spoken characters of a stream, and tracks how much of its usage has been recorded. */
class StreamAccount {
  readonly #call: Call;
  readonly #note: Note;
  /** Characters of the completed chunks. */
  #charsDone = 0;
  #info: SpeechEvent<'info'> | undefined;
  #hasSound = false;
  #noted = { requests: 0, chars: 0, seconds: 0 };
  #seconds = 0;
  spokenChars = 0;

  constructor(call: Call, note: Note) {
    this.#call = call;
    this.#note = note;
  }

  /** Counts the event. Returns true for the end of a chunk, whose usage must be stored before the event is sent. */
  isToSettle(event: SpeechEvent): boolean {
    this.#count(event);
    return event.type === 'chunk_done' || event.type === 'done';
  }

  #count(event: SpeechEvent): void {
    if (event.type === 'info') this.#info = event;
    else if (event.type === 'audio') {
      if (!this.#hasSound) this.#call.reportSpeech({ firstSoundMs: performance.now() - this.#call.begunMs });
      this.#hasSound = true;
      const { format, sampleRateHz } = this.#info!;
      this.#seconds += event.audio.length / audioFormats[format].bytesPerSecond(sampleRateHz);
      this.spokenChars = Math.max(this.spokenChars, this.#charsDone + event.charsBegun);
    } else if (event.type === 'chunk_done') {
      this.#charsDone += event.chars;
      this.spokenChars = this.#charsDone;
      this.#seconds = event.endSeconds;
    } else if (event.type === 'done') {
      this.spokenChars = event.chars;
      this.#seconds = event.seconds;
    }
  }

  /** Records usage that has not been recorded yet. Reports the number of recorded characters to a running synthesis. */
  async settle(running?: Pick<Synthesis, 'recorded'>): Promise<void> {
    const before = this.#noted;
    const requests = this.#hasSound ? 1 : 0;
    this.#noted = { requests, chars: this.spokenChars, seconds: this.#seconds };
    this.#call.reportSpeech({ characters: this.spokenChars, audioSeconds: this.#seconds });
    const chars = this.spokenChars - before.chars;
    const seconds = Math.max(0, this.#seconds - before.seconds);
    if (requests === before.requests && chars === 0 && seconds === 0) return;
    try {
      await this.#note(requests - before.requests, chars, seconds);
      running?.recorded?.(this.#noted.chars);
    } catch (error) {
      this.#noted = before;
      throw error;
    }
  }
}

type TakeSlot = (chars: number, replaces: Synthesis | undefined) => Promise<Synthesis>;

class TurnCharges {
  readonly #account: StreamAccount;
  readonly #takeSlot: TakeSlot;
  /** The held slot, and the number of characters in all parts for which it was taken. */
  #held: { chars: number; synthesis: Synthesis } | undefined;
  /** Number of characters in the turn's earlier parts, whose slots have been released. */
  #charsBefore = 0;
  #isTaking = false;
  #isClosed = false;

  constructor(account: StreamAccount, takeSlot: TakeSlot) {
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

  /** Releases the slot while nothing is spoken. */
  rest(): void {
    if (!this.#held) return;
    const { chars, synthesis } = this.#held;
    synthesis.end(this.#ofHeld(this.#account.spokenChars, chars));
    this.#charsBefore += chars;
    this.#held = undefined;
  }

  /** Called when `turnChars` characters of the turn are in the usage ledger. */
  recorded(turnChars: number): void {
    if (this.#held) this.#held.synthesis.recorded?.(this.#ofHeld(turnChars, this.#held.chars));
  }

  /** Ends the turn. Characters that were not spoken are refunded. */
  close(): void {
    this.#isClosed = true;
    if (!this.#isTaking) this.rest();
  }

  /** Returns how many of the turn's first `turnChars` characters were counted for the held slot. */
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
