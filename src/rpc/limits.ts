// Limits of the gRPC API.

/** Size of a request without a key: those of health and reflection hold only names. */
export const openRequestBytesMax = 4 * 1024;
/** Size of a response message: the default limit of common gRPC clients. */
export const messageBytesMax = 4 << 20;
/** The same of a book that was read: common clients take it only if they raise their limit. */
export const bookMessageBytesMax = 32 << 20;
/** Size of the details of a failure: they are encoded in a trailer, and common clients read 8 KiB of trailers. */
export const detailBytesMax = 3 * 1024;
export const failureMessageCharsMax = 1000;
/** The longest deadline that a timer can hold; longer ones are shortened. */
export const deadlineMsMax = 2 ** 31 - 1;
/** Fields of an item of a list in a request, which is read whole. */
export const itemFieldsMax = 1_000;
/** Of the unknown members of a message that are named. */
export const ignoredMembersMax = 20;
export const streamsPerConnectionMax = 100;
/** Calls that a connection may cancel at once, and then per second; beyond that, it is closed. */
export const resetBurst = 200;
export const resetsPerSecond = 33;
/** How long what a client still sends after the answer is dropped. */
export const dropMs = 250;
/** Memory of a connection, including audio that waits to be read. */
export const connectionMemoryMiB = 64;
/** A connection is pinged at this interval, and closed if no answer arrives in time. */
export const pingEveryMs = 20_000;
export const pingAnswerMs = 10_000;
