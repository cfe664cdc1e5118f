// A secret that is generated when it is first needed and stored in the data folder, readable by its owner only. Processes
// that start at the same time get the same secret.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import { makeFolder } from '../runtime/folder.ts';
import { writeOnce } from '../runtime/write-once.ts';

const secretBytes = 32;

/** The secret, if it exists already. */
export async function findDataDirSecret(dataDir: string, name: string): Promise<string | undefined> {
  return existsSync(join(dataDir, name)) ? readDataDirSecret(dataDir, name) : undefined;
}

export async function readDataDirSecret(dataDir: string, name = 'secret'): Promise<string> {
  const file = join(dataDir, name);
  try {
    makeFolder(dataDir);
    await writeOnce(file, randomBytes(secretBytes).toString('base64url'));
    const secret = (await readFile(file, 'utf8')).trim();
    if (secret.length < secretBytes) throw new Error(`${file} holds no secret; remove it to have one made`);
    return secret;
  } catch (error) {
    throw new Failure('storage_unavailable', { message: 'A secret of this service cannot be kept.' }, error);
  }
}
