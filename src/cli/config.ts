// `sonant config`: prints the effective settings and the source of each. `--help` describes all settings.
import { allSettings } from '../app/config.ts';
import { registry } from '../engines/registry.ts';
import { type Command, formatTable, jsonFlag, parseCommandArgs } from './command.ts';

const options = { json: jsonFlag };

export const configCommand: Command = {
  name: 'config',
  summary: 'print the settings in force',
  examples: ['sonant config --json'],
  options,
  usage: () => `Usage: sonant config [--json]

Prints every setting with its value and source; secrets are hidden. Settings are read from the environment, .env and
sonant.toml (data_dir = "..." is SONANT_DATA_DIR), in this order of precedence.

${allSettings(registry)
  .map(
    ({ name, help, allowed, fallback }) =>
      `${name} (${allowed}; default ${fallback === '' ? 'none' : fallback})\n    ${help}`,
  )
  .join('\n')}`,
  async run({ args, loadConfig, print }) {
    const { values } = parseCommandArgs({ args, options });
    const rows = loadConfig().inForce.map(({ setting, value, source }) => ({
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
