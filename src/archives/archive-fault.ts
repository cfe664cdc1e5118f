// What is wrong with an archive, for the person who brought it: a sentence that goes on from the name of the archive.

export class ArchiveFault extends Error {}
