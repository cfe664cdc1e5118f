// `sonant usage`: what was spoken, by key, voice or day, as the ledger on this machine has it.

import { dayOf, isDay } from '../limits/usage-day.ts';
import { usageGroups } from '../store/usage-rows.ts';
import { type Command, formatTable, parseCommandArgs, UsageError } from './command.ts';

const options = {
  from: { type: 'string' },
  to: { type: 'string' },
  'group-by': { type: 'string' },
  json: { type: 'boolean' },
} as const;

const rowsMax = 1_000_000;

export const usageCommand: Command = {
  name: 'usage',
  summary: 'tell what was spoken, by key, voice or day',
  options,
  choices: { 'group-by': usageGroups },
  help: () => `Usage: sonant usage [--from DAY] [--to DAY] [--group-by ${usageGroups.join('|')}] [--json]

Tells the requests, characters and seconds of audio of all keys. Days are of UTC, such as 2026-01-31.

  --from DAY        the first day; default: the first of this month
  --to DAY          the last day; default: today
  --group-by GROUP  what to sum by; default: day
  --json            print JSON, for programs
`,
  async run({ args, openUsage, print }) {
    const { values } = parseCommandArgs({ args, options });
    const { to = dayOf(Date.now()), from = `${to.slice(0, 8)}01`, 'group-by': by = 'day' } = values;
    const groupBy = usageGroups.find((name) => name === by);
    if (!groupBy) throw new UsageError(`--group-by is one of ${usageGroups.join(', ')}`);
    for (const day of [from, to]) if (!isDay(day)) throw new UsageError(`${day} is no day such as 2026-01-31`);
    const { usage, close } = await openUsage();
    try {
      const sums = await usage.sum({ range: { path: '' }, from, to, groupBy, limit: rowsMax });
      const rows = sums.map(({ group, requests, characters, audioMs }) => ({
        group,
        requests,
        characters,
        audio_seconds: audioMs / 1000,
      }));
      const heading = [groupBy.toUpperCase(), 'REQUESTS', 'CHARACTERS', 'AUDIO SECONDS'];
      print(
        values.json
          ? JSON.stringify(rows, null, 2)
          : formatTable([heading, ...rows.map((row) => Object.values(row).map(String))]),
      );
      return 0;
    } finally {
      await close();
    }
  },
};
