// Ids: a prefix, an underscore and a ULID (https://github.com/ulid/spec), so that they sort by creation time:
//
//     aud_01JD3Q8S6V 5W2K9YB4...
//         |          +-- randomness, 5 bits a character: 16 characters (80 bits) by default
//         +-- 10 characters: milliseconds since 1970
//
// in Crockford's base 32. Ids in public URLs have 128 random bits or more.
import { randomFillSync } from 'node:crypto';

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const timeChars = 10;

/** Filled in bulk: a system call for each id would cost more than the rest of it. */
const randomBytes = Buffer.alloc(4096);
let randomBytesUsed = randomBytes.length;

export function createId(prefix: string, randomBits = 80): string {
  let time = '';
  for (let rest = Date.now(), left = timeChars; left > 0; left--) {
    time = crockford[rest % 32] + time;
    rest = Math.floor(rest / 32);
  }
  let random = '';
  for (let bits = 0; bits < randomBits; bits += 5) random += crockford[randomByte() & 31];
  return `${prefix}_${time}${random}`;
}

function randomByte(): number {
  if (randomBytesUsed === randomBytes.length) {
    randomFillSync(randomBytes);
    randomBytesUsed = 0;
  }
  return randomBytes[randomBytesUsed++]!;
}
