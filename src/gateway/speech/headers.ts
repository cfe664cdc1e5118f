// What is told of speech in the headers of a reply.
import type { Duration } from '@bufbuild/protobuf/wkt';
import type { OutputFormat, SpeechInfo, SynthesizeSpeechResponse } from '../../../gen/sonant/v1/speech_pb.ts';
import { audioFormats, type FormatName } from '../../audio/formats.ts';
import { fromCaptionFormat, fromOutputFormat } from '../../rpc/speech-enums.ts';
import type { CaptionKind } from '../../speech/request.ts';
import { ignoredFieldCharsMax, ignoredFieldsMax } from '../http/limits.ts';
import type { ReplyHeaderName } from '../http/reply-headers.ts';

export type SpeechHeaders = Partial<Record<ReplyHeaderName, string>>;

export const formatOf = (format: OutputFormat): FormatName => fromOutputFormat[format]!;

/** Seconds, to the microsecond. */
export const secondsOf = (duration: Duration | undefined): number =>
  duration ? roundSeconds(Number(duration.seconds) + duration.nanos / 1e9) : 0;

export const roundSeconds = (seconds: number): number => Math.round(seconds * 1e6) / 1e6;

/** Of sound that is the body itself. */
export function soundHeaders(
  spoken: SpeechInfo | SynthesizeSpeechResponse,
  method: 'rest' | 'streaming',
): SpeechHeaders & Record<'content-type', string> {
  const format = formatOf(spoken.outputFormat);
  return {
    'content-type': audioFormats[format].contentType,
    'Content-Disposition': `attachment; filename=${spoken.audioId}.${audioFormats[format].extension}`,
    ...voiceHeaders(spoken.voiceName),
    'X-Method': method,
    'X-Chars': String(spoken.chars),
    'X-Format': format,
    'X-Sample-Rate': String(spoken.sampleRateHz),
    'X-Voice-Id': headerText(spoken.voiceId),
    ...storyHeaders(spoken),
  };
}

/** Of sound wherever it is: what became of the request. */
export const storyHeaders = ({ audioId, cached, warnings }: SpeechInfo | SynthesizeSpeechResponse): SpeechHeaders => ({
  'X-Audio-Id': audioId,
  'X-Cache': cached ? 'HIT' : 'MISS',
  ...(warnings.length > 0 && { 'X-Warnings': warnings.join(', ') }),
});

export const durationHeader = ({ duration }: SynthesizeSpeechResponse): SpeechHeaders => ({
  'X-Audio-Duration': String(secondsOf(duration)),
});

export function expiresHeader({ expireTime }: SpeechInfo | SynthesizeSpeechResponse): SpeechHeaders {
  return expireTime
    ? { 'X-Audio-Expires': new Date(Number(expireTime.seconds) * 1000 + expireTime.nanos / 1e6).toISOString() }
    : {};
}

const captionHeaderNames: Readonly<Record<CaptionKind, ReplyHeaderName>> = {
  srt: 'X-Captions-Srt',
  vtt: 'X-Captions-Vtt',
};

export const captionHeaders = ({ captions }: SynthesizeSpeechResponse): SpeechHeaders =>
  Object.fromEntries(captions.map(({ format, url }) => [captionHeaderNames[fromCaptionFormat[format]!], url]));

export function ignoredHeader(names: readonly string[]): SpeechHeaders {
  if (names.length === 0) return {};
  const told = names
    .slice(0, ignoredFieldsMax)
    .map((name) => headerText(name.slice(0, ignoredFieldCharsMax)).replaceAll(',', '%2C'));
  return { 'X-Ignored-Fields': told.join(', ') };
}

/** A name as it is where it is printable ASCII; else percent-encoded UTF-8, and said to be. */
function voiceHeaders(name: string): SpeechHeaders {
  const text = headerText(name);
  return text === name ? { 'X-Voice': name } : { 'X-Voice': text, 'X-Voice-Encoding': 'percent' };
}

/** What may stand in a header: printable ASCII that neither begins nor ends with a space. */
const isPlain = (text: string) => /^[!-~](?:[ -~]*[!-~])?$/.test(text);

const headerText = (text: string): string => (isPlain(text) ? text : encodeURIComponent(text.toWellFormed()));
