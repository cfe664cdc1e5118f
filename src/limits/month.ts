// Calendar months in UTC, by which the character quota is counted.

export interface Month {
  /** Such as "2026-11". */
  name: string;
  beginsMs: number;
  endsMs: number;
}

export function monthAt(nowMs: number): Month {
  const date = new Date(nowMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { name: date.toISOString().slice(0, 7), beginsMs: Date.UTC(year, month), endsMs: Date.UTC(year, month + 1) };
}
