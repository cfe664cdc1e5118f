// The log: one JSON object a line, on standard error, with time, level and message first. Secrets never get here: who
// logs says which facts. Below the level that is asked for, nothing is made.
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export type LogFacts = Readonly<Record<string, unknown>>;
export type Log = Readonly<Record<Exclude<LogLevel, 'silent'>, (message: string, facts?: LogFacts) => void>>;

export function createLog(level: LogLevel, write: (line: string) => void = (line) => process.stderr.write(line)): Log {
  const from = logLevels.indexOf(level);
  const at = (each: LogLevel) => {
    if (logLevels.indexOf(each) < from) return () => {};
    return (message: string, facts: LogFacts = {}) => {
      write(`${JSON.stringify({ time: new Date().toISOString(), level: each, message, ...facts }, toPlain)}\n`);
    };
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Errors with their stack and cause, and numbers that JSON cannot hold. */
function toPlain(_key: string, value: unknown): unknown {
  if (value instanceof Error)
    return { name: value.name, stack: value.stack, ...(value.cause !== undefined && { cause: value.cause }) };
  return typeof value === 'bigint' ? String(value) : value;
}
