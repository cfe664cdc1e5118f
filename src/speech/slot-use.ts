// What a request takes of the service while it is spoken: how its first sound is measured, whether somebody listens, and the
// most memory that its sound takes.

import type { SpeechRequest } from './request.ts';
import type { SlotUse } from './slot-lanes.ts';
import type { Binding } from './voice.ts';

/** A whole text of so many characters, asked for as a link, is bulk: nobody listens while it is spoken. */
const bulkCharsMin = 500;
/** A first segment, where the engine has no limit of its own for it. */
const firstCharsUsual = 60;
/** The longest sound that sound-check.ts lets pass, for usual text. */
const secondsMax = { start: 4, perChar: 0.3 };
const engineBytesPerSecond = 48_000;
/** For the encoder, and what waits to be sent. */
const streamBytes = 512 * 1024;

export const isBulkRequest = ({ method, returnFormat, chars }: SpeechRequest): boolean =>
  method === 'rest' && returnFormat === 'url' && chars >= bulkCharsMin;

export function slotUseOf({ engine, speaker }: Binding, chars: number, options: { isBulk: boolean }): SlotUse {
  const {
    firstSegmentCharsMax = firstCharsUsual,
    segmentsSpokenMax,
    segmentCharsMax,
    segmentsAtOnce,
  } = engine.capabilities;
  const segmentSeconds = secondsMax.start + secondsMax.perChar * Math.min(chars, segmentCharsMax);
  return {
    engine: engine.name,
    voiceId: speaker.voiceId,
    chars: Math.min(chars, firstSegmentCharsMax),
    seats: segmentsSpokenMax,
    bytesMax: streamBytes + segmentsAtOnce * segmentSeconds * engineBytesPerSecond,
    ...options,
  };
}
