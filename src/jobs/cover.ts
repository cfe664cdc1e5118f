// The picture on the cover of a job: whether it is a whole JPEG or PNG. Its pixels are not looked at: programs that show the
// file do that.
import { coverBytesMax } from './limits.ts';

const pngStart = Buffer.from('89504e470d0a1a0a', 'hex');
const pngEnd = Buffer.from('0000000049454e44ae426082', 'hex');
const jpegStart = Buffer.from('ffd8', 'hex');
const jpegEnd = Buffer.from('ffd9', 'hex');
/** Some programs write zeros and line ends behind the end of a picture. */
const slackBytes = 64;

/** Whether it has a beginning, a size in pixels, and an end; and is no larger than a job takes. */
export function isCover(bytes: Uint8Array): boolean {
  if (bytes.length > coverBytesMax) return false;
  const picture = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const tail = picture.subarray(-slackBytes);
  if (picture.subarray(0, pngStart.length).equals(pngStart)) return hasPngSize(picture) && tail.includes(pngEnd);
  return picture.subarray(0, jpegStart.length).equals(jpegStart) && hasJpegSize(picture) && tail.includes(jpegEnd);
}

/** Its first chunk is the header: length, name, width, height. */
const hasPngSize = (picture: Buffer): boolean =>
  picture.length > 24 &&
  picture.toString('latin1', 12, 16) === 'IHDR' &&
  picture.readUInt32BE(16) > 0 &&
  picture.readUInt32BE(20) > 0;

/** Of its segments, one that begins a frame: length, bits, height, width. */
function hasJpegSize(picture: Buffer): boolean {
  for (let at = 2; at + 9 < picture.length; ) {
    if (picture[at] !== 0xff) return false;
    const marker = picture[at + 1]!;
    if (marker === 0xff) at++;
    else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return picture.readUInt16BE(at + 5) > 0 && picture.readUInt16BE(at + 7) > 0;
    else at += 2 + picture.readUInt16BE(at + 2);
  }
  return false;
}
