// Limits that both doors keep: connections, headers and bodies.

/** Of a request, before and after decompression. */
export const requestBytesMax = 1 << 20;
/** Of a request that brings recordings, and how long its body may take to arrive. */
export const uploadBytesMax = 25 << 20;
export const uploadArrivalMs = 110_000;
/** How long a request's body may take to arrive. */
export const bodyArrivalMs = 30_000;
/** How long a stream waits for a reader who takes nothing. */
export const readerStallMs = 2 * 60_000;
export const connectionsMax = 4096;
/** Of headers in one request, and how many there may be. */
export const headerBytesMax = 16 * 1024;
export const headersMax = 100;
/** Until a new connection has spoken HTTP/2. */
export const handshakeMs = 10_000;
/** What calls have, once told that the service is stopping, to say so to their callers. */
export const farewellMs = 1_000;
