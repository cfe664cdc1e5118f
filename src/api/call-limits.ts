// Limits on calls through any API.
import type { OpenCallLimits } from './open-calls.ts';

/** Longest duration of a unary call, whatever its deadline. */
export const unaryCallMs = 5 * 60_000;
/** Longest duration of a stream, enough for the longest text when spoken slowly and read in real time. */
export const streamCallMs = 6 * 3_600_000;
/** Limits on calls that need no key. An address with more refusals than `refusals` allows is barred. */
export const openCallLimits: OpenCallLimits = {
  perConnectionMax: 16,
  perAddressMax: 128,
  inAllMax: 512,
  unaryMs: 30_000,
  streamMs: 3_600_000,
  stallMs: 30_000,
  refusals: { perMinute: 600, burst: 100 },
};
/** Interval between checks of the keys of running calls. A revocation must take effect within a second. */
export const keyCheckMs = 500;
/**
 * Maximum numbers of running and waiting estimates. Further estimates are refused as `overloaded`, because all
 * estimates share the event loop.
 */
export const estimatesAtOnceMax = 1;
export const estimatesWaitingMax = 64;
/**
 * Live speech: how long a session may be silent, how long a client may take to start it, and how many characters may
 * wait to be spoken.
 */
export const liveIdleMs = 10 * 60_000;
export const liveStartMs = 30_000;
export const liveWaitingCharsMax = 50_000;
/** The text of interrupted turns that the client has not read. A client that reads has read it before the next turn. */
export const liveNoticeCharsMax = 4 * liveWaitingCharsMax;
/**
 * Turns waiting to be spoken plus interrupt notices waiting to be read. The limit on characters does not cover empty
 * turns, so turns are limited too.
 */
export const liveWaitingTurnsMax = 1000;
/** How long a busy process reads pending text before it concludes that no more has arrived. */
export const liveReadMs = 20;
/** Minimum interval between checks of whether all received text of a turn has been spoken. */
export const catchUpCheckMs = 50;
/** Number of completely spoken turns that an interrupt can still refer to. */
export const heardTurnsMax = 8;
/** How long a turn that continues after a pause waits for a concurrency slot of its key. */
export const turnWaitMsMax = 5_000;
export const pageSizeDefault = 100;
export const cursorCharsMax = 2_000;
/** Longest filter text for a list of voices. */
export const voiceFilterCharsMax = 200;
/** Number of voices that are filtered before other calls can run. */
export const voicesPerTurn = 50;
/** Maximum number of fields that an update may name. */
export const updatePathsMax = 100;
/** How long the answer to a request with an Idempotency-Key is stored. */
export const idempotencyMs = 24 * 3_600_000;
/**
 * How long a request with an Idempotency-Key counts as running after its process has died, and how often a live process
 * renews its lease.
 */
export const answerLeaseMs = 10_000;
export const answerRenewalMs = 3_000;
/**
 * How long a ticket for a stream is valid, the maximum number of characters in all unused tickets and in one
 * account's unused tickets, and the minimum number of characters that a ticket counts as.
 */
export const ticketMs = 60_000;
export const ticketCharsMax = 16_000_000;
export const ticketCharsPerAccountMax = 2_000_000;
export const ticketCharsMin = 1_000;
/** Interval at which the state of a model is sent while the model is being installed. */
export const modelWatchMs = 500;
/** Maximum number of books that are read at once, each in its own process. */
export const booksReadMax = 2;
