// Ids: a prefix, an underscore and a ULID (https://github.com/ulid/spec), so that they sort by the time they were made:
//
//     aud_01JD3Q8S6V 5W2K9YB4...
//         |          +-- randomness, 5 bits a character: 16 characters (80 bits) unless more are asked for
//         +-- 10 characters: milliseconds since 1970
//
// in Crockford's base 32. Ids that are addresses to the public ask for 128 random bits or more.
import { randomBytes } from 'node:crypto';

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const timeChars = 10;

export function createId(prefix: string, randomBits = 80): string {
  let time = '';
  for (let rest = Date.now(), left = timeChars; left > 0; left--) {
    time = crockford[rest % 32] + time;
    rest = Math.floor(rest / 32);
  }
  const random = Array.from(randomBytes(Math.ceil(randomBits / 5)), (byte) => crockford[byte & 31]).join('');
  return `${prefix}_${time}${random}`;
}
