// Inputs shared by all stages of opening the service.
import type { EngineDefinition } from '../engines/engine.ts';
import { removeLeftTemporaryFolders } from '../runtime/files.ts';
import type { Log } from '../telemetry/log.ts';
import { watchProcess } from '../telemetry/process-metrics.ts';
import { createMetrics, type Metrics } from '../telemetry/prometheus.ts';
import type { Tracing } from '../telemetry/trace.ts';
import { type Config, explainMistake } from './config.ts';
import { logFault } from './logging.ts';
import { openTracing } from './tracing.ts';

interface Begun {
  config: Config;
  definitions: readonly EngineDefinition[];
  log: Log;
  /** Closes all opened parts in reverse order. */
  opened: AsyncDisposableStack;
}

export interface Opening extends Begun {
  metrics: Metrics;
  /** Traces calls; undefined if tracing is off. */
  tracing: Tracing | undefined;
  onFault(fault: unknown): void;
}

export function beginOpening(begun: Begun): Opening {
  const { config, log, opened } = begun;
  for (const warning of config.warnings) log.warn(explainMistake(warning));
  const onFault = (fault: unknown) => logFault(log, fault);
  const metrics = createMetrics();
  opened.defer(watchProcess(metrics));
  const sweep = removeLeftTemporaryFolders().catch(onFault);
  opened.defer(() => sweep);
  return { ...begun, onFault, metrics, tracing: openTracing(config, metrics, log, opened) };
}
