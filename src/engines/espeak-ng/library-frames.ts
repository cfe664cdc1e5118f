// What the child process writes: frames, each of 8 bytes and then a payload of even length, all little-endian:
//     kind u32   length u32   payload
//     ready   JSON: LibraryFacts              sound   samples, s16
//     marks   rows of three i32: SoundMark    done    u32: whether the process is worn out
// What it reads: a line of JSON for each segment (LibraryRequest), and the line "stop" while one is spoken.

import { samplesOf } from '../../audio/pcm.ts';

export const frameKinds = { ready: 1, sound: 2, marks: 3, done: 4 } as const;
export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds];

export interface LibraryFacts {
  version: string;
  sampleRateHz: number;
  /** As `espeak-ng --voices` prints it. */
  voiceTable: string;
  /** The library itself, and the folder of its data. */
  files: readonly string[];
}

export interface LibraryRequest {
  text: string;
  voice: string;
  wordsPerMinute: number;
  amplitude: number;
  pitch: number;
  marks: boolean;
}

/** Where in the sound a word begins, or ends for which there is no next one. */
export interface SoundMark {
  /** The code point of the text that begins the word, from 1; 0 for an end. */
  position: number;
  sample: number;
  /** Until where the sound before is not silent. */
  audibleUntil: number;
}

export const headBytes = 8;
export const markBytes = 12;
/** No frame of sound is longer: with its head it is as long as what Node reads at once. */
export const soundBytesMax = 65_528;
const payloadBytesMax = 1_048_576;

const isFrameKind = (kind: number): kind is FrameKind => Object.values<number>(frameKinds).includes(kind);

export interface FrameReader {
  /** Sound, as it comes: a part of a frame, too. */
  onSound(samples: Int16Array): void;
  /** Any other frame, whole. */
  onFrame(kind: FrameKind, payload: Buffer): void;
}

/** Splits what arrives into frames. Throws where it is no frame. */
export function createFrameParser({ onSound, onFrame }: FrameReader): (bytes: Buffer) => void {
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
