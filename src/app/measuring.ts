// What of the service is measured, and from where: calls as they end, requests over HTTP, and every engine's segments,
// retries, state and line.
import type { Engine } from '../engines/engine.ts';
import type { EndedRequest } from '../gateway/http/ended-request.ts';
import type { EndedCall } from '../operations/runner.ts';
import type { EngineGuards, EngineWatch } from '../speech/engine-guard.ts';
import type { Slots } from '../speech/slots.ts';
import { createMetrics } from '../telemetry/metrics.ts';

export interface Measuring {
  engineWatch: EngineWatch;
  onCallEnd(call: EndedCall): void;
  onRequestEnd(request: EndedRequest): void;
  watchHeart(heart: { engines: readonly Engine[]; guards: EngineGuards; slots: Slots }): void;
  watchSharing(state: () => { isAway: boolean; outages: number; decidedAlone: number }): void;
  text(): string;
}

const states = ['closed', 'half_open', 'open'] as const;

export function createMeasuring(): Measuring {
  const metrics = createMetrics();
  const calls = metrics.counter('sonant_calls_total', 'Calls of the core that have ended, by method, door and status.');
  const callSeconds = metrics.durations('sonant_call_seconds', 'How long calls of the core last.');
  const requests = metrics.counter(
    'sonant_http_requests_total',
    'Requests over HTTP that have ended, by route and status.',
  );
  const segments = metrics.counter('sonant_engine_segments_total', 'Segments given to an engine, by how they ended.');
  const firstSound = metrics.durations('sonant_engine_first_sound_seconds', 'Until the first sound of a segment.');
  const retries = metrics.counter('sonant_engine_retries_total', 'Segments tried again before any sound.');
  metrics.gauge('sonant_process_resident_bytes', 'Memory of the process.', () => [[{}, process.memoryUsage.rss()]]);
  metrics.total('sonant_process_cpu_seconds_total', 'Time that the process has computed.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });

  return {
    engineWatch: {
      onSegment(engine, { outcome, firstSoundMs }) {
        segments({ engine, outcome });
        if (firstSoundMs !== undefined) firstSound({ engine }, firstSoundMs / 1000);
      },
      onRetry: (engine) => retries({ engine }),
    },
    onCallEnd({ method, door, status, durationMs }) {
      calls({ method, door, status });
      callSeconds({ method }, durationMs / 1000);
    },
    onRequestEnd: ({ method, route, status }) => requests({ method, route, status: String(status) }),
    watchHeart({ engines, guards, slots }) {
      metrics.gauge('sonant_speaking', 'Requests that speak now.', () => [[{}, slots.speaking]]);
      metrics.gauge('sonant_waiting', 'Requests that wait for their turn.', () => [[{}, slots.waiting]]);
      metrics.gauge('sonant_engine_state', '1 for the worst state that a breaker of the engine is in.', () =>
        engines.flatMap((engine) =>
          states.map((state) => [{ engine: engine.name, state }, Number(guards(engine).state === state)] as const),
        ),
      );
      metrics.gauge('sonant_engine_waiting', 'Segments that wait for their turn at the engine.', () =>
        engines.map((engine) => [{ engine: engine.name }, guards(engine).waiting] as const),
      );
    },
    watchSharing(state) {
      metrics.gauge('sonant_redis_away', '1 while limits are kept without Redis.', () => [
        [{}, Number(state().isAway)],
      ]);
      metrics.total('sonant_redis_outages_total', 'How often Redis has gone away.', () => state().outages);
      metrics.total('sonant_limits_alone_total', 'Decisions about limits that were made without Redis.', () => {
        return state().decidedAlone;
      });
    },
    text: metrics.text,
  };
}
