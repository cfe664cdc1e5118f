// Limits of the HTTP API.

/** Time limits for the headers of a request and for the whole request. */
export const headersArrivalMs = 15_000;
export const requestArrivalMs = 120_000;
export const slowRequestCheckMs = 5_000;
/** How long an idle connection stays open. Common reverse proxies close idle connections sooner. */
export const keepAliveMs = 75_000;
/** Maximum number of unanswered requests per connection. */
export const pipelinedMax = 64;
/** For how long and for how many bytes a rejected client's data is discarded before the connection is closed. */
export const lingerMs = 2_000;
export const lingerBytesMax = 32 << 20;
export const lingerCheckMs = 50;
export const idempotencyKeyCharsMax = 255;
/** Largest body of a token request. */
export const formBytesMax = 32 * 1024;
/** Maximum size of a text part and maximum number of parts in a form with recordings. */
export const formTextBytesMax = 8 * 1024;
export const formPartsMax = 40;
/** Interval between keepalive comments in an event stream. */
export const keepaliveEveryMs = 15_000;
/** For how long and for how many bytes synthesis continues without a reader. */
export const readerGraceMs = 10_000;
export const unreadBytesMax = 1 << 20;
/** How long events are kept after a stream ends, and the memory limits for one stream and for all streams. */
export const eventsKeptMs = 60_000;
export const eventBytesPerStreamMax = 4 << 20;
export const eventBytesMax = 64 << 20;
/** WebSocket: the interval between pings, and how long the peer may be silent. */
export const socketPingMs = 20_000;
export const socketSilentMsMax = 60_000;
/** LiveKit keeps a socket of Cartesia for five minutes without a turn, and answers no ping in this time. */
export const keptSocketSilentMsMax = 6 * 60_000;
/** A message whose sending took at least this long counts as a sign of life, because the peer was reading. */
export const socketWaitMsMin = 100;
/**
 * Limit for unread output (such as warnings and pongs) and for unhandled input. Audio does not count: it is sent only
 * as fast as the peer reads.
 */
export const socketUnreadBytesMax = 8 << 20;
/**
 * Every `messagesPerRequest` messages of a connection, pings included, count as one request of its key. The upgrade
 * counts as the first request.
 */
export const messagesPerRequest = 500;
/** Limits of one message: fragments, chunks per frame, and time to arrive completely. */
export const messageFragmentsMax = 64;
export const messageChunksMax = 512;
export const messageMsMax = 10_000;
/** Interval of the check for unfinished messages. */
export const socketCheckMs = 1_000;
/**
 * In this time, a connection without a key in its headers must send one in its first message. A refusal waits this
 * long at most for the first message. Pipecat connects again without end if a refused connection lasts for five seconds.
 */
export const firstMessageMs = 4_000;
/** Maximum number of contexts spoken at the same time on one connection of a Cartesia or ElevenLabs client. */
export const contextsPerSocketMax = 100;
/** Longest id of a context, which each message about the context repeats. */
export const contextIdCharsMax = 100;
/** ElevenLabs clients: how long a context waits for a message. */
export const contextIdleMsDefault = 20_000;
export const contextIdleMsMax = 180_000;
