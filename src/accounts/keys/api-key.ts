// Creates, parses and hashes API keys: 64 characters in base 62 (0-9 A-Z a-z). The check digits reject mistyped keys
// and identify leaked keys without a lookup. The stored hash is fast, because 256 random bits cannot be guessed and a
// slow hash would invite denial of service.
//     snt_ 4fGh8Kd02Q _ 7hT...43 characters...x 1b2C3d
//          |            |                       +-- check: CRC-32 (ISO-HDLC) of the text before it, 6 digits
//          |            +-- secret: 43 digits, 256 bits
//          +-- id part: 10 digits, not secret; identifies the row
import { createHmac, createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

export interface ParsedApiKey {
  key: string;
  idPart: string;
}

/** A secret outside the database, so that a stolen table is not enough to verify keys. */
export type Pepper = KeyObject;

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = /^snt_([0-9A-Za-z]{10})_[0-9A-Za-z]{43}([0-9A-Za-z]{6})$/;
const keyChars = 64;
const checkChars = 6;

export function createApiKey(): ParsedApiKey {
  const idPart = randomDigits(10);
  const body = `snt_${idPart}_${randomDigits(43)}`;
  return { key: body + checkOf(body), idPart };
}

/** Returns undefined if the text is malformed. */
export function parseApiKey(text: string | undefined): ParsedApiKey | undefined {
  if (text?.length !== keyChars) return undefined;
  const [, idPart, check] = shape.exec(text) ?? [];
  return idPart !== undefined && checkOf(text.slice(0, -checkChars)) === check ? { key: text, idPart } : undefined;
}

export const createPepper = (secret: string): Pepper => createSecretKey(Buffer.from(secret));

/** The stored hash, 32 bytes: SHA-256, or HMAC-SHA-256 with a pepper. */
export function hashApiKey(key: string, pepper?: Pepper): Buffer {
  return pepper ? createHmac('sha256', pepper).update(key).digest() : hash('sha256', key, 'buffer');
}

/** Returns the form of a key for lists, which does not contain the secret. */
export const hintOf = (idPart: string): string => `snt_${idPart}_...`;

function randomDigits(count: number): string {
  let text = '';
  while (text.length < count) {
    for (const byte of randomBytes(count)) {
      // 248 is 4 * 62; larger bytes would make some digits more likely than others.
      if (byte < 248 && text.length < count) text += digits[byte % 62];
    }
  }
  return text;
}

function checkOf(body: string): string {
  let check = '';
  for (let rest = crc32(body), left = checkChars; left > 0; left--) {
    check = digits[rest % 62] + check;
    rest = Math.floor(rest / 62);
  }
  return check;
}
