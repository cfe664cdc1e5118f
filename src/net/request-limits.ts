// Limits of connections, headers and bodies, for all listeners.

/** Size of a request body, before and after decompression. */
export const requestBytesMax = 1 << 20;
/** The same for a request with a lexicon. */
export const lexiconRequestBytesMax = 4 << 20;
/** The same for a request with recordings, and the time for its body to arrive. */
export const uploadBytesMax = 25 << 20;
export const uploadArrivalMs = 110_000;
/** Size of a request with the text of a book, which arrives within the same time. */
export const jobBytesMax = 16 << 20;
/** Members and items of a request in JSON, and fields of one in protobuf: of a text in 200 chunks are 400 at most. */
export const requestValuesMax = 1_000;
/** The same of a job: a chapter has five members at most. */
export const jobValuesMax = 5_000;
/** The same of a lexicon: each of its 20 000 entries has six members at most. */
export const lexiconValuesMax = 160_000;
/** Size of a message of live speech. */
export const liveMessageBytesMax = 256 * 1024;
/** The time for a request body to arrive. */
export const bodyArrivalMs = 30_000;
/** How long a stream waits for a client that reads nothing. */
export const readerStallMs = 2 * 60_000;
/** Of all listeners together; and how many of an address may be closed in a second for new ones of the same address. */
export const connectionsMax = 4096;
export const connectionsDisplacedPerSecond = 50;
/** Requests that are started in one turn of the event loop, and those of one address that wait for it. */
export const requestsPerTurn = 8;
export const requestsWaitingPerAddressMax = 1_000;
/** Of the port for operators, which counts its own. */
export const adminConnectionsMax = 64;
/** Total size and number of the headers of a request. */
export const headerBytesMax = 16 * 1024;
export const headersMax = 100;
/** The time for a new connection to start its protocol. */
export const handshakeMs = 10_000;
/** The time that calls have to report to their callers that the service is stopping. */
export const farewellMs = 1_000;
/** The depth of nesting of JSON. */
export const jsonDepthMax = 32;
