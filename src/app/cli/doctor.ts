// `sonant doctor`: checks everything that Sonant needs on this machine, and reports problems.
import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { checkIssuer } from '../../accounts.ts';
import { checkClipStore } from '../../clips.ts';
import { type EngineReport, registry } from '../../engines.ts';
import type { FailureFacts } from '../../platform/errors.ts';
import { ConfigError, type ConfigMistake, explainMistake } from '../../platform/runtime/config-mistakes.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';
import { inspectStore, isStoreThere } from '../../platform/store/open-store.ts';
import { portsInUse, readTls, settingMistakes } from '../check-settings.ts';
import type { OpenedVoiceManagement } from '../command-line.ts';
import type { Config } from '../config.ts';
import {
  type Command,
  type CommandLine,
  flag,
  formatTable,
  jsonFlag,
  parseCommandArgs,
  withOpened,
} from './command.ts';

/** Unlike an engine, a port can be in use, perhaps by the service itself. */
type Report = Omit<EngineReport, 'state'> & { state: EngineReport['state'] | 'in use' };
type Finding = Report & { what: string };

const options = { 'single-port': flag('check the settings of sonant serve --single-port'), json: jsonFlag };

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'check the settings and everything that the service needs',
  examples: ['sonant doctor --json'],
  options,
  usage: () => `Usage: sonant doctor [--single-port] [--json]

Checks Node, the settings, the ports, the data folder, the database, TLS, S3, the OpenID Connect issuer, every
engine, the voices and the webhook secrets. Exits with 1 if anything is broken. An optional engine that is not installed
is not an error, nor is a port in use, because the service itself may use it.`,
  async run(line) {
    const { args, loadConfig, print } = line;
    const { values } = parseCommandArgs({ args, options });
    const config = loadConfig();
    const { dataDir, engines } = config;
    const isSinglePort = values['single-port'] ?? false;
    const database = await inspect(() => inspectDatabase(config));
    const findings: Finding[] = [
      { what: 'node', state: 'ready', message: process.version },
      { what: 'settings', ...inspectSettings(config, isSinglePort) },
      { what: 'ports', ...(await inspectPorts(config, isSinglePort)) },
      { what: 'data folder', ...(await inspectFolder(dataDir)) },
      { what: 'database', ...database },
      { what: 'TLS', ...(await inspect(() => inspectTls(config))) },
      { what: 'S3', ...(await inspect(() => inspectS3(config))) },
      { what: 'OIDC issuer', ...(await inspect(() => inspectIssuer(config))) },
    ];
    for (const { name, inspect } of registry) {
      findings.push({ what: `engine ${name}`, ...(await inspect(engines[name]!, dataDir)) });
    }
    // Opening all engines also detects that two working engines offer the same voice.
    if (!findings.some(isBroken)) {
      // Opening the database migrates it, which a check must not do.
      const canOpen = database.state === 'ready' || !isStoreThere(config);
      const voices = canOpen
        ? await inspect(() => inspectVoices(line, database.state === 'ready'))
        : absent('not checked until the database is migrated');
      findings.push({ what: 'voices', ...voices });
      if (database.state === 'ready')
        findings.push({ what: 'webhook secrets', ...(await inspect(() => inspectWebhookSecrets(line))) });
    }
    print(
      values.json
        ? JSON.stringify(findings, null, 2)
        : formatTable(
            findings.map(({ what, state, message }) => [state, what, line.asTyped(message)]),
            { stateColumn: 0 },
          ),
    );
    return findings.some(isBroken) ? 1 : 0;
  },
};

const isBroken = ({ state }: Report) => state === 'broken';
const ready = (message: string): EngineReport => ({ state: 'ready', message });
const absent = (message: string): EngineReport => ({ state: 'absent', message });
const broken = (message: string): EngineReport => ({ state: 'broken', message });

/** The result of a check, or its error. */
const inspect = (check: () => Promise<EngineReport>): Promise<EngineReport> =>
  check().catch((error: Error & { facts?: FailureFacts }) => {
    if (error instanceof ConfigError) return broken(explainAll(error.mistakes));
    const { cause, facts } = error;
    return broken(facts?.message ?? (cause instanceof Error ? reasonOf(cause) : reasonOf(error)));
  });

