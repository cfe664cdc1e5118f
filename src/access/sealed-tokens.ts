// Encrypted, expiring tokens that only this service can create and read: sign-in cookies, bearer tokens, tickets. A
// token is a JWE in compact form (RFC 7516), encrypted directly with A256GCM under a key derived from the secret. It is
// valid only for the purpose in `use`.
//     eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0 .. iv . ciphertext . tag        { use, exp, iat, ... }
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import { makeFolder, writeOnce } from '../runtime/files.ts';

export type SealUse = 'login' | 'session' | 'access' | 'ticket' | 'live-ticket' | 'webhook';

/**
 * Maximum length of a token that clients send. In a token with its own limit for facts, this is the room for everything
 * else: header, use, times and tag.
 */
const tokenCharsMax = 4096;
/** The facts are encoded in base64. */
const charsMaxFor = (factsBytesMax: number | undefined) =>
  tokenCharsMax + (factsBytesMax === undefined ? 0 : Math.ceil((factsBytesMax * 4) / 3));

type Facts = Readonly<Record<string, unknown>>;

export type Seal = ReturnType<typeof createSeal>;

export function createSeal(secret: string) {
  const key = createHash('sha256').update(`sonant seal ${secret}`).digest();
  return {
    /**
     * Encrypts facts into a token that is valid for `seconds` seconds. Large facts, for tokens stored in the database,
     * must be closed and opened with the same `factsBytesMax`; a token that `open` would refuse as too long is an
     * error.
     */
    async close(use: SealUse, facts: Facts, seconds: number, factsBytesMax?: number): Promise<string> {
      const { EncryptJWT } = await import('jose');
      const text = await new EncryptJWT({ ...facts, use })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setIssuedAt()
        .setExpirationTime(`${seconds}s`)
        .encrypt(key);
      if (text.length > charsMaxFor(factsBytesMax)) throw new Error(`the facts are too large for a token of ${use}`);
      return text;
    },
    /** The facts of a token. Undefined if it has another use, was not created here, was changed, or has expired. */
    async open(use: SealUse, text: string | undefined, factsBytesMax?: number): Promise<Facts | undefined> {
      if (!text || text.length > charsMaxFor(factsBytesMax)) return undefined;
      const { jwtDecrypt } = await import('jose');
      const options = { contentEncryptionAlgorithms: ['A256GCM'], keyManagementAlgorithms: ['dir'] };
      const opened = await jwtDecrypt(text, key, { ...options, requiredClaims: ['exp'] }).catch(() => undefined);
      return opened?.payload.use === use ? opened.payload : undefined;
    },
  };
}

const secretBytes = 32;

/** The secret, if it already exists. */
export async function findDataDirSecret(dataDir: string, name: string): Promise<string | undefined> {
  return existsSync(join(dataDir, name)) ? readDataDirSecret(dataDir, name) : undefined;
}

export async function readDataDirSecret(dataDir: string, name = 'secret'): Promise<string> {
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
