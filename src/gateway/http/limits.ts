// Limits of the HTTP door alone.

/** Until the headers of a request are there, and the whole of it. */
export const headersArrivalMs = 15_000;
export const requestArrivalMs = 120_000;
/** How often requests that are too slow are looked for. */
export const slowRequestCheckMs = 5_000;
/** How long a connection waits for its next request; longer than the proxies that are common in front. */
export const keepAliveMs = 75_000;
/** How long, and how much of, what a refused client still sends is thrown away, before the connection is. */
export const lingerMs = 2_000;
export const lingerBytesMax = 32 << 20;
export const lingerCheckMs = 50;
/** Of a form that asks for a token. */
export const formBytesMax = 32 * 1024;
/** Of a form with recordings: of each part that is text, and how many parts there may be. */
export const formTextBytesMax = 8 * 1024;
export const formPartsMax = 40;
/** Of JSON: how deep it may nest, and how many members and items it may have in all. */
export const jsonDepthMax = 32;
export const jsonValuesMax = 10_000;
/** Of the members named in X-Ignored-Fields. */
export const ignoredFieldsMax = 20;
export const ignoredFieldCharsMax = 64;
/** When a stream of events says that it still lives. */
export const keepaliveEveryMs = 15_000;
/** How long a stream goes on without a reader, and how far. */
export const readerGraceMs = 10_000;
export const unreadBytesMax = 1 << 20;
/** How long the events of a stream are kept after its last, and how much of one stream and of all. */
export const eventsKeptMs = 60_000;
export const eventBytesPerStreamMax = 4 << 20;
export const eventBytesMax = 64 << 20;
