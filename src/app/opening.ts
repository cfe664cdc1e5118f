// Makes the tools with which all stages of the service are opened.
import type { EngineDefinition } from '../engines.ts';
import { explainMistake } from '../platform/runtime/config-mistakes.ts';
import { removeLeftTemporaryFolders } from '../platform/runtime/files.ts';
import type { Log } from '../platform/telemetry/log.ts';
import { watchProcess } from '../platform/telemetry/process-metrics.ts';
import { createMetrics } from '../platform/telemetry/prometheus.ts';
import type { Tools } from '../platform/telemetry/tools.ts';
import type { Config } from './config.ts';
import { logFault } from './logging.ts';
import type { serviceSettings } from './settings.ts';
import { openTracing } from './tracing.ts';

interface Begun {
  config: Config;
  definitions: readonly EngineDefinition[];
  log: Log;
  opened: AsyncDisposableStack;
}

export type Opening = Begun & Tools<typeof serviceSettings>;

export function beginOpening(begun: Begun): Opening {
  const { config, log, opened } = begun;
  for (const warning of config.warnings) log.warn(explainMistake(warning));
  const onFault = (fault: unknown) => logFault(log, fault);
  const metrics = createMetrics();
  opened.defer(watchProcess(metrics));
  const sweep = removeLeftTemporaryFolders().catch(onFault);
  opened.defer(() => sweep);
  return { ...begun, settings: config, onFault, metrics, tracing: openTracing(config, metrics, log, opened) };
}
