// Imported voices: every `voices/*.flitevox` in the data folder. Each file is checked before use, because flite
// silently uses another voice if it cannot read the file. Format:
//     "CMU_FLITE_CG_VOXDATA-v2.0\0"  format mark
//     u32 1                          byte order of all numbers; only little-endian is supported
//     (name, value)*                 strings: u32 length, then bytes, the last of them NUL
//     "end_of_features" twice, then the name of the voice
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../runtime/system-errors.ts';

export interface VoiceFile {
  /** The name of the file without its extension. */
  voiceId: string;
  /** Path shown to the operator. */
  path: string;
  /** The file, shared between threads. */
  bytes: Uint8Array;
  /** Version of the content. */
  version: string;
  features: ReadonlyMap<string, string>;
  /** Name that the voice's makers gave it. */
  ownName: string;
}

export const voiceFileEnding = '.flitevox';
const mark = 'CMU_FLITE_CG_VOXDATA-v2.0\0';
const lastFeature = 'end_of_features';
const fileBytesMax = 32 * 2 ** 20;
const featuresMax = 100;
const textBytesMax = 4096;
const versionChars = 16;

/** The path at which flite finds a voice. */
export const programPath = (voiceId: string): string => `voices/${voiceId}${voiceFileEnding}`;

/** A fault in a voice file. */
export class VoiceFileError extends Error {
  constructor(path: string, fault: string, cause?: unknown) {
    super(`${path} ${fault}`, { cause });
    this.name = 'VoiceFileError';
  }
}

/** All voice files in the data folder, by name. Throws a VoiceFileError for the first invalid file. */
export async function readVoiceFiles(dataDir: string): Promise<VoiceFile[]> {
  const folder = join(dataDir, 'voices');
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new VoiceFileError(folder, `cannot be read: ${reasonOf(error)}`, error);
  });
  const files = names.filter((name) => name.endsWith(voiceFileEnding)).sort();
  return Promise.all(files.map((name) => readVoiceFile(join(folder, name), name.slice(0, -voiceFileEnding.length))));
}

async function readVoiceFile(path: string, voiceId: string): Promise<VoiceFile> {
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(voiceId)) {
    throw new VoiceFileError(path, 'must have a name of only a-z, 0-9, - and _: callers use it as the id of the voice');
  }
  const read = await readFile(path);
  if (read.length > fileBytesMax) throw new VoiceFileError(path, `is larger than ${fileBytesMax} bytes`);
  const bytes = new Uint8Array(new SharedArrayBuffer(read.length));
  bytes.set(read);
  const { features, ownName } = parseHeader(path, read);
  const version = createHash('sha256').update(read).digest('hex').slice(0, versionChars);
  const language = features.get('language');
  if (language !== 'eng')
    throw new VoiceFileError(path, `speaks "${language}"; only English voices (eng) are supported`);
  return { voiceId, path, bytes, version, features, ownName };
}

function parseHeader(path: string, bytes: Buffer): Pick<VoiceFile, 'features' | 'ownName'> {
  if (bytes.toString('latin1', 0, mark.length) !== mark) throw new VoiceFileError(path, 'is not a flitevox file');
  let at = mark.length + 4;
  const readText = (): string => {
    const length = at + 4 <= bytes.length ? bytes.readUInt32LE(at) : 0;
    if (length < 1 || length > textBytesMax || at + 4 + length > bytes.length) {
      throw new VoiceFileError(path, 'is damaged: its header cannot be read');
    }
    at += 4 + length;
    return bytes.toString('latin1', at - length, at - 1);
  };
  const features = new Map<string, string>();
  while (features.size < featuresMax) {
    const name = readText();
    const value = readText();
    if (name === lastFeature) return { features, ownName: readText() };
    features.set(name, value);
  }
  throw new VoiceFileError(path, 'is damaged: its header does not end');
}
