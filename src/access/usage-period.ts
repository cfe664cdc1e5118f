// The periods by which usage is counted, in UTC: days such as "2026-11-21", and calendar months for the character quota.

const dayMs = 24 * 3600 * 1000;
let latest = { index: Number.NaN, name: '' };

export function dayOf(ms: number): string {
  const index = Math.floor(ms / dayMs);
  if (latest.index !== index) latest = { index, name: new Date(ms).toISOString().slice(0, 10) };
  return latest.name;
}

/** Whether the text is a valid calendar date. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && dayOf(Date.parse(text)) === text;

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
