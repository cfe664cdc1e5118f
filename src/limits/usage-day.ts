// Days in UTC, such as "2026-11-21", by which usage is counted.

export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Whether the text is a valid calendar date. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && dayOf(Date.parse(text)) === text;
