// Encrypts the data of clones with a key derived from the operator's master key. The data is stored only encrypted, and
// can be decrypted only for the same clone: AES-256-GCM (NIST SP 800-38D) with the clone's id as associated data.
//     1 (version) | 12 bytes iv | 16 bytes tag | ciphertext
import { createCipheriv, createDecipheriv, hkdf, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

const version = 1;
const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;
const headBytes = 1 + ivBytes + tagBytes;

export type Vault = ReturnType<typeof createVault>;

/** `readMasterKey` is called when the key is first needed. It creates a missing key only if `mayMake` is true. */
export function createVault(readMasterKey: (mayMake: boolean) => Promise<string | undefined>) {
  let derived: Buffer | undefined;
  const key = async (mayMake: boolean) => {
    if (derived) return derived;
    const master = await readMasterKey(mayMake);
    if (master === undefined) throw new Error('the master key that encrypted it is missing');
    derived = Buffer.from(await promisify(hkdf)('sha256', master, 'sonant', 'clones', keyBytes));
    return derived;
  };
  return {
    async seal(plain: Uint8Array, cloneId: string): Promise<Uint8Array> {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv(algorithm, await key(true), iv).setAAD(Buffer.from(cloneId));
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([Buffer.of(version), iv, cipher.getAuthTag(), sealed]);
    },
    /** Decrypts. Throws if the data was changed, or sealed for another clone or with another master key. */
    async open(sealed: Uint8Array, cloneId: string): Promise<Uint8Array> {
      if (sealed[0] !== version || sealed.length < headBytes) throw new Error('it is not encrypted in a known way');
      const iv = sealed.subarray(1, 1 + ivBytes);
      const decipher = createDecipheriv(algorithm, await key(false), iv, { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(cloneId)).setAuthTag(sealed.subarray(1 + ivBytes, headBytes));
      return Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]);
    },
  };
}
