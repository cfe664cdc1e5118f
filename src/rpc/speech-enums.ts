// The enums of sonant.v1 that have names of our own, there and back: formats of sound, and forms of captions. A value
// without a name is nobody's, and each that is new is added here alone.
import { CaptionFormat, OutputFormat } from '../../gen/sonant/v1/speech_pb.ts';
import type { FormatName } from '../audio/formats.ts';
import type { CaptionKind } from '../speech/request.ts';

export const toOutputFormat: Readonly<Record<FormatName, OutputFormat>> = {
  wav: OutputFormat.WAV,
  pcm: OutputFormat.PCM,
  mp3: OutputFormat.MP3,
  opus: OutputFormat.OPUS,
  flac: OutputFormat.FLAC,
};

export const toCaptionFormat: Readonly<Record<CaptionKind, CaptionFormat>> = {
  srt: CaptionFormat.SRT,
  vtt: CaptionFormat.VTT,
};

type NameOf<Name extends string> = Readonly<Record<number, Name | undefined>>;

const inverse = <Name extends string>(values: Readonly<Record<Name, number>>): NameOf<Name> =>
  Object.fromEntries(Object.entries<number>(values).map(([name, value]) => [value, name as Name]));

export const fromOutputFormat: NameOf<FormatName> = inverse(toOutputFormat);
export const fromCaptionFormat: NameOf<CaptionKind> = inverse(toCaptionFormat);
