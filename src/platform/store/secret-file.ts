// Secrets that Sonant makes itself: each is a file in the data folder, created at its first use.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import { makeFolder, writeOnce } from '../runtime/files.ts';

const secretBytes = 32;

/** Returns undefined if the file does not exist yet. */
export async function findSecretFile(dataDir: string, name: string): Promise<string | undefined> {
  return existsSync(join(dataDir, name)) ? readSecretFile(dataDir, name) : undefined;
}

export async function readSecretFile(dataDir: string, name = 'secret'): Promise<string> {
  const file = join(dataDir, name);
  try {
    makeFolder(dataDir);
    await writeOnce(file, randomBytes(secretBytes).toString('base64url'));
    const secret = (await readFile(file, 'utf8')).trim();
    if (secret.length < secretBytes)
      throw new Error(`${file} does not contain a secret; delete it, and the next start creates one`);
    return secret;
  } catch (error) {
    throw new Failure('storage_unavailable', { message: 'A secret cannot be stored in the data folder.' }, error);
  }
}
