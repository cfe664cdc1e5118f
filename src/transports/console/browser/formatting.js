// Formats dates, durations, counts and file sizes in the locale of the browser.

/** @param {string} time */
export const toDate = (time) => new Date(time).toLocaleDateString(undefined, { dateStyle: 'medium' });

const units = /** @type {const} */ ([
  ['minute', 60],
  ['hour', 3_600],
  ['day', 86_400],
]);

/**
 * Formats a time relative to now, such as "2 days ago". Times more than 30 days away become a date.
 * @param {string} time
 */
export function toRelativeTime(time) {
  const seconds = (Date.parse(time) - Date.now()) / 1000;
  if (Math.abs(seconds) < 60) return seconds > 0 ? 'in a moment' : 'just now';
  const [unit, length] = /** @type {typeof units[number]} */ (units.findLast(([, each]) => Math.abs(seconds) >= each));
  const count = Math.trunc(seconds / length);
  if (unit === 'day' && Math.abs(count) > 30) return toDate(time);
  return new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' }).format(count, unit);
}

/**
 * Formats the time of a past event. The result is never in the future, even if the clock of this device is slow.
 * @param {string} time
 */
export const toTimeAgo = (time) => toRelativeTime(new Date(Math.min(Date.parse(time), Date.now())).toISOString());

/** @param {number} count */
export const toCount = (count) => count.toLocaleString();

/**
 * Formats a duration, for example as "8.2 s", "4 min 12 s" or "3 h 5 min".
 * @param {number} seconds
 */
export function toDuration(seconds) {
  if (seconds < 60) return `${Number(seconds.toFixed(1))} s`;
  const [whole, unit] = seconds < 3_600 ? [60, ['min', 's']] : [3_600, ['h', 'min']];
  const rest = Math.floor((seconds % whole) / (whole / 60));
  return `${toCount(Math.floor(seconds / whole))} ${unit[0]}${rest > 0 ? ` ${rest} ${unit[1]}` : ''}`;
}

/** @param {number} bytes */
export const toSize = (bytes) =>
  bytes < 1 << 20 ? `${Math.max(1, Math.round(bytes / 1024))} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`;
