// Every limit of this door.

/** Of a request, before and after decompression. */
export const requestBytesMax = 1 << 20;
/** Of a request that brings recordings, and how long its body may take to arrive. */
export const uploadBytesMax = 25 << 20;
export const uploadArrivalMs = 110_000;
/** Of a request that needs no key: health and reflection ask for names. */
export const openRequestBytesMax = 4 * 1024;
/** Of a message that is sent: what common gRPC clients read. */
export const messageBytesMax = 4 << 20;
/** Of audio inside a message; the rest of the message fits beside it. */
export const inlineBytesMax = 4_000_000;
/** Of the details of a failure: encoded they travel in a trailer, and common clients read 8 KiB of those. */
export const detailBytesMax = 3 * 1024;
export const failureMessageCharsMax = 1000;

/** How long a request's body may take to arrive. */
export const bodyArrivalMs = 30_000;
/** How long a call with one answer may take, whatever its deadline says. */
export const unaryCallMs = 5 * 60_000;
/** The same for a stream: the longest text, slowly spoken and read as fast as it is heard. */
export const streamCallMs = 6 * 3_600_000;
/** How long a stream waits for a reader who takes nothing. */
export const readerStallMs = 2 * 60_000;
/** How often the keys of running streams are looked at again; a revocation must hold within a second. */
export const keyCheckMs = 500;
/** The longest deadline that a timer can keep; longer ones are shortened to it. */
export const deadlineMsMax = 2 ** 31 - 1;

export const connectionsMax = 4096;
export const streamsPerConnectionMax = 100;
/** Of headers in one request, and how many there may be. */
export const headerBytesMax = 16 * 1024;
export const headersMax = 100;
/** Calls that one connection may begin and take back at once, and after that in a second; one that does more is cut. */
export const resetBurst = 200;
export const resetsPerSecond = 33;
/** What one connection may hold in memory, sound that waits to be read included. */
export const connectionMemoryMiB = 64;
/** Until a new connection has spoken HTTP/2. */
export const handshakeMs = 10_000;
/** A connection is pinged this often, and cut if no answer comes in time. */
export const pingEveryMs = 20_000;
export const pingAnswerMs = 10_000;
/** What calls have, once told that the service is stopping, to say so to their callers. */
export const farewellMs = 1_000;

export const pageSizeDefault = 100;
export const pageSizeMax = 1000;
