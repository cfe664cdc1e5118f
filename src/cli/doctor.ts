// `sonant doctor`: looks whether everything that Sonant needs here works, and says what to do about what does not.
import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { OpenedVoiceManagement } from '../app/command-line.ts';
import { openClips } from '../app/open-clips.ts';
import { readTls } from '../app/tls.ts';
import { tryClips } from '../app/try-clips.ts';
import { type Config, type ConfigError, explainMistake } from '../config.ts';
import { registry } from '../engines/registry.ts';
import type { Failure } from '../errors.ts';
import { inspectRedis } from '../redis/inspect-redis.ts';
import { inspectStore, isStoreThere } from '../store/open-store.ts';
import { type Command, type CommandLine, formatTable, parseCommandArgs } from './command.ts';

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

Checks Node, the settings, the data folder, the database, Redis, S3, every engine and the voices. Exits with 1 if
anything is broken; an optional engine that is not installed is no fault.
`,
  async run(line) {
    const { args, loadConfig, print } = line;
    const { values } = parseCommandArgs({ args, options });
    const config = loadConfig();
    const { dataDir, engines } = config;
    const database = await inspectDatabase(config);
    const findings: Finding[] = [
      { what: 'node', state: 'ready', message: process.version },
      { what: 'settings', state: 'ready', message: 'all are valid; sonant config prints them' },
      { what: 'data folder', ...(await inspectFolder(dataDir)) },
      { what: 'database', ...database },
      { what: 'TLS', ...(await inspectTls(config)) },
      { what: 'Redis', ...(await inspectRedis(config.redisUrl, config.redisPrefix)) },
      { what: 'S3', ...(await inspectS3(config)) },
    ];
    for (const { name, inspect } of registry) {
      findings.push({ what: `engine ${name}`, ...(await inspect(engines[name]!, dataDir)) });
    }
    // Engines that are well by themselves may still offer the same voice.
    if (!findings.some(isBroken)) {
      // To open a database is to bring it up, which is not for who only looks.
      const isAsItWas = database.state === 'ready' || !isStoreThere(config);
      const later = { state: 'absent', message: 'looked at when the database has been brought up' } as const;
      const voices = isAsItWas ? await inspectVoices(line, database.state === 'ready') : later;
      findings.push({ what: 'voices', ...voices });
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

async function inspectFolder(folder: string): Promise<Omit<Finding, 'what'>> {
  try {
    const there = await closestThere(folder);
    if (!(await stat(there)).isDirectory()) return { state: 'broken', message: `${there} is a file, not a folder` };
    await access(there, constants.W_OK);
    return { state: 'ready', message: there === folder ? folder : `${folder}, made when it is first needed` };
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
      ? { state: 'ready', message: 'certificate and key can be used' }
      : { state: 'absent', message: 'not set up; fine on this machine alone, or behind a proxy that does it' };
  } catch (error) {
    return { state: 'broken', message: (error as ConfigError).mistakes.map(explainMistake).join('; ') };
  }
}

async function inspectS3(config: Config): Promise<Omit<Finding, 'what'>> {
  const { s3Bucket, s3Prefix, s3Links } = config;
  if (s3Bucket === '') return { state: 'absent', message: 'not set up; audio is kept in the data folder' };
  try {
    const opened = await openClips(config);
    await tryClips(opened).finally(() => opened.clips.close());
    return { state: 'ready', message: `audio is kept in ${s3Bucket}/${s3Prefix}, links are ${s3Links}` };
  } catch (error) {
    const { mistakes } = error as Partial<ConfigError>;
    return { state: 'broken', message: mistakes?.map(explainMistake).join('; ') ?? (error as Error).message };
  }
}

/** The path itself, or the closest above it that there is. */
async function closestThere(path: string): Promise<string> {
  return (await stat(path).catch(() => undefined)) || path === dirname(path) ? path : closestThere(dirname(path));
}

async function inspectVoices(
  { openApp, openVoiceManagement }: CommandLine,
  isKept: boolean,
): Promise<Omit<Finding, 'what'>> {
  try {
    const opened = isKept ? await openVoiceManagement(registry) : await openApp();
    try {
      const message = `${opened.voices.list().length}, each under a name of its own`;
      return { state: 'ready', message: 'rows' in opened ? `${message}; ${await inspectKept(opened)}` : message };
    } finally {
      await opened.close();
    }
  } catch (error) {
    return { state: 'broken', message: (error as Error).message };
  }
}

/** Whether the record is whole, and every clone opens with the master key of here. */
async function inspectKept({ rows, vault }: OpenedVoiceManagement): Promise<string> {
  const entries = await Array.fromAsync(rows.readRecord());
  const kept = (await rows.listChanged(0)).filter(({ status }) => status !== 'deleted');
  for (const { voiceId } of kept) {
    for (const { cloneId, sealed } of await rows.listClones(voiceId)) {
      const closed = `voice ${voiceId} cannot be opened: SONANT_MASTER_KEY is not the one that it was made with`;
      await vault.open(sealed, cloneId).catch(() => Promise.reject(new Error(closed)));
    }
  }
  return `${kept.length} kept here, and their record of ${entries.length} entries is whole`;
}
