// The secret that this service seals with: the operator's, or one that is made on the first start and kept in the data
// folder, for its owner's eyes only. Of processes that start at once, all come to the same.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import { makeFolder } from '../folder.ts';
import { keepOnce } from './kept-file.ts';

const secretBytes = 32;

export async function readOwnSecret(dataDir: string): Promise<string> {
  const file = join(dataDir, 'secret');
  try {
    makeFolder(dataDir);
    await keepOnce(file, randomBytes(secretBytes).toString('base64url'));
    const secret = (await readFile(file, 'utf8')).trim();
    if (secret.length < secretBytes) throw new Error(`${file} holds no secret; remove it to have one made`);
    return secret;
  } catch (error) {
    throw new Failure(
      'storage_unavailable',
      { message: 'The secret that cookies are sealed with cannot be kept.' },
      error,
    );
  }
}
