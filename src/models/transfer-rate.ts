// The rate of a transfer: of one that brings less than the least over a window of time, no end is to be expected, though
// something always arrives. Time counts while the transfer runs, not while it waits to be begun again.
import { unreachable } from './http-get.ts';

/** What must arrive in each window. */
export interface LeastRate {
  windowMs: number;
  windowBytesMin: number;
}

/** 1 kB/s: at that rate, the largest model of the table takes days. */
export const leastRateDefault: LeastRate = { windowMs: 60_000, windowBytesMin: 60_000 };

export class TransferRate {
  readonly #url: string;
  readonly #least: LeastRate;
  readonly #now: () => number;
  #runningSinceMs: number | undefined;
  #windowMs = 0;
  #windowBytes = 0;

  constructor(url: string, least: LeastRate, now: () => number = () => performance.now()) {
    this.#url = url;
    this.#least = least;
    this.#now = now;
  }

  run(): void {
    this.#runningSinceMs ??= this.#now();
  }

  rest(): void {
    this.#count();
    this.#runningSinceMs = undefined;
  }

  /** Throws where too little has arrived in the window that ends. */
  add(bytes: number): void {
    this.#windowBytes += bytes;
    this.#count();
    const { windowMs, windowBytesMin } = this.#least;
    if (this.#windowMs < windowMs) return;
    if (this.#windowBytes < windowBytesMin) throw this.#tooSlow();
    this.#windowMs = 0;
    this.#windowBytes = 0;
  }

  #count(): void {
    if (this.#runningSinceMs === undefined) return;
    const nowMs = this.#now();
    this.#windowMs += nowMs - this.#runningSinceMs;
    this.#runningSinceMs = nowMs;
  }

  #tooSlow(): Error {
    const seconds = (ms: number) => Math.round(ms / 100) / 10;
    const { windowMs, windowBytesMin } = this.#least;
    const sent = `${this.#windowBytes} bytes in ${seconds(this.#windowMs)} s`;
    return unreachable(
      `${this.#url} sends too slowly and is given up: ${sent}; at least ${windowBytesMin} in ${seconds(windowMs)} s are waited for. What has arrived is kept, and another attempt goes on there`,
    );
  }
}
