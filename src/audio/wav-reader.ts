// Reads the header of a WAV: RIFF (Multimedia Programming Interface and Data Specifications 1.0), the format tags of
// RFC 2361, and RF64 (EBU Tech 3306) for sizes beyond 32 bits. Chunks are little-endian, padded to an even length:
//     "RIFF" | size | "WAVE"                        "RF64" if "ds64" has the true sizes
//     "ds64" | size | 8: size of RF64 | 8: size of data | ...
//     "fmt " | size | 2: tag | 2: channels | 4: samples a second | 4: bytes a second | 2: bytes a frame | 2: bits
//              for tag 0xFFFE also 2: size | 2: valid bits | 4: speakers | 16: a GUID that begins with the true tag
//     "data" | size | frames: a sample of each channel, 8 bits unsigned, 16 to 32 signed, floats of 32 or 64 bits

export interface WavFormat {
  /** `pcmTag`, `floatTag`, or the tag of another coding. */
  tag: number;
  channels: number;
  sampleRateHz: number;
  /** Computed from the header without a check, so it may be fractional or NaN. */
  bytesPerSample: number;
}

interface WavHeader {
  /** Undefined if there is no complete "fmt " chunk before the data. */
  format: WavFormat | undefined;
  /** Undefined if the bytes end before the data begins. */
  data: WavData | undefined;
}

export interface WavData {
  /** The offset of the first sample. */
  start: number;
  /** Size in bytes from the header. Undefined if the writer of the file did not know the size. */
  byteCount: number | undefined;
}

export const pcmTag = 1;
export const floatTag = 3;
const extensibleTag = 0xfffe;
const guidTail = Buffer.from('000000001000800000aa00389b71', 'hex');
const sizeIn64 = 0xffff_ffff;
/** Writers that do not know the size write 0 or a number near the maximum. No supported WAV is this large. */
const openSizeMin = 0x7fff_0000;

/** Number of chunks that are read, including the data. */
const chunksMax = 1_000;

/** Reads as much of the header as the bytes contain. */
export function readWavHeader(bytes: Buffer): WavHeader {
  let format: WavFormat | undefined;
  let dataBytes64: number | undefined;
  let at = 12;
  for (let chunks = 0; chunks < chunksMax && at + 8 <= bytes.length; chunks++) {
    const name = bytes.toString('latin1', at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    const body = bytes.subarray(at + 8, at + 8 + size);
    if (name === 'data') {
      const declared = size === sizeIn64 ? (dataBytes64 ?? size) : size;
      const isOpen = declared === 0 || declared >= openSizeMin;
      return { format, data: { start: at + 8, byteCount: isOpen ? undefined : declared } };
    }
    if (name === 'ds64' && body.length >= 16) dataBytes64 = Number(body.readBigUInt64LE(8));
    if (name === 'fmt ' && body.length >= 16) format = toFormat(body);
    at += 8 + size + (size % 2);
  }
  return { format, data: undefined };
}

function toFormat(body: Buffer): WavFormat {
  const tag = body.readUInt16LE(0);
  const isExtended = tag === extensibleTag && body.length >= 40 && body.subarray(26, 40).equals(guidTail);
  const channels = body.readUInt16LE(2);
  return {
    tag: isExtended ? body.readUInt16LE(24) : tag,
    channels,
    sampleRateHz: body.readUInt32LE(4),
    bytesPerSample: body.readUInt16LE(12) / channels,
  };
}
