// The log: one JSON object a line, on standard error, with time, level and message first. Secrets never get here: who
// logs says which facts. Below the level that is asked for, nothing is made.
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

/** A line is written whatever the facts: those that JSON cannot hold, such as what leads back to itself, as one text. */
function toJson(head: LogFacts, facts: LogFacts): string {
  try {
    return JSON.stringify({ ...head, ...facts }, toPlain);
  } catch {
    return JSON.stringify({ ...head, facts: inspect(facts, { depth: 6 }) });
  }
}

/** Errors with their stack and the errors in them, and numbers that JSON cannot hold. */
function toPlain(_key: string, value: unknown): unknown {
  if (value instanceof Error) {
    const { name, stack, cause } = value;
    // Of an AggregateError, and of a SuppressedError.
    const { errors, error, suppressed } = value as { errors?: unknown; error?: unknown; suppressed?: unknown };
    return { name, stack, cause, errors, error, suppressed };
  }
  return typeof value === 'bigint' ? String(value) : value;
}
