// `sonant doctor`: looks whether everything that Sonant needs here works, and says what to do about what does not.
import { existsSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { registry } from '../engines/registry.ts';
import { type Command, formatTable, parseCommandArgs } from './command.ts';

interface Finding {
  what: string;
  state: 'ready' | 'absent' | 'broken';
  message: string;
}

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'check that everything needed works here',
  help: () => `Usage: sonant doctor [--json]

Checks Node, the settings, the data folder and every engine. Exits with 1 if anything is broken; an optional engine
that is not installed is no fault.
`,
  async run({ args, loadConfig, print }) {
    const { values } = parseCommandArgs({ args, options: { json: { type: 'boolean' } } });
    const { dataDir, engines } = loadConfig();
    const findings: Finding[] = [
      { what: 'node', state: 'ready', message: process.version },
      { what: 'settings', state: 'ready', message: 'all are valid; sonant config prints them' },
      { what: 'data folder', ...(await inspectFolder(dataDir)) },
    ];
    for (const { name, inspect } of registry) {
      findings.push({ what: `engine ${name}`, ...(await inspect(engines[name]!, dataDir)) });
    }
    print(
      values.json
        ? JSON.stringify(findings, null, 2)
        : formatTable(findings.map(({ what, state, message }) => [state, what, message])),
    );
    return findings.some(({ state }) => state === 'broken') ? 1 : 0;
  },
};

async function inspectFolder(folder: string): Promise<Omit<Finding, 'what'>> {
  const isThere = existsSync(folder);
  try {
    await access(isThere ? folder : dirname(folder), constants.W_OK);
    return { state: 'ready', message: isThere ? folder : `${folder}, made when it is first needed` };
  } catch (error) {
    return { state: 'broken', message: `${folder} cannot be written: ${(error as Error).message}` };
  }
}
