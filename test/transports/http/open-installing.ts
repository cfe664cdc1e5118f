// Opens the running service with the engine for neural models, a mirror of models on loopback, and a table of small
// models: amy and ben, which speak, and cal, whose licence forbids commercial use.
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createApiKeyRows } from '../../../src/accounts/keys/api-key-rows.ts';
import { operator } from '../../../src/accounts/keys/caller.ts';
import { createKeyManagement } from '../../../src/accounts/keys/key-management.ts';
import { loadConfig } from '../../../src/app/config.ts';
import { openService } from '../../../src/app/service.ts';
import { flite } from '../../../src/engines/flite/flite.ts';
import { sherpaOnnx } from '../../../src/engines/sherpa-onnx/sherpa-onnx.ts';
import { openStore } from '../../../src/platform/store/open-store.ts';
import { createLog } from '../../../src/platform/telemetry/log.ts';
import { createStorage } from '../../distributed/storage.ts';
import { tinyVoiceFiles } from '../../engines/tiny-supertonic.ts';
import { openMirror, sha256Of } from '../../library/models/model-mirror.ts';
import { tarOf } from '../../platform/archives/archive-writer.ts';
import { readReply } from './read-reply.ts';

/** Padding, so that a transfer takes a while if the mirror is slow. */
const paddingBytes = 300_000;

const archiveOf = (speakers: number) =>
  gzipSync(
    tarOf('hum', {
      ...tinyVoiceFiles({ speakers }),
      PADDING: randomBytes(paddingBytes),
    }),
  );

export const archives = { amy: archiveOf(1), ben: archiveOf(3), cal: archiveOf(1) };

const rowOf = (name: keyof typeof archives) => ({
  name,
  title: `${name[0]!.toUpperCase()}${name.slice(1)}, a tiny voice`,
  url: `https://models.invalid/releases/download/tts-models/${name}.tar.gz`,
  bytes: archives[name].length,
  sha256: sha256Of(archives[name]),
  languages: ['en'],
  voices: name === 'ben' ? 3 : 1,
  licence: 'CC0-1.0',
  licence_source: `https://example.com/${name}`,
  commercial: true,
});

export const table: readonly (Record<string, unknown> & { name: string })[] = [
  { ...rowOf('amy'), recommended: true, cost: 'next to nothing' },
  { ...rowOf('ben'), languages: ['de'], best_voice: '1' },
  { ...rowOf('cal'), licence: 'CC-BY-NC-4.0', commercial: false },
];

export interface InstallingOptions {
  rows?: readonly object[];
  settings?: Readonly<Record<string, string>>;
  /** Whether the models folder does not exist yet. */
  isFresh?: boolean;
}

export async function openInstalling(onClose: (close: () => Promise<void>) => void, options: InstallingOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-installing-'));
  const mirror = await openMirror(
    Object.fromEntries(Object.entries(archives).map(([name, bytes]) => [`tts-models/${name}.tar.gz`, bytes])),
  );
  const modelsFile = join(folder, 'models.json');
  writeFileSync(modelsFile, JSON.stringify({ models: options.rows ?? table }));
  const storage = await createStorage(folder);
  const definitions = [flite, sherpaOnnx];
  const env = {
    ...storage.settings,
    SONANT_HTTP_ADDR: '127.0.0.1:0',
    SONANT_GRPC_ADDR: '127.0.0.1:0',
    SONANT_MODELS: modelsFile,
    SONANT_MODELS_URL: mirror.url,
    ...options.settings,
  };
  const config = loadConfig({ env, folder, engines: definitions });
  // An existing folder is watched from startup.
  if (!options.isFresh) mkdirSync(join(config.dataDir, 'models'), { recursive: true });
  const logged: string[] = [];
  const open = async () =>
    openService({ config, definitions, log: createLog('info', (line) => logged.push(line)), isSinglePort: false });
  let service = await open();
  const makeKey = async (scopes: readonly string[], more: object = {}) => {
    const store = await openStore(config);
    const management = createKeyManagement({ rows: createApiKeyRows(store), onChange() {} });
    const { key } = await management.create({ scopes, ...more }, operator).finally(() => store.close());
    return key;
  };
  const key = await makeKey([
    'admin',
    'voices:read',
    'voices:write',
    'speech:synthesize',
    'speech:stream',
    'keys:read',
  ]);
  onClose(async () => {
    await service.drain();
    await mirror[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = async (method: string, path: string, body?: object, as = key) => {
    const answer = await fetch(`http://127.0.0.1:${service.httpPort}${path}`, {
      method,
      headers: { 'X-API-Key': as, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return readReply(answer);
  };
  return {
    get url() {
      return `http://127.0.0.1:${service.httpPort}`;
    },
    /** The address for gRPC. */
    get target() {
      return `127.0.0.1:${service.grpcPort}`;
    },
    folder,
    models: join(config.dataDir, 'models'),
    mirror,
    key,
    makeKey,
    send,
    logged,
    async restart() {
      await service.drain();
      service = await open();
    },
  };
}

export type Installing = Awaited<ReturnType<typeof openInstalling>>;
