// What a request demands of the scheduler: a seat for its first segment, memory, and whether somebody listens meanwhile.
import type { Seat } from '../engines/guard.ts';
import type { Caller, SpeechRequest } from './request.ts';
import type { Binding } from './voice.ts';

/** Nobody listens to a bulk request before its end. */
export type RequestKind = 'interactive' | 'bulk';

/** What a request needs. */
export interface Demand {
  /** The account: owners take turns. */
  owner: string;
  kind: RequestKind;
  /** Where its first segment is spoken. */
  seat: Seat;
  /** Length of the first segment. */
  firstChars: number;
  /** Length of the text, if the answer is sent when all of it is spoken. */
  wholeChars?: number | undefined;
  /** Most memory that its audio takes. */
  bytesMax: number;
  /** Default: no limit. */
  waitMsMax?: number | undefined;
  /** When the caller gives up, on the clock of the scheduler. */
  deadlineMs?: number | undefined;
}

/** A text of this length that is asked for as a link is bulk: nobody listens while it is spoken. */
const bulkCharsMin = 500;
/** Length of a first segment, if the engine has no limit of its own for it. */
const firstCharsUsual = 60;
/** The longest audio that engines/sound-check.ts accepts for usual text. */
const secondsMax = { start: 4, perChar: 0.3 };
const engineBytesPerSecond = 48_000;
/** For the encoder, and what waits to be sent. */
const streamBytes = 512 * 1024;

type Text = Pick<SpeechRequest, 'chars'> & { languageCode?: string | undefined };

export const kindOf = ({ method, returnFormat, chars }: SpeechRequest): RequestKind =>
  method === 'rest' && returnFormat === 'url' && chars >= bulkCharsMin ? 'bulk' : 'interactive';

export function demandOf(binding: Binding, request: SpeechRequest, caller: Caller, waitMsMax?: number): Demand {
  return {
    ...liveDemandOf(binding, request, caller, waitMsMax),
    kind: kindOf(request),
    wholeChars: request.method === 'rest' ? request.chars : undefined,
    deadlineMs: caller.deadlineMs,
  };
}

/** For a text that is heard while it is spoken. */
export function liveDemandOf(
  { engine, speaker, openClone }: Binding,
  text: Text,
  caller: Caller,
  waitMsMax?: number,
): Demand {
  const { chars, languageCode } = text;
  const { callerId, accountId: owner = callerId } = caller;
  const { segmentCharsMax, segmentsAtOnce, firstSegmentCharsMax = firstCharsUsual } = engine.capabilities;
  const segmentSeconds = secondsMax.start + secondsMax.perChar * Math.min(chars, segmentCharsMax);
  const { languageCodes } = speaker;
  const resource = engine.resourceOf?.({ voice: speaker, languageCode: languageCode ?? languageCodes[0]! });
  return {
    owner,
    kind: 'interactive',
    seat: { engine, resource, isClone: openClone !== undefined },
    firstChars: Math.min(chars, firstSegmentCharsMax),
    bytesMax: streamBytes + segmentsAtOnce * segmentSeconds * engineBytesPerSecond,
    waitMsMax,
  };
}
