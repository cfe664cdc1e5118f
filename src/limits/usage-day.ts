// Days as usage is counted by: of UTC, such as "2026-11-21".

export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Whether the text is a day of the calendar. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && dayOf(Date.parse(text)) === text;
