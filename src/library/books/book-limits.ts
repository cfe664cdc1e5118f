// Limits on books. A book of a million words has six million characters, which compress to about 4 MB. Pictures other
// than the cover are not read.

/** Maximum size of a book file. */
export const bookBytesMax = 64 << 20;
/** Maximum size of an uploaded file, and of the text in the response. */
export const bookUploadBytesMax = 32 << 20;
export const bookAnswerCharsMax = 6_000_000;
/** For an EPUB: unpacked size of one file, unpacked size of all files that are read, and number of files. */
export const bookFileBytesMax = 32 << 20;
export const bookUnpackedBytesMax = 192 << 20;
export const bookFilesMax = 20_000;
/**
 * Maximum compression ratio of all but small files. Prose compresses to a quarter, a table that repeats one word to a
 * fiftieth, and a zip bomb to a thousandth.
 */
export const packingRatioMax = 200;
export const unratedFileBytes = 1 << 20;
export const coverBytesMax = 8 << 20;
/** Maximum number of characters of all chapters together. */
export const bookCharsMax = 20_000_000;
export const bookChaptersMax = 2_000;
/** Maximum length of a title and of other metadata. */
export const titleCharsMax = 300;
export const metadataCharsMax = 4_000;
/** Maximum nesting depth of markup. */
export const elementDepthMax = 1_000;
export const packageElementsMax = 200_000;
/**
 * Limits on the process that reads a book: CPU time, and heap in addition to 100 MB for the program. They suffice for
 * 20 MB of Markdown.
 */
export const readingCpuSecondsMax = 5;
export const readingMegabytesMax = 128;
