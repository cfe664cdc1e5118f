// Writes a file atomically, once, with fsync and mode 0600.
import { randomBytes } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';

/** Returns false, and changes nothing, if the file exists. */
export async function writeOnce(file: string, text: string): Promise<boolean> {
  const draft = `${file}.${randomBytes(4).toString('hex')}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(`${text}\n`);
    await handle.sync();
    await link(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await handle.close();
    await rm(draft);
  }
}
