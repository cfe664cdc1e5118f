// Limits on connections, headers and bodies, for all listeners.

/** Largest request body, before and after decompression. */
export const requestBytesMax = 1 << 20;
export const lexiconRequestBytesMax = 4 << 20;
/** Largest request body with recordings, and the time in which it must arrive. */
export const uploadBytesMax = 25 << 20;
export const uploadArrivalMs = 110_000;
/** Largest request body that is the file of a book or of audio. */
export const fileBytesMax = 32 << 20;
/** Largest request body with the text of a book, which must arrive within `uploadArrivalMs`. */
export const jobBytesMax = 16 << 20;
/** Largest number of members and items in JSON, or of fields in protobuf. A text in 200 chunks needs at most 400. */
export const requestValuesMax = 1_000;
/** Like `requestValuesMax`, but for a job. A chapter has at most five members. */
export const jobValuesMax = 5_000;
/** Like `requestValuesMax`, but for a lexicon. Each of its 20 000 entries has at most six members. */
export const lexiconValuesMax = 160_000;
export const liveMessageBytesMax = 256 * 1024;
export const bodyArrivalMs = 30_000;
/** At least this much of a body must arrive in each interval (1 KiB per second). */
export const bodyPaceMs = 5_000;
export const bodyPaceBytes = 5 * 1024;
/** Number of request bodies above `slotlessBytesMax` that are received at the same time, and that may wait. */
export const bodySlotsMax = 16;
export const bodiesWaitingMax = 512;
export const slotlessBytesMax = 64 * 1024;
/** Longest wait of a stream for a client that reads nothing. */
export const readerStallMs = 2 * 60_000;
/** Limits for replies that wait for their clients: bytes of one account (or address) and of all. */
export const unreadBytesPerOwnerMax = 64 << 20;
export const unreadBytesInAllMax = 256 << 20;
/** Largest number of connections, and of connections closed per second for new connections of the same address. */
export const connectionsMax = 4096;
export const connectionsDisplacedPerSecond = 50;
/** Number of requests started in one turn of the event loop, and of waiting requests per address. */
export const requestsPerTurn = 8;
export const requestsWaitingPerAddressMax = 1_000;
/** Largest number of connections to the operators' port, which are counted separately. */
export const adminConnectionsMax = 64;
/** Total size and number of the headers of a request. */
export const headerBytesMax = 16 * 1024;
export const headersMax = 100;
/** Time in which a new connection must start its protocol. */
export const handshakeMs = 10_000;
/** Time in which calls may report to their callers that the service is stopping. */
export const farewellMs = 1_000;
export const jsonDepthMax = 32;
