// The log: one JSON object a line, on standard error, with time, level and message first. Callers choose the facts, and
// never pass secrets. Below the configured level nothing is formatted.
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

/** Facts that JSON cannot represent, such as circular structures, are logged as one text. */
function toJson(head: LogFacts, facts: LogFacts): string {
  try {
    return JSON.stringify({ ...head, ...facts }, toPlain);
  } catch {
    return JSON.stringify({ ...head, facts: inspect(facts, { depth: 6 }) });
  }
}

/** Converts errors, with their stack and nested errors, and bigints. */
function toPlain(_key: string, value: unknown): unknown {
  if (value instanceof Error) {
    const { name, stack, cause } = value;
    // Members of AggregateError and SuppressedError.
    const { errors, error, suppressed } = value as { errors?: unknown; error?: unknown; suppressed?: unknown };
    return { name, stack, cause, errors, error, suppressed };
  }
  return typeof value === 'bigint' ? String(value) : value;
}
