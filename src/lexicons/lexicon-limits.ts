// Limits of lexicons. All of them are in the memory of every process.

/** Of one lexicon. */
export const lexiconEntriesMax = 20_000;
export const lexiconBytesMax = 2 << 20;
export const lexiconNameCharsMax = 200;
/** Of all lexicons of an account, and of all accounts together. */
export const accountLexiconBytesMax = 16 << 20;
export const allLexiconBytesMax = 256 << 20;
/** Entries of all lexicons that are held compiled; the others are compiled again when they are used. */
export const compiledEntriesMax = 400_000;
