// When a job that ends is forgotten, with all that was made for it.
import type { JobSettings } from './job-request.ts';

/** In whole milliseconds, as rows have it: `keep_hours` may be a fraction. `keepMs` where the job says nothing. */
export const expiryOf = ({ keepHours }: Pick<JobSettings, 'keepHours'>, nowMs: number, keepMs: number): number =>
  Math.round(nowMs + (keepHours === undefined ? keepMs : keepHours * 3_600_000));
