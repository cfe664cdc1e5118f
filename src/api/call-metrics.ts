// The metrics of finished calls. Metrics that OpenTelemetry's semantic conventions define use the names, labels and
// units of the conventions, which count RPCs separately from HTTP requests.
import type { Metrics } from '../platform/telemetry/prometheus.ts';
import type { EndedCall } from './call.ts';

const rpcSystems: Readonly<Record<string, string>> = { grpc: 'grpc', 'grpc-web': 'grpc', connect: 'connectrpc' };
/** Maximum number of voices with their own label. Further voices share one label, because their number is unlimited. */
const labelledVoicesMax = 100;

/** Returns a function that counts a call. */
export function createCallMetrics(metrics: Metrics): (call: EndedCall) => void {
  const calls = metrics.counter('sonant_calls_total', 'Finished calls, by method, API ("api") and status.');
  const callSeconds = metrics.distribution('sonant_call_seconds', 'Duration of calls.');
  const rpcSeconds = metrics.distribution('rpc_server_call_duration_seconds', 'Duration of RPCs.', {
    otelName: 'rpc.server.call.duration',
  });
  const firstSoundHelp = 'Time from the start of a call to its first audio.';
  const firstSound = metrics.distribution('sonant_first_sound_seconds', firstSoundHelp);
  const characters = metrics.counter('sonant_characters_total', 'Characters spoken.');
  const audioSeconds = metrics.counter('sonant_audio_seconds_total', 'Audio delivered, in seconds.');
  const cache = metrics.counter('sonant_cache_total', 'Complete texts, by cache hit or miss.');
  const voices = new Set<string>();
  return ({ method, api, status, durationMs, speech }) => {
    calls({ method, api, status });
    callSeconds({ method }, durationMs / 1000);
    const system = rpcSystems[api];
    if (system !== undefined) {
      const labels = { 'rpc.system.name': system, 'rpc.method': method, 'rpc.response.status_code': status };
      rpcSeconds(labels, durationMs / 1000);
    }
    const { voiceId, engine, isCached } = speech;
    if (voiceId === undefined || engine === undefined) return;
    if (voices.size < labelledVoicesMax) voices.add(voiceId);
    const labels = { voice: voices.has(voiceId) ? voiceId : 'other', engine };
    if (speech.firstSoundMs !== undefined) firstSound(labels, speech.firstSoundMs / 1000);
    if (isCached !== undefined) cache({ result: isCached ? 'hit' : 'miss' });
    if (speech.audioSeconds === undefined) return;
    characters(labels, speech.characters);
    audioSeconds(labels, speech.audioSeconds);
  };
}
