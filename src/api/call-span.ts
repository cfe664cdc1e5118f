// What the span of a call tells of it, by the semantic conventions of OpenTelemetry where they have a name; never a text.
import type { Span } from '../telemetry/trace.ts';
import type { EndedCall } from './ended-call.ts';

export function endCallSpan(span: Span, { requestId, method, door, status, keyId, speech, failure }: EndedCall): void {
  const { voiceId, engine, format, characters, isCached, audioSeconds, firstSoundMs } = speech;
  span.name = method || door;
  span.set({
    'rpc.method': method,
    'rpc.response.status_code': status,
    'sonant.door': door,
    'sonant.request_id': requestId,
    'sonant.key_id': keyId,
    'sonant.voice_id': voiceId,
    'sonant.engine': engine,
    'sonant.format': format,
    'sonant.characters': characters,
    'sonant.cached': isCached,
    'sonant.audio_seconds': audioSeconds,
    'sonant.first_sound_seconds': firstSoundMs === undefined ? undefined : firstSoundMs / 1000,
  });
  span.end(failure?.reason);
}
