// Where voices of people are locked up: what a clone is made of is kept only sealed, under a key made of the operator's
// master key, and opens only as what it was sealed for. A sealed text is AES-256-GCM (NIST SP 800-38D):
//
//     1 (version) | 12 bytes iv | 16 bytes tag | ciphertext        with the clone's id as the data beside it
import { createCipheriv, createDecipheriv, hkdf, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

export interface Vault {
  seal(plain: Uint8Array, cloneId: string): Promise<Uint8Array>;
  /** An error where it was sealed under another master key, for another clone, or was changed. */
  open(sealed: Uint8Array, cloneId: string): Promise<Uint8Array>;
}

const version = 1;
const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;
const headBytes = 1 + ivBytes + tagBytes;

/** The master key, asked for when it is needed; undefined where there is none and none may be made. */
export type ReadMasterKey = (mayMake: boolean) => Promise<string | undefined>;

export function createVault(readMasterKey: ReadMasterKey): Vault {
  let derived: Buffer | undefined;
  const key = async (mayMake: boolean) => {
    if (derived) return derived;
    const master = await readMasterKey(mayMake);
    if (master === undefined) throw new Error('the master key that it was sealed with is missing');
    derived = Buffer.from(await promisify(hkdf)('sha256', master, 'sonant', 'clones', keyBytes));
    return derived;
  };
  return {
    async seal(plain, cloneId) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv(algorithm, await key(true), iv).setAAD(Buffer.from(cloneId));
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([Buffer.of(version), iv, cipher.getAuthTag(), sealed]);
    },
    async open(sealed, cloneId) {
      if (sealed[0] !== version || sealed.length < headBytes) throw new Error('it is not sealed in a way known here');
      const iv = sealed.subarray(1, 1 + ivBytes);
      const decipher = createDecipheriv(algorithm, await key(false), iv, { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(cloneId)).setAuthTag(sealed.subarray(1 + ivBytes, headBytes));
      return Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]);
    },
  };
}
