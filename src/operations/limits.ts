// Limits of calls, whichever door they come through.

/** Of audio inside a message; the rest of the message fits beside it. */
export const inlineBytesMax = 4_000_000;
/** How long a call with one answer may take, whatever its deadline says. */
export const unaryCallMs = 5 * 60_000;
/** The same for a stream: the longest text, slowly spoken and read as fast as it is heard. */
export const streamCallMs = 6 * 3_600_000;
/** How often the keys of running streams are looked at again; a revocation must hold within a second. */
export const keyCheckMs = 500;
export const pageSizeDefault = 100;
export const pageSizeMax = 1000;
/** How long the answer to a request with an Idempotency-Key is remembered. */
export const idempotencyMs = 24 * 3_600_000;
export const idempotencyKeyCharsMax = 255;
/**
 * How long a ticket for a stream is good; the characters of text that all of them, and those of a key, may hold; and the
 * least that each counts for.
 */
export const ticketMs = 60_000;
export const ticketCharsMax = 16_000_000;
export const ticketCharsPerKeyMax = 2_000_000;
export const ticketCharsMin = 1_000;
