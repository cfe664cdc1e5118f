// Limits of books. A book of a million words has six million characters, which compress to about four megabytes of
// text. Pictures other than the cover are not read.

/** Size of a book's file. */
export const bookBytesMax = 64 << 20;
/** Size of a file that is sent over HTTP, and of the text in the response. */
export const bookUploadBytesMax = 32 << 20;
export const bookAnswerCharsMax = 6_000_000;
/** Unpacked size of one file in an EPUB, unpacked size of all files that are read, and number of files. */
export const bookFileBytesMax = 32 << 20;
export const bookUnpackedBytesMax = 192 << 20;
export const bookFilesMax = 20_000;
/**
 * Maximum compression ratio of all but small files. Prose compresses to a quarter, a table of one word to a fiftieth, a
 * zip bomb to a thousandth.
 */
export const packingRatioMax = 200;
export const unratedFileBytes = 1 << 20;
export const coverBytesMax = 8 << 20;
/** Characters of all chapters together. */
export const bookCharsMax = 20_000_000;
export const bookChaptersMax = 2_000;
/** Maximum length of a title and of other metadata. */
export const titleCharsMax = 300;
export const metadataCharsMax = 4_000;
/** Nesting depth of markup. */
export const elementDepthMax = 1_000;
export const packageElementsMax = 200_000;
/**
 * CPU time and heap of the process that reads a book, besides 100 MB for the program. Reading 20 MB of Markdown needs
 * this much.
 */
export const readingCpuSecondsMax = 5;
export const readingMegabytesMax = 128;
