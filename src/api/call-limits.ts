// Limits of calls through any API.
import type { OpenCallLimits } from './open-calls.ts';

/** How long a unary call may take, whatever its deadline. */
export const unaryCallMs = 5 * 60_000;
/** The same for a stream: the longest text, spoken slowly and read in real time. */
export const streamCallMs = 6 * 3_600_000;
/** Of calls that need no key. Refusals beyond these bar their address. */
export const openCallLimits: OpenCallLimits = {
  perConnectionMax: 16,
  perAddressMax: 128,
  inAllMax: 512,
  unaryMs: 30_000,
  streamMs: 3_600_000,
  stallMs: 30_000,
  checkEveryMs: 1_000,
  refusals: { perMinute: 600, burst: 100 },
};
/** How often the keys of running calls are checked; a revocation must take effect within a second. */
export const keyCheckMs = 500;
/** Estimates that are worked on at once, and that wait; further ones are `overloaded`. They share the event loop. */
export const estimatesAtOnceMax = 1;
export const estimatesWaitingMax = 64;
/** Live speech: how long it may be silent, how long it may take to start, and how much text may wait to be spoken. */
export const liveIdleMs = 10 * 60_000;
export const liveStartMs = 30_000;
export const liveWaitingCharsMax = 50_000;
/** Turns that wait to be spoken, and notices of interrupts that wait to be read: a turn may be empty. */
export const liveWaitingTurnsMax = 1000;
/** How often it is looked, at most, whether a turn has been spoken as far as its text has come. */
export const catchUpCheckMs = 50;
/** How many turns that were spoken to their end may still be named by an interrupt. */
export const heardTurnsMax = 8;
/** How long a turn that has begun, and has rested, waits for a slot of its key. */
export const turnWaitMsMax = 5_000;
export const pageSizeDefault = 100;
export const pageSizeMax = 1000;
export const cursorCharsMax = 2_000;
/** Of the texts that a list of voices is filtered by. */
export const voiceFilterCharsMax = 200;
/** How many voices are filtered before other calls get a turn. */
export const voicesPerTurn = 50;
/** How many fields an update may name. */
export const updatePathsMax = 100;
/** How long the answer to a request with an Idempotency-Key is remembered. */
export const idempotencyMs = 24 * 3_600_000;
export const idempotencyKeyCharsMax = 255;
/** How long such a request counts as running after its process has died, and how often a living one renews that. */
export const answerLeaseMs = 10_000;
export const answerRenewalMs = 3_000;
/**
 * How long a ticket for a stream is valid; the characters of text in all tickets and in those of a key; and the least that
 * each counts for.
 */
export const ticketMs = 60_000;
export const ticketCharsMax = 16_000_000;
export const ticketCharsPerKeyMax = 2_000_000;
export const ticketCharsMin = 1_000;
/** How often the state of a model that is being installed is sent. */
export const modelWatchMs = 500;
/** How often it is looked whether a job that is watched has changed, and how often it is told at least. */
export const jobWatchMs = 500;
export const jobEventsEveryMs = 15_000;
/** Books that are read at once, each in a thread. */
export const booksReadMax = 2;
