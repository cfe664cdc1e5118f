// What every stage of opening the service works with.
import type { EngineDefinition } from '../engines/engine.ts';
import type { Log } from '../telemetry/log.ts';
import type { Tracing } from '../telemetry/trace.ts';
import type { Config } from './config.ts';
import type { ServiceMetrics } from './service-metrics.ts';

export interface Opening {
  config: Config;
  definitions: readonly EngineDefinition[];
  log: Log;
  opened: AsyncDisposableStack;
  metrics: ServiceMetrics;
  /** Undefined where nothing is traced. */
  tracing: Tracing | undefined;
  onFault(fault: unknown): void;
}
