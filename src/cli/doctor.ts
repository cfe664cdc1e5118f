// `sonant doctor`: checks that everything Sonant needs on this machine works, and reports what does not.
import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { checkClipStore } from '../app/check-clip-store.ts';
import type { OpenedVoiceManagement } from '../app/command-line.ts';
import { openClips } from '../app/open-clips.ts';
import { readTls } from '../app/read-tls.ts';
import { missingSecrets } from '../app/shared-secrets.ts';
import { type Config, type ConfigError, explainMistake } from '../config.ts';
import { registry } from '../engines/registry.ts';
import type { Failure } from '../errors.ts';
import { inspectRedis } from '../redis/inspect-redis.ts';
import { inspectStore, isStoreThere } from '../store/open-store.ts';
import { type Command, type CommandLine, formatTable, parseCommandArgs, withOpened } from './command.ts';

interface Finding {
  what: string;
  state: 'ready' | 'absent' | 'broken';
  message: string;
}

const options = { json: { type: 'boolean' } } as const;

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'check that everything needed works here',
  options,
  help: () => `Usage: sonant doctor [--json]

Checks Node, the settings, the data folder, the database, Redis, S3, every engine, the voices and the secrets of
webhooks. Exits with 1 if anything is broken; an optional engine that is not installed is not an error.
`,
  async run(line) {
    const { args, loadConfig, print } = line;
    const { values } = parseCommandArgs({ args, options });
    const config = loadConfig();
    const { dataDir, engines } = config;
    const database = await inspectDatabase(config);
    const findings: Finding[] = [
      { what: 'node', state: 'ready', message: process.version },
      { what: 'settings', ...inspectSettings(config) },
      { what: 'data folder', ...(await inspectFolder(dataDir)) },
      { what: 'database', ...database },
      { what: 'TLS', ...(await inspectTls(config)) },
      { what: 'Redis', ...(await inspectRedis(config.redisUrl, config.redisPrefix)) },
      { what: 'S3', ...(await inspectS3(config)) },
    ];
    for (const { name, inspect } of registry) {
      findings.push({ what: `engine ${name}`, ...(await inspect(engines[name]!, dataDir)) });
    }
    // Two working engines may still offer the same voice.
    if (!findings.some(isBroken)) {
      // Opening a database migrates it, which a check must not do.
      const canOpen = database.state === 'ready' || !isStoreThere(config);
      const later = { state: 'absent', message: 'are checked once the database is migrated' } as const;
      const voices = canOpen ? await inspectVoices(line, database.state === 'ready') : later;
      findings.push({ what: 'voices', ...voices });
      if (database.state === 'ready')
        findings.push({ what: 'webhook secrets', ...(await inspectWebhookSecrets(line)) });
    }
    print(
      values.json
        ? JSON.stringify(findings, null, 2)
        : formatTable(
            findings.map(({ what, state, message }) => [state, what, message]),
            { stateColumn: 0 },
          ),
    );
    return findings.some(isBroken) ? 1 : 0;
  },
};

const isBroken = ({ state }: Finding) => state === 'broken';

function inspectSettings(config: Config): Omit<Finding, 'what'> {
  const missing = missingSecrets(config);
  return missing.length > 0
    ? { state: 'broken', message: missing.map(explainMistake).join('; ') }
    : { state: 'ready', message: 'all are valid; sonant config prints them' };
}

async function inspectFolder(folder: string): Promise<Omit<Finding, 'what'>> {
  try {
    const existing = await closestExisting(folder);
    if (!(await stat(existing)).isDirectory())
      return { state: 'broken', message: `${existing} is a file, not a folder` };
    await access(existing, constants.W_OK);
    return { state: 'ready', message: existing === folder ? folder : `${folder}; is created when it is first needed` };
  } catch (error) {
    return { state: 'broken', message: `${folder} cannot be written: ${(error as Error).message}` };
  }
}

