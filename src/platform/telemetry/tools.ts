// The tools that the app hands to the opener of each room.
import type { Settings, SettingValues } from '../runtime/setting-types.ts';
import type { Log } from './log.ts';
import type { Metrics } from './prometheus.ts';
import type { Tracing } from './trace.ts';

/** `S` are the settings that the room declares. */
export interface Tools<S extends Settings> {
  settings: SettingValues<S>;
  log: Log;
  metrics: Metrics;
  /** Traces calls; undefined if tracing is off. */
  tracing: Tracing | undefined;
  /** Called with errors that no caller receives. */
  onFault(fault: unknown): void;
  /** Closes all opened parts in reverse order. */
  opened: AsyncDisposableStack;
}
