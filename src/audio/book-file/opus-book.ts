// Joins Ogg Opus chapters into one stream (RFC 7845): one header, one set of tags, then the packets of the chapters,
// unchanged, on new pages. Samples that the encoder adds before and after a chapter are played as silence.
//     page 0  "OpusHead" ... as in the first chapter
//     page 1  "OpusTags" | comments                   on several pages if needed
//     others  ten packets; position: samples up to the end of the page at 48 kHz, including samples to skip
import { audioFormats } from '../formats.ts';
import { createOggPages, oggFlags } from '../ogg-opus.ts';
import { crcOf, packetsOf, pageLengthAt } from '../recording/ogg-pages.ts';
import { type BookChapter, type BookPart, wrongFile } from './audio-book.ts';
import { pictureBlock, vorbisComments } from './tags.ts';

const packetsPerSecond = 50;
const opusRateHz = 48_000;
/** The encoder's delay in samples at 48 kHz. Every file from the encoder declares this delay. */
const opusSkippedSamples = 312;

export const opusPacketSamples = (rateHz: number): number => rateHz / packetsPerSecond;

export const opusPacketCount = (sampleCount: number, rateHz: number): number =>
  Math.ceil((sampleCount + (opusSkippedSamples * rateHz) / opusRateHz) / opusPacketSamples(rateHz));

const packetsPerPage = 10;
const headerPackets = 2;
/** Number of silent packets (half a second) after which the encoder has settled. */
const settledPackets = 25;

export async function* writeOpusBook({
  sampleRateHz,
  rateHz,
  chapters,
  plan,
  marks,
  tags,
}: BookPart): AsyncGenerator<Uint8Array> {
  const scale = opusRateHz / rateHz;
  const pages = createOggPages();
  const made = await silence(sampleRateHz, rateHz);
  const picture = tags.cover ? [`METADATA_BLOCK_PICTURE=${pictureBlock(tags.cover).toString('base64')}`] : [];
  yield pages.next({ packets: [made.head], position: 0, flag: oggFlags.first });
  const comments = vorbisComments(made.program, tags, marks, picture);
  yield* pages.spread(Buffer.concat([Buffer.from('OpusTags'), comments]));
  const end = plan.sampleCount * scale + opusSkippedSamples;
  let held: Buffer[] = [];
  let packetCount = 0;
  const add = (packets: readonly Buffer[]): Buffer[] => {
    held.push(...packets);
    const out: Buffer[] = [];
    // The last page is written at the end.
    for (; held.length > packetsPerPage; held = held.slice(packetsPerPage)) {
      packetCount += packetsPerPage;
      const position = packetCount * plan.frameSamples * scale;
      out.push(pages.next({ packets: held.slice(0, packetsPerPage), position }));
    }
    return out;
  };
  for (const [index, chapter] of chapters.entries()) {
    const { sound, silence } = plan.frames[index]!;
    let seen = 0;
    for await (const packets of packetsOfFile(chapter, index)) {
      if (seen === 0 && !packets[0]!.equals(made.head))
        throw wrongFile(index, 'does not begin like a file of this encoder');
      yield* add(seen < headerPackets ? packets.slice(headerPackets - seen) : packets);
      seen += packets.length;
    }
    if (seen !== sound + headerPackets) throw wrongFile(index, `has ${seen - headerPackets} packets, not ${sound}`);
    for (let left = silence; left > 0; left -= packetsPerPage)
      yield* add(Array(Math.min(left, packetsPerPage)).fill(made.packet));
  }
  yield pages.next({ packets: held, position: end, flag: oggFlags.last });
}

/** Yields the packets of a file, several at a time. */
async function* packetsOfFile({ file }: Pick<BookChapter, 'file'>, index: number): AsyncGenerator<Buffer[]> {
  let rest = Buffer.alloc(0);
  for await (const chunk of file()) {
    rest = Buffer.concat([rest, chunk]);
    const packets: Buffer[] = [];
    for (;;) {
      const length = pageLengthAt(rest, 0);
      if (length === undefined || length > rest.length) break;
      packets.push(...packetsIn(rest.subarray(0, length), index));
      rest = rest.subarray(length);
    }
    if (packets.length > 0) yield packets;
  }
  if (rest.length > 0) throw wrongFile(index, 'ends too early');
}

/** Returns the packets of a page. The encoder never splits a packet between pages. */
function packetsIn(page: Buffer, index: number): Buffer[] {
  if (page.toString('latin1', 0, 4) !== 'OggS' || page.readUInt32LE(22) !== crcOf(page))
    throw wrongFile(index, 'has a damaged page');
  return packetsOf(page, []).packets;
}

/** Encodes a second of silence. Returns a silent packet, and the header and encoder name that all files share. */
async function silence(sampleRateHz: number, rateHz: number) {
  const encoder = await audioFormats.opus.openEncoder(sampleRateHz);
  const file = async function* () {
    yield encoder.encode(new Float32Array(rateHz));
    yield encoder.end();
  };
  const packets: Buffer[] = [];
  for await (const some of packetsOfFile({ file }, 0)) packets.push(...some);
  encoder.close();
  const [head, tags] = packets as [Buffer, Buffer];
  if (head.readUInt16LE(10) !== opusSkippedSamples) throw new Error('the Opus encoder has another delay than expected');
  const program = tags.toString('latin1', 12, 12 + tags.readUInt32LE(8));
  return { head, program, packet: packets[headerPackets + settledPackets]! };
}
