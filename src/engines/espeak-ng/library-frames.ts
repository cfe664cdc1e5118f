// The protocol of the child process. Output: frames with an 8-byte header and a payload of even length, little-endian.
// Input: a JSON line per segment (LibraryRequest), and the line "stop" while a segment is spoken.
//     kind u32   length u32   payload
//     ready   JSON: LibraryFacts              sound   samples, s16
//     marks   rows of three i32: SoundMark    done    u32: whether the process must be replaced

import { samplesOf } from '../../platform/pcm.ts';
import type { PipeCodec } from '../../platform/runtime/worker-links.ts';

export const frameKinds = { ready: 1, sound: 2, marks: 3, done: 4 } as const;
export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds];

export interface LibraryFacts {
  version: string;
  sampleRateHz: number;
  /** The output of `espeak-ng --voices`. */
  voiceTable: string;
}

export interface LibraryRequest {
  text: string;
  voice: string;
  wordsPerMinute: number;
  amplitude: number;
  pitch: number;
  marks: boolean;
}

/** Position in the audio where a word begins, or where the last word ends. */
export interface SoundMark {
  /** 1-based index of the word's first code point; 0 for the end of the last word. */
  position: number;
  sample: number;
  /** End of the audible part of the audio before the mark. */
  audibleUntil: number;
}

export const headBytes = 8;
export const markBytes = 12;
/** Longest audio frame. With its header, it has the length of one read by Node. */
export const soundBytesMax = 65_528;
const payloadBytesMax = 1_048_576;

const isFrameKind = (kind: number): kind is FrameKind => Object.values<number>(frameKinds).includes(kind);

/** The codec of the protocol. The marks of a segment are returned after its audio. */
export const libraryCodec: PipeCodec<LibraryRequest, Int16Array, LibraryFacts, SoundMark[]> = {
  encode: (request) => `${JSON.stringify(request)}\n`,
  cancel: 'stop\n',
  createParser(onReply) {
    let marks: SoundMark[] = [];
    return createFrameParser({
      onSound: (samples) => onReply({ is: 'pieces', pieces: [samples] }),
      onFrame(kind, payload) {
        if (kind === frameKinds.ready) onReply({ is: 'ready', facts: JSON.parse(payload.toString('utf8')) });
        else if (kind === frameKinds.marks) marks.push(...toMarks(payload));
        else {
          onReply({ is: 'done', end: marks, isWorn: payload.readUInt32LE(0) !== 0 });
          marks = [];
        }
      },
    });
  },
};

const toMarks = (payload: Buffer): SoundMark[] =>
  Array.from({ length: Math.floor(payload.length / markBytes) }, (_, n) => ({
    position: payload.readInt32LE(n * markBytes),
    sample: payload.readInt32LE(n * markBytes + 4),
    audibleUntil: payload.readInt32LE(n * markBytes + 8),
  }));

interface FrameListener {
  /** Called with audio as it arrives, possibly part of a frame. */
  onSound(samples: Int16Array): void;
  /** Called with any other frame when it is complete. */
  onFrame(kind: FrameKind, payload: Buffer): void;
}

/** Splits bytes into frames. Throws if they are malformed. */
function createFrameParser({ onSound, onFrame }: FrameListener): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let kind: FrameKind | undefined;
  let left = 0;
  return (bytes) => {
    rest = rest.length > 0 ? Buffer.concat([rest, bytes]) : bytes;
    for (;;) {
      if (kind === undefined) {
        if (rest.length < headBytes) return;
        const given = rest.readUInt32LE(0);
        left = rest.readUInt32LE(4);
        if (!isFrameKind(given) || left > payloadBytesMax) throw new Error('not a frame');
        kind = given;
        rest = rest.subarray(headBytes);
      }
      if (kind === frameKinds.sound) {
        const size = Math.min(left, rest.length & ~1);
        if (size > 0) onSound(samplesOf(rest.subarray(0, size)));
        rest = rest.subarray(size);
        left -= size;
        if (left > 0) return;
      } else {
        if (rest.length < left) return;
        const payload = rest.subarray(0, left);
        rest = rest.subarray(left);
        onFrame(kind, payload);
      }
      kind = undefined;
    }
  };
}
