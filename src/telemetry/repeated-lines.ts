// Lines that many requests can cause at no cost: a few of each kind are logged in a minute, and then their number.
//     {"message":"call", ...}                              the first few
//     {"message":"more of these","count":12345,...}        at the end of the minute

export interface RepeatedLines<Kind> {
  /** Logs the line, or counts it. Kinds of the same name are the same. */
  add(name: string, kind: Kind, write: () => void): void;
  /** Reports what was counted, and ends. */
  close(): void;
}

export const repeatedLinesPerMinute = 10;
const minuteMs = 60_000;

/** `report` is called for each kind with the number of lines that were not logged. */
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
