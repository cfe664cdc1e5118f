// Limits of connections, headers and bodies, for both listeners.

/** Size of a request body, before and after decompression. */
export const requestBytesMax = 1 << 20;
/** The same for a request with recordings, and the time for its body to arrive. */
export const uploadBytesMax = 25 << 20;
export const uploadArrivalMs = 110_000;
/** The time for a request body to arrive. */
export const bodyArrivalMs = 30_000;
/** How long a stream waits for a client that reads nothing. */
export const readerStallMs = 2 * 60_000;
export const connectionsMax = 4096;
/** Total size and number of the headers of a request. */
export const headerBytesMax = 16 * 1024;
export const headersMax = 100;
/** The time for a new connection to start its protocol. */
export const handshakeMs = 10_000;
/** The time that calls have to report to their callers that the service is stopping. */
export const farewellMs = 1_000;
