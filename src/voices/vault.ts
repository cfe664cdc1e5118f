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

/** The master key is asked for when something is sealed or opened for the first time. */
export function createVault(readMasterKey: () => Promise<string>): Vault {
  let derived: Promise<Buffer> | undefined;
  const key = () =>
    (derived ??= readMasterKey().then(async (master) =>
      Buffer.from(await promisify(hkdf)('sha256', master, 'sonant', 'clones', keyBytes)),
    ));
  return {
    async seal(plain, cloneId) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv(algorithm, await key(), iv).setAAD(Buffer.from(cloneId));
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([Buffer.of(version), iv, cipher.getAuthTag(), sealed]);
    },
    async open(sealed, cloneId) {
      if (sealed[0] !== version || sealed.length < headBytes) throw new Error('it is not sealed in a way known here');
      const iv = sealed.subarray(1, 1 + ivBytes);
      const decipher = createDecipheriv(algorithm, await key(), iv, { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(cloneId)).setAuthTag(sealed.subarray(1 + ivBytes, headBytes));
      return Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]);
    },
  };
}
