// When a job that ends is deleted, with everything that was made for it.
import type { JobSettings } from './job-request.ts';

/** In whole milliseconds, as in rows: `keep_hours` may be a fraction. `keepMs` applies if the job states nothing. */
export const expiryOf = ({ keepHours }: Pick<JobSettings, 'keepHours'>, nowMs: number, keepMs: number): number =>
  Math.round(nowMs + (keepHours === undefined ? keepMs : keepHours * 3_600_000));
