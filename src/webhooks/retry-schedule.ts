// When a message is tried again, and when no more. The waits are in limits.ts.
import { retriedMs, retryAfterMsMax, waitSpread, waitsMs } from './limits.ts';

export interface Attempted {
  createdAtMs: number;
  /** Those that were made. */
  attempts: number;
  nowMs: number;
  /** The header of the answer: seconds, or a date. */
  retryAfter?: string | undefined;
}

/** Undefined where the last attempt was made. `random` is from 0 to 1. */
export function nextAttemptMs({ createdAtMs, attempts, nowMs, retryAfter }: Attempted, random: number) {
  const lastMs = createdAtMs + retriedMs;
  if (nowMs >= lastMs) return undefined;
  const wait = waitsMs[Math.min(attempts, waitsMs.length) - 1] ?? waitsMs[0];
  const spread = wait * (1 + waitSpread * (2 * random - 1));
  const asked = Math.min(askedMs(retryAfter, nowMs), retryAfterMsMax);
  return Math.min(Math.round(nowMs + Math.max(spread, asked)), lastMs);
}

/** 0 where it asks for nothing that can be read. */
function askedMs(retryAfter: string | undefined, nowMs: number): number {
  if (retryAfter === undefined) return 0;
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - nowMs;
  return Number.isNaN(ms) ? 0 : Math.max(0, ms);
}
