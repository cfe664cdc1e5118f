// The text of `say`: an argument, a file, a named pipe or standard input. Text that is not UTF-8 or too long is refused, never
// changed or cut.
import { isUtf8 } from 'node:buffer';
import { constants, createReadStream, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { audioFormats } from '../audio/formats.ts';
import { formatNames } from '../speech/fields.ts';
import { UsageError } from './command.ts';

/** About two weeks of speech. */
const textMiBMax = 16;

/** The text given as an argument, if any. npm consumes options that come without `--` and passes on only their values. */
export function takeText(positionals: readonly string[], input: string | undefined): string | undefined {
  const [given, ...more] = positionals;
  if (more.length > 0) {
    const isOutput = formatNames.some((format) => more.at(-1)!.endsWith(`.${audioFormats[format].extension}`));
    const named = '; -o names the sound file, and npm takes it for its own option unless -- goes before the command';
    const hint = isOutput ? `${named}: npm run sonant -- say "Hello." -o hello.wav` : '';
    throw new UsageError(`put the text in quotes: it came as several arguments${hint}`);
  }
  if (given !== undefined && input !== undefined) throw new UsageError('give the text or --input, not both');
  return given;
}

/** The text of a file or of standard input. */
export async function readText(input: string | undefined, signal: AbortSignal): Promise<string> {
  const missing = 'give a text: sonant say "Hello." -o hello.wav';
  if (input === undefined && process.stdin.isTTY) throw new UsageError(missing);
  const isPath = input !== undefined && input !== '-';
  let text: string;
  try {
    const source = isPath ? await openInput(input) : process.stdin;
    text = await readWhole(addAbortSignal(signal, source));
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`cannot read ${isPath ? input : 'standard input'}: ${(error as Error).message}`);
  }
  if (text === '' && !isPath) throw new UsageError(`standard input is empty; ${missing}`);
  return text;
}

async function openInput(path: string): Promise<Readable> {
  if (!(await stat(path)).isFIFO()) return createReadStream(path);
  // A plain read of a named pipe blocks a thread of the pool: it cannot be cancelled and keeps the process alive.
  return new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), writable: false });
}

async function readWhole(source: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of source) {
    length += piece.length;
    if (length > textMiBMax << 20) break;
    pieces.push(piece);
  }
  const bytes = Buffer.concat(pieces);
  const isCut = bytes.length < length;
  const invalidAt = findInvalidUtf8(bytes);
  // The limit may have cut the last character.
  if (invalidAt !== undefined && !(isCut && invalidAt > bytes.length - 4)) {
    const byte = bytes[invalidAt]!.toString(16).padStart(2, '0');
    throw new Error(`it is not UTF-8: byte 0x${byte} at offset ${invalidAt}; convert it first, as iconv does`);
  }
  if (isCut) throw new Error(`it is longer than ${textMiBMax} MiB; speak it in parts`);
  return bytes.toString('utf8');
}

/** Offset of the first byte that is not part of a character. Decoding replaces such bytes by U+FFFD. */
function findInvalidUtf8(bytes: Buffer): number | undefined {
  if (isUtf8(bytes)) return undefined;
  const replacement = '\ufffd';
  const encoded = Buffer.from(replacement);
  const text = bytes.toString('utf8');
  let offset = 0;
  for (let from = 0; ; ) {
    const found = text.indexOf(replacement, from);
    offset += Buffer.byteLength(text.slice(from, found));
    if (!bytes.subarray(offset, offset + encoded.length).equals(encoded)) return offset;
    offset += encoded.length;
    from = found + 1;
  }
}