const explainAll = (mistakes: readonly ConfigMistake[]) => mistakes.map(explainMistake).join('; ');

function inspectSettings(config: Config, isSinglePort: boolean): EngineReport {
  const mistakes = settingMistakes(config, isSinglePort);
  return mistakes.length > 0 ? broken(explainAll(mistakes)) : ready('all are valid; sonant config prints them');
}

async function inspectPorts(config: Config, isSinglePort: boolean): Promise<Report> {
  const mistakes = await portsInUse(config, isSinglePort);
  if (mistakes.length === 0) return ready('the ports are free');
  return { state: 'in use', message: `${explainAll(mistakes)}; nothing to do if your service is running` };
}

async function inspectFolder(folder: string): Promise<EngineReport> {
  try {
    const existing = await closestExisting(folder);
    if (!(await stat(existing)).isDirectory()) return broken(`${existing} is a file, not a folder`);
    await access(existing, constants.W_OK);
    return ready(existing === folder ? folder : `${folder}; it will be created when it is first needed`);
  } catch (error) {
    return broken(`${folder} cannot be written: ${reasonOf(error)}`);
  }
}

async function inspectDatabase(config: Config): Promise<EngineReport> {
  const { isReady, message } = await inspectStore(config);
  return isReady ? ready(message) : absent(message);
}

async function inspectTls(config: Config): Promise<EngineReport> {
  return (await readTls(config))
    ? ready('certificate and key are valid')
    : absent('not configured; not needed on loopback or behind a proxy that terminates TLS');
}

const notInS3 = ({ databaseUrl }: Config): string =>
  `not configured; audio is stored in the data folder${databaseUrl === '' ? '' : ', which all replicas must share'}`;

async function inspectS3(config: Config): Promise<EngineReport> {
  const { s3Bucket, s3Prefix, s3Links } = config;
  if (s3Bucket === '') return absent(notInS3(config));
  await checkClipStore(config);
  return ready(`audio is stored in ${s3Bucket}/${s3Prefix}; links are ${s3Links}`);
}

async function inspectIssuer(config: Config): Promise<EngineReport> {
  const issuer = await checkIssuer(config);
  return issuer === undefined ? absent('not configured; create keys with sonant key') : ready(`${issuer} answers`);
}

/** Returns the path itself, or its closest parent that exists. */
async function closestExisting(path: string): Promise<string> {
  return (await stat(path).catch(() => undefined)) || path === dirname(path) ? path : closestExisting(dirname(path));
}

async function inspectVoices(
  { openApp, openVoiceManagement }: CommandLine,
  hasDatabase: boolean,
): Promise<EngineReport> {
  return withOpened(hasDatabase ? await openVoiceManagement(registry) : await openApp(), async (opened) => {
    const [leftOut] = opened.voices.leftOut();
    if (leftOut) return broken(`voice ${leftOut.voiceId} of ${leftOut.engine} is left out: another engine has this id`);
    const message = `${opened.voices.list().length}, each with a unique id`;
    return ready('readRecord' in opened ? `${message}; ${await inspectStored(opened)}` : message);
  });
}

/** Verifies the audit log for voices, and that the master key decrypts every clone. */
async function inspectStored({ readRecord, checkStored }: OpenedVoiceManagement): Promise<string> {
  const entries = await Array.fromAsync(readRecord());
  return `${await checkStored()} stored, and their audit log of ${entries.length} entries is valid`;
}

/** Checks that the service's secret decrypts the webhook secrets. */
async function inspectWebhookSecrets({ openKeys }: CommandLine): Promise<EngineReport> {
  const { all, lost } = await withOpened(await openKeys(), ({ webhookSecrets }) => webhookSecrets.count());
  const cause = 'SONANT_SECRET, or the file secret in the data folder, has changed since they were created';
  const cure = 'restore it, or create new secrets with sonant webhook secret KEY_ID --rotate';
  return lost > 0 ? broken(`${lost} of ${all} cannot be decrypted: ${cause}; ${cure}`) : ready(`${all} stored`);
}
