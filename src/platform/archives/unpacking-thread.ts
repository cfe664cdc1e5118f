// The thread that unpacks one archive; see unpack-archive.ts. Files are created in a new folder, so no file is opened
// through a link.
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { openArchive } from './archive-file.ts';
import { ArchiveFault, EntryRules } from './entry-rules.ts';

export interface UnpackingTask {
  archive: string;
  to: string;
}

export type UnpackingNews = { share: number } | { fault: string } | { isDone: true };

const tell = (news: UnpackingNews): void => parentPort!.postMessage(news);

async function unpack({ archive, to }: UnpackingTask): Promise<void> {
  await mkdir(to);
  let size = 1;
  await using opened = await openArchive(archive, (bytes) => tell({ share: Math.min(1, bytes / size) }));
  size = Math.max(1, opened.packedBytes);
  const rules = new EntryRules(opened.packedBytes);
  let files = 0;
  for await (const { name, kind, bytes, content } of opened.entries) {
    const path = rules.accept(name, kind, bytes);
    if (path === undefined) continue;
    if (kind === 'folder') await mkdir(join(to, path), { recursive: true });
    else {
      files++;
      await mkdir(dirname(join(to, path)), { recursive: true });
      await writeContent(join(to, path), content, rules);
    }
  }
  if (files === 0) throw new ArchiveFault('contains no files');
}

async function writeContent(path: string, content: AsyncIterable<Uint8Array>, rules: EntryRules): Promise<void> {
  await using file = await open(path, 'wx', 0o644);
  for await (const chunk of content) {
    rules.count(chunk.length);
    await file.writeFile(chunk);
  }
}

/** Explains errors of archives, decompressors and disks; returns undefined for other errors. */
function explain(error: unknown): string | undefined {
  if (error instanceof ArchiveFault) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'Z_BUF_ERROR') return 'is incomplete: it ends too early';
  if (code?.startsWith('Z_')) return 'is damaged: its compressed data cannot be read';
  if (code === 'ENOSPC') return 'does not fit on the disk';
  if (code === 'ENAMETOOLONG') return 'has a name that is too long';
  return undefined;
}

try {
  await unpack(workerData as UnpackingTask);
  tell({ isDone: true });
} catch (error) {
  const fault = explain(error);
  if (fault === undefined) throw error;
  tell({ fault });
}
