// Limits of the gRPC door alone.

/** Of a request that needs no key: health and reflection ask for names. */
export const openRequestBytesMax = 4 * 1024;
/** Of a message that is sent: what common gRPC clients read. */
export const messageBytesMax = 4 << 20;
/** Of the details of a failure: encoded they travel in a trailer, and common clients read 8 KiB of those. */
export const detailBytesMax = 3 * 1024;
export const failureMessageCharsMax = 1000;
/** The longest deadline that a timer can keep; longer ones are shortened to it. */
export const deadlineMsMax = 2 ** 31 - 1;
export const streamsPerConnectionMax = 100;
/** Calls that one connection may begin and take back at once, and after that in a second; one that does more is cut. */
export const resetBurst = 200;
export const resetsPerSecond = 33;
/** What one connection may hold in memory, sound that waits to be read included. */
export const connectionMemoryMiB = 64;
/** A connection is pinged this often, and cut if no answer comes in time. */
export const pingEveryMs = 20_000;
export const pingAnswerMs = 10_000;
