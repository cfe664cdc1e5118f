// Opens the engines, with their guards. With tracing, each segment is a span in the trace of its call.
import type { InForce } from '../platform/runtime/config-mistakes.ts';
import { createMetrics, type Metrics } from '../platform/telemetry/prometheus.ts';
import { activeSpan, faultOf, within } from '../platform/telemetry/trace.ts';
import type { Engine, EngineDefinition, EngineLog } from './engine.ts';
import { createEngineGuards } from './guard.ts';
import type { VoiceDurations } from './voice-durations.ts';

export interface EnginesOptions {
  /** The settings of all engines, by name. */
  config: InForce & { dataDir: string; engines: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
  definitions: readonly EngineDefinition[];
  metrics?: Metrics;
  isTraced?: boolean;
  /** Default: what is learned of voices is not stored. */
  durations?: VoiceDurations;
  log?: EngineLog;
}

export async function openEngines(options: EnginesOptions) {
  const { definitions, metrics = createMetrics(), isTraced = false, durations } = options;
  const guards = createEngineGuards(metrics, durations);
  await using opened = new AsyncDisposableStack();
  const results = await Promise.allSettled(
    definitions.map(async (definition) => {
      const bare = await openEngine(definition, options, metrics);
      const engine = bare && isTraced ? traceEngine(bare) : bare;
      if (engine) opened.defer(guards(engine).close);
      return engine;
    }),
  );
  const engines = results.flatMap((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value ?? [];
  });
  const kept = opened.move();
  return { engines, guards, close: (): Promise<void> => kept.disposeAsync() };
}

/** Opens an engine. A broken optional engine is skipped if none of its settings is set; `sonant doctor` reports it. */
async function openEngine(
  { name, settings, isOptional, open }: EngineDefinition,
  { config, log }: EnginesOptions,
  metrics: Metrics,
) {
  try {
    return await open(config.engines[name]!, config.dataDir, log, metrics);
  } catch (error) {
    const own = new Set<unknown>(Object.values(settings));
    const isConfigured = config.inForce.some(({ setting, source }) => own.has(setting) && source !== 'default');
    if (!isOptional || isConfigured) throw error;
    log?.('warn', 'engine unavailable; continuing without it', { engine: name, fault: error });
    return undefined;
  }
}

/** Wraps an engine so that each segment is a span that lasts until its last audio. */
function traceEngine(engine: Engine): Engine {
  const speak: Engine['speak'] = (segment, signal) => {
    const span = activeSpan()?.child({
      name: `speak ${engine.name}`,
      kind: 'client',
      attributes: {
        'gen_ai.operation.name': 'generate_content',
        'gen_ai.output.type': 'speech',
        'gen_ai.provider.name': engine.name,
        'sonant.voice_id': segment.voice.voiceId,
        'sonant.characters': segment.text.length,
        'sonant.urgent': segment.urgent,
      },
    });
    if (!span) return engine.speak(segment, signal);
    return (async function* () {
      const pieces = within(span, () => engine.speak(segment, signal))[Symbol.asyncIterator]();
      const beganMs = performance.now();
      let hasSound = false;
      try {
        for (;;) {
          const { done, value } = await within(span, () => pieces.next());
          if (done) return;
          if (!hasSound) span.set({ 'sonant.first_sound_seconds': (performance.now() - beganMs) / 1000 });
          hasSound = true;
          yield value;
        }
      } catch (error) {
        span.end(signal.aborted ? undefined : faultOf(error));
        throw error;
      } finally {
        await pieces.return?.();
        span.end();
      }
    })();
  };
  // The other members of an engine may change, so they are read from the engine itself.
  return Object.create(engine, { speak: { value: speak } }) as Engine;
}
