// Makes the tools with which all stages of the service are opened.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { EndedCall } from '../api.ts';
import type { EngineDefinition } from '../engines.ts';
import { type Failure, failureTable, isOfOthers } from '../platform/errors.ts';
import { explainMistake } from '../platform/runtime/config-mistakes.ts';
import { removeLeftTemporaryFolders } from '../platform/runtime/files.ts';
import { type Log, openRepeatedLines } from '../platform/telemetry/log.ts';
import { createMetrics, type Metrics } from '../platform/telemetry/prometheus.ts';
import type { Tools } from '../platform/telemetry/tools.ts';
import type { Config } from './config.ts';
import type { serviceSettings } from './settings.ts';
import { openTracing } from './tracing.ts';

// Logs how calls and requests ended, and errors that no caller receives. A client can repeat some calls at no cost:
// calls without a valid key, and calls refused for overload. Only a few lines a minute are logged for such calls, per
// reason or key; the rest are only counted.

/** `keyId` is undefined if the key is unknown. */
interface Refusal {
  reason: string;
  keyId?: string | undefined;
}

export function openCallLog(log: Log) {
  const lines = openRepeatedLines((refusal: Refusal, count) => {
    const what = refusal.keyId === undefined ? 'without a valid key' : 'refused for overload';
    log.info(`more calls ${what} in the last minute`, { ...refusal, count });
  });
  return {
    write({ failure, speech, ...call }: EndedCall): void {
      const write = () => logEnd(log, 'info', 'call', { ...call, ...speech }, failure);
      const reason = failure?.reason;
      const { keyId } = call;
      if (reason === undefined || reason === 'internal_error') write();
      else if (call.callerId === undefined) lines.add(reason, { reason }, write);
      else if (reason === 'overloaded') lines.add(`${reason} ${keyId}`, { reason, keyId }, write);
      else write();
    },
    close: () => lines.close(),
  };
}

/**
 * Logs an internal error as an error, a failure of a store or engine as a warning, and anything else at the level
 * `usual`.
 */
export function logEnd(
  log: Log,
  usual: 'debug' | 'info',
  what: string,
  ended: object,
  failure: Failure | undefined,
): void {
  const written = Object.fromEntries(Object.entries(ended).map(([name, value]) => [name, toWritten(name, value)]));
  if (!failure) return void log[usual](what, written);
  const { reason, cause } = failure;
  const isOurs = failureTable[reason].status >= 500;
  const level = reason === 'internal_error' ? 'error' : isOurs && cause !== undefined ? 'warn' : usual;
  log[level](what, { ...written, reason, ...(isOurs && { cause }) });
}

/** Rounds times to microseconds. */
const toWritten = (name: string, value: unknown): unknown =>
  typeof value === 'number' && name.endsWith('Ms') ? Math.round(value * 1000) / 1000 : value;

/** Logs an error that no caller receives: a failure of a store or engine as a warning, any other fault as an error. */
function logFault(log: Log, fault: unknown): void {
  log[isOfOthers(fault) ? 'warn' : 'error']('background fault', { fault });
}

// The metrics of the process: memory, CPU time, and the delay of the event loop.

const delayQuantiles = [0.5, 0.99, 1];
/** Measuring at this interval costs an idle process 0.6 ms of CPU time per second; 20 ms would cost 2 to 3 ms. */
const delayResolutionMs = 100;

/** Returns a function that stops measuring. */
function watchProcess(metrics: Metrics): () => void {
  metrics.gauge('sonant_process_resident_bytes', 'Resident memory of the process.', () => [
    [{}, process.memoryUsage.rss()],
  ]);
  const held = 'Memory of the main thread: the heap, garbage included, and memory that heap objects use outside of it.';
  metrics.gauge('sonant_process_memory_bytes', held, () => {
    const { heapUsed, external } = process.memoryUsage();
    return [
      [{ kind: 'heap' }, heapUsed],
      [{ kind: 'external' }, external],
    ];
  });
  metrics.total('sonant_process_cpu_seconds_total', 'CPU time of the process, user and system.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  const delay = monitorEventLoopDelay({ resolution: delayResolutionMs });
  delay.enable();
  const help = 'Delay of the event loop since the metrics were last read.';
  metrics.gauge('sonant_event_loop_delay_seconds', help, () => {
    const late = delayQuantiles.map((share) => {
      const nanos = delay.count === 0 ? 0 : delay.percentile(share * 100);
      return [{ quantile: String(share) }, Math.max(0, nanos / 1e9 - delayResolutionMs / 1000)] as const;
    });
    delay.reset();
    return late;
  });
  return () => void delay.disable();
}

interface Begun {
  config: Config;
  definitions: readonly EngineDefinition[];
  log: Log;
  opened: AsyncDisposableStack;
}

export type Opening = Begun & Tools<typeof serviceSettings> & { settings: Config };

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
