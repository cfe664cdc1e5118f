// The limits of webhooks.

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export const webhookUrlCharsMax = 2_000;
/** A larger body says only what it is about. */
export const bodyBytesMax = 512 * 1024;
/** From the look-up of the name to the status of the answer. */
export const attemptMs = 15_000;
/** How long another process leaves a delivery to the one that has begun it; longer than an attempt. */
export const leaseMs = minuteMs;

/** When an attempt is made after the one before it; the last wait is repeated. */
export const waitsMs = [5_000, 30_000, 2 * minuteMs, 5 * minuteMs, 15 * minuteMs, 30 * minuteMs, hourMs] as const;
/** Of a wait, at random, so that those who failed together do not return together. */
export const waitSpread = 0.2;
/** The longest that a receiver may ask to wait. */
export const retryAfterMsMax = 4 * hourMs;
/** After the message was added; then comes the last attempt. */
export const retriedMs = 24 * hourMs;
/** How long the end of a delivery can be looked up. */
export const endedKeepMs = 72 * hourMs;

export const attemptsMax = 64;
export const attemptsPerHostMax = 4;
export const attemptsPerAccountMax = 16;
/** How often the table is looked through without being woken. */
export const pollMs = 5_000;

/** How long the former secret signs too. */
export const graceSecondsUsual = 24 * 3600;
export const graceSecondsMax = 30 * 24 * 3600;
