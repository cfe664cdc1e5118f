// Limits of the Wyoming listener.

/** Of an event: its first line, the data after it, and the payload after that. */
export const lineBytesMax = 64 * 1024;
export const dataBytesMax = 256 * 1024;
export const payloadBytesMax = 64 * 1024;
export const wyomingConnectionsMax = 256;
/** How long a connection may be silent while nothing is spoken. */
export const wyomingIdleMs = 10 * 60_000;
