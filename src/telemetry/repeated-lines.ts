// Lines that many requests can cause at no cost: a few of each kind are logged in a minute, and then their number.
//     {"message":"call", ...}                              the first few
//     {"message":"more of these","count":12345,...}        at the end of the minute

export interface RepeatedLines {
  /** Logs the line, or counts it. */
  add(kind: string, write: () => void): void;
  /** Reports what was counted, and ends. */
  close(): void;
}

export const repeatedLinesPerMinute = 10;
const minuteMs = 60_000;

/** `report` is called for each kind with the number of lines that were not logged. */
export function openRepeatedLines(report: (kind: string, count: number) => void, windowMs = minuteMs): RepeatedLines {
  const counts = new Map<string, number>();
  const flush = () => {
    for (const [kind, count] of counts)
      if (count > repeatedLinesPerMinute) report(kind, count - repeatedLinesPerMinute);
    counts.clear();
  };
  const timer = setInterval(flush, windowMs).unref();
  return {
    add(kind, write) {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      if (count <= repeatedLinesPerMinute) write();
    },
    close() {
      clearInterval(timer);
      flush();
    },
  };
}
