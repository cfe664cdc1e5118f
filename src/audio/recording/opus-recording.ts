// Decodes the pages of an Ogg Opus file (RFC 7845) to samples at 48 kHz. The first packet is the header:
//      0 "OpusHead" | 8: version | channels | 2: samples to skip | 12 4: rate of the source | 16 2: gain | 18: family
//     19 streams | coupled streams | a stream for each channel: only if the family is not 0
// The second packet contains tags. The position of the last page may state that the audio ends within a packet.
import { packetsOf, pageBody } from './ogg-pages.ts';
import { unreadable } from './track.ts';

const rateHz = 48_000;
const familyAt = 18;
/** Bytes of the header without the table of channels. */
const headBytes = 21;
/** The entry of a channel that is silent. */
const silent = 255;
const lastFlag = 4;
/** The position of a page on which no packet ends. */
const noPosition = 0xffff_ffff_ffff_ffffn;

/** Describes the channels. Headers that the decoder would not check are refused. */
function readShape(head: Buffer) {
  const channels = head[9]!;
  const shape = { channels, preSkip: head.readUInt16LE(10) };
  if (head[familyAt] === 0 && channels <= 2) return shape;
  const [streamCount = 0, coupledStreamCount = 0] = head.subarray(familyAt + 1);
  const channelMappingTable = [...head.subarray(headBytes, headBytes + channels)];
  const decoded = streamCount + coupledStreamCount;
  const isValid =
    head[familyAt] !== 0 &&
    streamCount > 0 &&
    coupledStreamCount <= streamCount &&
    decoded <= silent &&
    channelMappingTable.length === channels &&
    channelMappingTable.every((stream) => stream < decoded || stream === silent);
  if (!isValid) throw unreadable('is damaged: its Opus header is invalid');
  return { ...shape, streamCount, coupledStreamCount, channelMappingTable };
}

/** Opens a decoder whose input is the pages of the file, one at a time. */
export async function openOpus(firstPage: Buffer) {
  const shape = readShape(pageBody(firstPage));
  const { OpusDecoder } = await import('opus-decoder');
  const decoder = new OpusDecoder(shape);
  let headers = 2;
  let begun: Buffer[] = [];
  /** Number of samples at 48 kHz before this page. */
  let position = shape.preSkip;
  return {
    ready: decoder.ready,
    decode(page: Buffer) {
      const { packets, rest } = packetsOf(page, begun);
      begun = rest;
      const audio = packets.slice(headers);
      headers -= packets.length - audio.length;
      const { channelData, errors } = decoder.decodeFrames(audio);
      const end = page.readBigUInt64LE(6);
      const isLast = (page[5]! & lastFlag) !== 0 && end !== noPosition;
      const kept = isLast ? Math.max(0, Number(end) - position) : undefined;
      if (end !== noPosition) position = Math.max(position, Number(end));
      return { channelData: channelData.map((samples) => samples.subarray(0, kept)), sampleRate: rateHz, errors };
    },
    free: () => decoder.free(),
  };
}
