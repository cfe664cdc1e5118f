// Limits of calls through any API.

/** Of audio inside a message; leaves room for the rest of the message. */
export const inlineBytesMax = 4_000_000;
/** How long a unary call may take, whatever its deadline. */
export const unaryCallMs = 5 * 60_000;
/** The same for a stream: the longest text, spoken slowly and read in real time. */
export const streamCallMs = 6 * 3_600_000;
/** How often the keys of running calls are checked; a revocation must take effect within a second. */
export const keyCheckMs = 500;
/** Live speech: how long it may be silent, how long it may take to start, and how much text may wait to be spoken. */
export const liveIdleMs = 10 * 60_000;
export const liveStartMs = 30_000;
export const liveWaitingCharsMax = 50_000;
export const pageSizeDefault = 100;
export const pageSizeMax = 1000;
/** How long the answer to a request with an Idempotency-Key is remembered. */
export const idempotencyMs = 24 * 3_600_000;
export const idempotencyKeyCharsMax = 255;
/**
 * How long a ticket for a stream is valid; the characters of text in all tickets and in those of a key; and the least that
 * each counts for.
 */
export const ticketMs = 60_000;
export const ticketCharsMax = 16_000_000;
export const ticketCharsPerKeyMax = 2_000_000;
export const ticketCharsMin = 1_000;
