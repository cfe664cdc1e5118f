// The log: one JSON object per line on standard error, with time, level and message first. Callers must not pass
// secrets. Lines below the configured level are not formatted.
import { inspect } from 'node:util';

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export type LogFacts = Readonly<Record<string, unknown>>;
export type Log = Readonly<Record<Exclude<LogLevel, 'silent'>, (message: string, facts?: LogFacts) => void>>;

export function createLog(level: LogLevel, write: (line: string) => void = (line) => process.stderr.write(line)): Log {
  const from = logLevels.indexOf(level);
  const at = (each: LogLevel) => {
    if (logLevels.indexOf(each) < from) return () => {};
    return (message: string, facts: LogFacts = {}) => {
      write(`${toJson({ time: new Date().toISOString(), level: each, message }, facts)}\n`);
    };
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** If JSON cannot represent a fact, such as a circular structure, all facts are logged as one string. */
function toJson(head: LogFacts, facts: LogFacts): string {
  try {
    return JSON.stringify({ ...head, ...facts }, toPlain);
  } catch {
    return JSON.stringify({ ...head, facts: inspect(facts, { depth: 6 }) });
  }
}

/** Converts bigints, and errors with their stack and nested errors. */
function toPlain(_key: string, value: unknown): unknown {
  if (value instanceof Error) {
    const { name, stack, cause } = value;
    // Members of AggregateError and SuppressedError.
    const { errors, error, suppressed } = value as { errors?: unknown; error?: unknown; suppressed?: unknown };
    return { name, stack, cause, errors, error, suppressed };
  }
  return typeof value === 'bigint' ? String(value) : value;
}

interface RepeatedLines<Kind> {
  /** Logs or counts the line. Lines with the same name are counted together. */
  add(name: string, kind: Kind, write: () => void): void;
  /** Reports the remaining counts and stops the timer. */
  close(): void;
}

export const repeatedLinesPerMinute = 10;
const minuteMs = 60_000;

/** Limits repeated lines. Calls `report` for each kind with the number of lines that were not logged. */
export function openRepeatedLines<Kind>(
  report: (kind: Kind, count: number) => void,
  windowMs = minuteMs,
): RepeatedLines<Kind> {
  const counts = new Map<string, { kind: Kind; count: number }>();
  const flush = () => {
    for (const { kind, count } of counts.values())
      if (count > repeatedLinesPerMinute) report(kind, count - repeatedLinesPerMinute);
    counts.clear();
  };
  const timer = setInterval(flush, windowMs).unref();
  return {
    add(name, kind, write) {
      const counted = counts.get(name) ?? { kind, count: 0 };
      if (counted.count === 0) counts.set(name, counted);
      if (++counted.count <= repeatedLinesPerMinute) write();
    },
    close() {
      clearInterval(timer);
      flush();
    },
  };
}
