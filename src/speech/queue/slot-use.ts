// What a request takes of the service while it is spoken: how its first sound is measured, whether somebody listens, and the
// most memory that its sound takes.

import { type EngineGuards, modelOf } from '../engine-guard.ts';
import type { SpeechRequest } from '../request.ts';
import type { Binding } from '../voice.ts';
import type { SlotUse } from './slot-lanes.ts';

/** A whole text of so many characters, asked for as a link, is bulk: nobody listens while it is spoken. */
const bulkCharsMin = 500;
/** A first segment, where the engine has no limit of its own for it. */
const firstCharsUsual = 60;
/** The longest sound that sound-check.ts lets pass, for usual text. */
const secondsMax = { start: 4, perChar: 0.3 };
const engineBytesPerSecond = 48_000;
/** For the encoder, and what waits to be sent. */
const streamBytes = 512 * 1024;

const isBulk = ({ method, returnFormat, chars }: SpeechRequest): boolean =>
  method === 'rest' && returnFormat === 'url' && chars >= bulkCharsMin;

export const slotUseOf = (binding: Binding, request: SpeechRequest, guardOf: EngineGuards): SlotUse => ({
  ...slotUseOfText(binding, request.chars, guardOf),
  wholeChars: request.method === 'rest' ? request.chars : undefined,
  isBulk: isBulk(request),
});

/** Of so many characters of a text that is heard while it is spoken. */
export function slotUseOfText({ engine, speaker }: Binding, chars: number, guardOf: EngineGuards): SlotUse {
  const { segmentsSpokenMax, segmentCharsMax, segmentsAtOnce } = engine.capabilities;
  const { firstSegmentCharsMax = firstCharsUsual } = engine.capabilities;
  const segmentSeconds = secondsMax.start + secondsMax.perChar * Math.min(chars, segmentCharsMax);
  return {
    engine: engine.name,
    model: engine.resourceOf && modelOf(speaker),
    voiceId: speaker.voiceId,
    chars: Math.min(chars, firstSegmentCharsMax),
    isBulk: false,
    seats: segmentsSpokenMax,
    isBehind: (starting) => guardOf(engine).isBehind(speaker.voiceId, starting),
    bytesMax: streamBytes + segmentsAtOnce * segmentSeconds * engineBytesPerSecond,
  };
}