async function inspectDatabase(config: Config): Promise<Omit<Finding, 'what'>> {
  try {
    const { isReady, message } = await inspectStore(config);
    return { state: isReady ? 'ready' : 'absent', message };
  } catch (error) {
    const { message, cause } = error as Failure;
    return { state: 'broken', message: cause instanceof Error ? cause.message : message };
  }
}

async function inspectTls(config: Config): Promise<Omit<Finding, 'what'>> {
  try {
    const isSet = (await readTls(config)) !== undefined;
    return isSet
      ? { state: 'ready', message: 'certificate and key are valid' }
      : { state: 'absent', message: 'not configured; not needed on loopback or behind a proxy that terminates TLS' };
  } catch (error) {
    return { state: 'broken', message: (error as ConfigError).mistakes.map(explainMistake).join('; ') };
  }
}

const notInS3 = ({ databaseUrl }: Config): string =>
  `not configured; audio is stored in the data folder${databaseUrl === '' ? '' : ', which all replicas have to share'}`;

async function inspectS3(config: Config): Promise<Omit<Finding, 'what'>> {
  const { s3Bucket, s3Prefix, s3Links } = config;
  if (s3Bucket === '') return { state: 'absent', message: notInS3(config) };
  try {
    const opened = await openClips(config);
    await checkClipStore(opened).finally(() => opened.clips.close());
    return { state: 'ready', message: `audio is kept in ${s3Bucket}/${s3Prefix}, links are ${s3Links}` };
  } catch (error) {
    const { mistakes } = error as Partial<ConfigError>;
    return { state: 'broken', message: mistakes?.map(explainMistake).join('; ') ?? (error as Error).message };
  }
}

/** The path itself, or its closest parent that exists. */
async function closestExisting(path: string): Promise<string> {
  return (await stat(path).catch(() => undefined)) || path === dirname(path) ? path : closestExisting(dirname(path));
}

async function inspectVoices(
  { openApp, openVoiceManagement }: CommandLine,
  hasDatabase: boolean,
): Promise<Omit<Finding, 'what'>> {
  try {
    return await withOpened(hasDatabase ? await openVoiceManagement(registry) : await openApp(), async (opened) => {
      const message = `${opened.voices.list().length}, each with a unique id`;
      return { state: 'ready', message: 'rows' in opened ? `${message}; ${await inspectStored(opened)}` : message };
    });
  } catch (error) {
    return { state: 'broken', message: (error as Error).message };
  }
}

/** Verifies the voice record, and that the master key decrypts every clone. */
async function inspectStored({ rows, vault }: OpenedVoiceManagement): Promise<string> {
  const entries = await Array.fromAsync(rows.readRecord());
  const stored = (await rows.listChanged(0)).filter(({ status }) => status !== 'deleted');
  for (const { voiceId } of stored) {
    for (const { cloneId, sealed } of await rows.listClones(voiceId)) {
      const message = `voice ${voiceId} cannot be opened: SONANT_MASTER_KEY is not the one that it was made with`;
      await vault.open(sealed, cloneId).catch(() => Promise.reject(new Error(message)));
    }
  }
  return `${stored.length} kept here, and their record of ${entries.length} entries is whole`;
}

/** That the secret of the service decrypts those that sign webhooks. */
async function inspectWebhookSecrets({ openKeys }: CommandLine): Promise<Omit<Finding, 'what'>> {
  try {
    const { all, lost } = await withOpened(await openKeys(), ({ webhookSecrets }) => webhookSecrets.count());
    const cause = 'SONANT_SECRET, or the file secret of the data folder, is not the one that they were made with';
    const cure = 'restore it, or make others: sonant webhook secret KEY_ID --rotate';
    return lost > 0
      ? { state: 'broken', message: `${lost} of ${all} cannot be decrypted: ${cause}; ${cure}` }
      : { state: 'ready', message: `${all} kept here` };
  } catch (error) {
    return { state: 'broken', message: (error as Error).message };
  }
}
