// Limits of the HTTP API.

/** The time for the headers of a request to arrive, and for the whole request. */
export const headersArrivalMs = 15_000;
export const requestArrivalMs = 120_000;
/** How often slow requests are looked for. */
export const slowRequestCheckMs = 5_000;
/** How long a connection waits for its next request; longer than common reverse proxies. */
export const keepAliveMs = 75_000;
/** Requests that a client may send on a connection before the first of them is answered. */
export const pipelinedMax = 64;
/** How long, and how many bytes, a rejected client may go on sending before the connection is closed. */
export const lingerMs = 2_000;
export const lingerBytesMax = 32 << 20;
export const lingerCheckMs = 50;
/** Size of a token request. */
export const formBytesMax = 32 * 1024;
/** Of a form with recordings: the size of a text part, and the number of parts. */
export const formTextBytesMax = 8 * 1024;
export const formPartsMax = 40;
/** How much of the name of an unknown member X-Ignored-Fields has. */
export const ignoredFieldCharsMax = 64;
/** Interval of keepalive comments in an event stream. */
export const keepaliveEveryMs = 15_000;
/** How long, and how many bytes, synthesis continues without a reader. */
export const readerGraceMs = 10_000;
export const unreadBytesMax = 1 << 20;
/** How long the events of a stream are held after its end, and how many bytes of one stream and of all. */
export const eventsKeptMs = 60_000;
export const eventBytesPerStreamMax = 4 << 20;
export const eventBytesMax = 64 << 20;
/** Of a WebSocket: how often it is pinged, how long its peer may be silent, and the size of a message. */
export const socketPingMs = 20_000;
export const socketSilentMsMax = 60_000;
/** A message that was taken only after so long shows that the peer reads. */
export const socketWaitMsMin = 100;
/** What it does not read, such as warnings and pongs, and what it sends that is not taken: sound waits for its reader. */
export const socketUnreadBytesMax = 8 << 20;
/** So many messages of a connection, pings among them, count as one request of its key; its upgrade is the first. */
export const messagesPerRequest = 500;
/** Of a message: the fragments, the pieces that a frame arrives in, and the time for all of it to arrive. */
export const messageFragmentsMax = 64;
export const messageChunksMax = 512;
export const messageMsMax = 10_000;
/** How often unfinished messages are looked for. */
export const socketCheckMs = 1_000;
/** Contexts that are spoken at the same time on a connection of a client of Cartesia or ElevenLabs. */
export const contextsPerSocketMax = 100;
/** Of a client of ElevenLabs: how long a context waits for a message. */
export const contextIdleMsDefault = 20_000;
export const contextIdleMsMax = 180_000;
