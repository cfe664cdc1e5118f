// A file or folder in an archive, as its reader yields it. The content must be read once, before the next entry.

export interface ArchiveEntry {
  name: string;
  kind: 'file' | 'folder';
  bytes: number;
  content: AsyncIterable<Uint8Array>;
}

export class ArchiveFault extends Error {}
