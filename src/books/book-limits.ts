// Limits of books. A book of a million words has six million characters, and four megabytes when compressed; its pictures
// are not read.

/** Of the file. */
export const bookBytesMax = 64 << 20;
/** Of one that is sent over HTTP, and of the text of its answer. */
export const bookUploadBytesMax = 32 << 20;
export const bookAnswerCharsMax = 6_000_000;
/** Of a file in an EPUB and of all that are read, unpacked; and how many there may be. */
export const bookFileBytesMax = 32 << 20;
export const bookUnpackedBytesMax = 192 << 20;
export const bookFilesMax = 20_000;
/** A page of prose packs to a quarter, a table of one word to a fiftieth; a bomb to a thousandth. Small files are exempt. */
export const packingRatioMax = 200;
export const unratedFileBytes = 1 << 20;
export const coverBytesMax = 8 << 20;
/** Of all chapters together. */
export const bookCharsMax = 20_000_000;
export const bookChaptersMax = 2_000;
/** Of a title and of other metadata. */
export const titleCharsMax = 300;
export const metadataCharsMax = 4_000;
/** Of markup. */
export const elementDepthMax = 1_000;
export const packageElementsMax = 200_000;
/** Of the process that reads a book: CPU time, and the heap, beside 100 MB of program. 20 MB of Markdown need as much. */
export const readingCpuSecondsMax = 5;
export const readingMegabytesMax = 128;
