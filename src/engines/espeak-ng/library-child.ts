// The child process in which eSpeak NG's library speaks, one segment at a time. It is a worker of the engine's host;
// its argument is the name of the library, and library-frames.ts defines the format of input and output. It reads its
// input synchronously (also "stop" at each callback), so it needs no event loop. It exits when its parent does.
import { readSync, writeSync } from 'node:fs';
import { openLibrary } from './espeak-library.ts';
import {
  type FrameKind,
  frameKinds,
  headBytes,
  type LibraryRequest,
  markBytes,
  type SoundMark,
  soundBytesMax,
} from './library-frames.ts';

const [input, output] = [0, 1];
/** A process is replaced after this many segments, or after its memory grew by this many bytes. */
const segmentsMax = 20_000;
const growthBytesMax = 67_108_864;
/** Memory is checked each time this many segments have been spoken. */
const segmentsPerLook = 64;
/** The first audio is sent when this many bytes of it exist. */
const firstBytes = 4_096;

let read = Buffer.alloc(0);
const piece = Buffer.alloc(65_536);

/** Returns the next line; undefined at the end of the input. */
function readLine(): string | undefined {
  for (;;) {
    const end = read.indexOf(10);
    if (end >= 0) {
      const line = read.toString('utf8', 0, end);
      read = read.subarray(end + 1);
      return line;
    }
    const size = readSync(input, piece);
    if (size === 0) return undefined;
    read = Buffer.concat([read, piece.subarray(0, size)]);
  }
}

function write(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(output, bytes, at);
}

function writeFrame(kind: FrameKind, payload: Uint8Array): void {
  const frame = Buffer.alloc(headBytes + payload.length);
  frame.writeUInt32LE(kind, 0);
  frame.writeUInt32LE(payload.length, 4);
  frame.set(payload, headBytes);
  write(frame);
}

/** The payload length is even, so that samples stay aligned. */
const writeText = (kind: FrameKind, text: string): void =>
  writeFrame(kind, Buffer.from(Buffer.byteLength(text) % 2 === 0 ? text : `${text} `));

function writeMarks(marks: readonly SoundMark[]): void {
  const rows = marks.flatMap(({ position, sample, audibleUntil }) => [position, sample, audibleUntil]);
  const payload = Buffer.alloc(marks.length * markBytes);
  for (const [n, value] of rows.entries()) payload.writeInt32LE(value, 4 * n);
  writeFrame(frameKinds.marks, payload);
}

/** Collects audio into frames: a short first frame, so that audio starts early, then long ones. */
function createSoundWriter() {
  const frame = Buffer.alloc(headBytes + soundBytesMax);
  frame.writeUInt32LE(frameKinds.sound, 0);
  let filled = 0;
  let wanted = firstBytes;
  const flush = () => {
    if (filled === 0) return;
    frame.writeUInt32LE(filled, 4);
    write(frame.subarray(0, headBytes + filled));
    filled = 0;
    wanted = soundBytesMax;
  };
  return {
    add(bytes: Uint8Array): void {
      for (let at = 0; at < bytes.length; ) {
        const size = Math.min(bytes.length - at, soundBytesMax - filled);
        frame.set(bytes.subarray(at, at + size), headBytes + filled);
        filled += size;
        at += size;
        if (filled >= wanted) flush();
      }
    },
    end(): void {
      flush();
      wanted = firstBytes;
    },
  };
}

function serve(name: string): void {
  const library = openLibrary(name);
  writeText(frameKinds.ready, JSON.stringify(library.facts));
  const sound = createSoundWriter();
  const memoryBytes = process.memoryUsage.rss();
  let isWorn = false;
  for (let count = 1; ; count++) {
    let line = readLine();
    // The segment to stop has already ended.
    while (line === 'stop') line = readLine();
    if (line === undefined) return;
    // "stop" may have been read together with the request.
    const isStopped = () => read.length > 0 || library.isReadable(input);
    const marks = library.speak(JSON.parse(line) as LibraryRequest, sound.add, isStopped);
    sound.end();
    if (marks.length > 0) writeMarks(marks);
    if (count % segmentsPerLook === 0) isWorn ||= process.memoryUsage.rss() > memoryBytes + growthBytesMax;
    const done = Buffer.alloc(4);
    done.writeUInt32LE(Number(isWorn || count >= segmentsMax));
    writeFrame(frameKinds.done, done);
  }
}

try {
  serve(process.argv[2]!);
} catch (error) {
  // The parent reads the reason from stderr.
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
