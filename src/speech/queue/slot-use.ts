// What a request takes of the service while it is spoken: how its first sound is measured, whether somebody listens, and the
// most memory that its sound takes.

import type { EngineGuards } from '../engine-guard.ts';
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
  ...slotUseOfText(binding, request, guardOf),
  wholeChars: request.method === 'rest' ? request.chars : undefined,
  isBulk: isBulk(request),
});

/** Of a text that is heard while it is spoken. */
export function slotUseOfText(
  { engine, speaker }: Binding,
  { chars, languageCode }: { chars: number; languageCode?: string | undefined },
  guardOf: EngineGuards,
): SlotUse {
  const { segmentsSpokenMax, segmentsPerResource = 1, segmentCharsMax, segmentsAtOnce } = engine.capabilities;
  const { firstSegmentCharsMax = firstCharsUsual } = engine.capabilities;
  const segmentSeconds = secondsMax.start + secondsMax.perChar * Math.min(chars, segmentCharsMax);
  const { voiceId, languageCodes } = speaker;
  const resource = engine.resourceOf?.({ voice: speaker, languageCode: languageCode ?? languageCodes[0]! });
  return {
    engine: engine.name,
    ...(resource !== undefined && { model: { name: resource, seats: segmentsPerResource } }),
    voiceId,
    chars: Math.min(chars, firstSegmentCharsMax),
    isBulk: false,
    seats: segmentsSpokenMax,
    isBehind: (starting) => guardOf(engine).isBehind({ voiceId, resource }, starting),
    bytesMax: streamBytes + segmentsAtOnce * segmentSeconds * engineBytesPerSecond,
  };
}
