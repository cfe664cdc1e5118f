// `sonant config`: prints the effective settings and the source of each. `--help` describes all settings.

import { registry } from '../../engines.ts';
import { allSettings } from '../config.ts';
import { type Command, flag, formatTable, jsonFlag, parseCommandArgs } from './command.ts';

const options = { changed: flag('print only the settings that are set'), json: jsonFlag };

export const configCommand: Command = {
  name: 'config',
  summary: 'print the settings in force',
  examples: ['sonant config --changed'],
  options,
  usage: () => `Usage: sonant config [--changed] [--json]

Prints every setting with its value and source; secrets are hidden. Settings are read from the environment, .env and
sonant.toml (http_addr = "..." is SONANT_HTTP_ADDR), in this order of precedence. --config FILE, which every command
accepts, or SONANT_CONFIG names another file to read in place of .env and sonant.toml.

${allSettings(registry)
  .map(
    ({ name, help, allowed, fallback }) =>
      `${name} (${allowed}; default ${fallback === '' ? 'none' : fallback})\n    ${help}`,
  )
  .join('\n')}`,
  async run({ args, loadConfig, print }) {
    const { values } = parseCommandArgs({ args, options });
    const inForce = loadConfig().inForce.filter(({ source }) => !values.changed || source !== 'default');
    const rows = inForce.map(({ setting, value, source }) => ({
      name: setting.name,
      value: setting.secret && value !== '' ? '(hidden)' : value,
      source,
    }));
    print(
      values.json
        ? JSON.stringify(rows, null, 2)
        : formatTable(rows.map((row) => [row.name, String(row.value), row.source])),
    );
    return 0;
  },
};
