// Recognises the kind of a recording by its first bytes only; its name and content type are ignored.
import { isMp3, skipTags } from './mp3-frames.ts';
import { oggPages, pageBody } from './ogg-pages.ts';
import { unreadable } from './track.ts';

interface RecordingKind {
  kind: 'wav' | 'flac' | 'mp3' | 'vorbis' | 'opus' | 'oggFlac';
  /** The offset of the sound, after any tags. */
  start: number;
}

const accepted = 'send WAV, FLAC, MP3, Ogg Vorbis or Ogg Opus';

/** Kinds that are often sent but not supported, so that the message can name them: bytes at an offset. */
const others: readonly (readonly [name: string, at: number, bytes: string])[] = [
  ['an MP4 or M4A file', 4, 'ftyp'],
  ['a WebM or Matroska file', 0, '\x1a\x45\xdf\xa3'],
  ['an AIFF file', 0, 'FORM'],
  ['a CAF file', 0, 'caff'],
  ['an AMR file', 0, '#!AMR'],
  ['an AAC file', 0, '\xff\xf1'],
  ['an AAC file', 0, '\xff\xf9'],
  ['a WMA file', 0, '\x30\x26\xb2\x75'],
];

export function recognise(file: Buffer): RecordingKind {
  const has = (at: number, bytes: string) => file.toString('latin1', at, at + bytes.length) === bytes;
  const start = skipTags(file);
  if (has(8, 'WAVE') && ['RIFF', 'RF64', 'BW64'].some((name) => has(0, name))) return { kind: 'wav', start: 0 };
  if (has(start, 'fLaC')) return { kind: 'flac', start };
  if (has(0, 'OggS')) return { kind: oggKind(file), start: 0 };
  if (isMp3(file, start)) return { kind: 'mp3', start };
  const known = others.find(([, at, bytes]) => has(at, bytes))?.[0];
  throw unreadable(
    known ? `is ${known}, which is not read here; ${accepted}` : `is no recording that is known here; ${accepted}`,
  );
}

function oggKind(file: Buffer): 'vorbis' | 'opus' | 'oggFlac' {
  const head = pageBody(oggPages(file).next().value!);
  const has = (bytes: string, lengthMin: number) =>
    head.length >= lengthMin && head.toString('latin1', 0, bytes.length) === bytes;
  if (has('\x01vorbis', 30)) return 'vorbis';
  if (has('OpusHead', 19)) return 'opus';
  if (has('\x7fFLAC', 51)) return 'oggFlac';
  throw unreadable(`is an Ogg file of a kind that is not read here; ${accepted}`);
}
