// `sonant usage`: prints usage by key, voice or day, from the database.
import { usageDays, usageGroups } from '../../accounts.ts';
import { type Command, formatTable, jsonFlag, option, parseCommandArgs, UsageError, withOpened } from './command.ts';

const options = {
  from: option('DAY', 'the first day; default: the first of this month'),
  to: option('DAY', 'the last day; default: today'),
  'group-by': option('GROUP', 'one row for each key, voice or day; default: day'),
  json: jsonFlag,
};

const rowsMax = 1_000_000;

export const usageCommand: Command = {
  name: 'usage',
  summary: 'print usage by key, voice or day',
  examples: ['sonant usage --from 2026-01-01 --to 2026-01-31 --group-by key'],
  options,
  usage: () => `Usage: sonant usage [--from DAY] [--to DAY] [--group-by ${usageGroups.join('|')}] [--json]

Prints the requests, characters and seconds of audio of all keys. Days are in UTC, such as 2026-01-31.`,
  async run({ args, openUsage, print }) {
    const { values } = parseCommandArgs({ args, options });
    const { 'group-by': by = 'day' } = values;
    const groupBy = usageGroups.find((name) => name === by);
    if (!groupBy) throw new UsageError(`--group-by must be one of ${usageGroups.join(', ')}`);
    const { from, to, wrong } = usageDays(values);
    if (wrong[0]) throw new UsageError(`--${wrong[0]} must be a day such as 2026-01-31`);
    if (from > to) throw new UsageError(`--from ${from} is after --to ${to}`);
    const query = { range: { path: '' }, from, to, groupBy, limit: rowsMax };
    const sums = await withOpened(await openUsage(), ({ usage }) => usage.sum(query));
    const rows = sums.map(({ audioMs, ...sum }) => ({ ...sum, audio_seconds: audioMs / 1000 }));
    const cells = rows.map((row) => [row.group, ...[row.requests, row.characters, row.audio_seconds].map(String)]);
    const heading = [groupBy.toUpperCase(), 'REQUESTS', 'CHARACTERS', 'AUDIO SECONDS'];
    print(values.json ? JSON.stringify(rows, null, 2) : formatTable([heading, ...cells]));
    return 0;
  },
};
