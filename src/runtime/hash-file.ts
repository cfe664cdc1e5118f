// The SHA-256 of a file, in hexadecimal digits.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

const readBytes = 2 ** 20;

export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: readBytes })) hash.update(chunk);
  return hash.digest('hex');
}
