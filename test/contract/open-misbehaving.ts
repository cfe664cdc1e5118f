// Opens the running service with engines on servers that misbehave on demand, and records the requests to these
// servers. Engine timeouts can be shortened, so that a test of silence does not take a minute.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/app/config.ts';
import { openService } from '../../src/app/service.ts';
import type { Engine, EngineCapabilities, EngineDefinition } from '../../src/engines/engine.ts';
import { google } from '../../src/engines/google/google.ts';
import { openAiCompatible } from '../../src/engines/openai-compatible/openai-compatible.ts';
import { warmUpText } from '../../src/engines/openai-compatible/server-group.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { createStorage } from '../distributed/storage.ts';
import { type GoogleTrouble, openGoogleServer } from '../engines/google-server.ts';
import { openOpenAiServer, type ServerTrouble } from '../engines/openai-server.ts';
import { openTransports } from './open-transports.ts';

/** The misbehaviour of each server. */
export interface Trouble {
  openAi?: ServerTrouble;
  google?: GoogleTrouble;
}

export async function openMisbehaving(onClose: (close: () => Promise<void>) => void) {
  const openAi = await openOpenAiServer({}, onClose);
  const cloud = await openGoogleServer({}, onClose);
  const folder = mkdtempSync(join(tmpdir(), 'sonant-misbehaving-'));
  const engines: Engine[] = [];
  const noted = (definition: EngineDefinition): EngineDefinition => ({
    ...definition,
    async open(...given) {
      const engine = await definition.open(...given);
      if (engine) engines.push(engine);
      return engine;
    },
  });
  const definitions = [noted(openAiCompatible), noted(google)];
  const env = {
    ...(await createStorage(folder)).settings,
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' },
    ...{ SONANT_OPENAI_URL: openAi.url, SONANT_OPENAI_SAMPLE_RATE: '24000', SONANT_GOOGLE_ENDPOINT: cloud.endpoint },
    SONANT_GOOGLE_VOICES: 'en-US,cmn-CN,en-GB-Neural2',
  };
  const config = loadConfig({ env, folder, engines: definitions });
  const logged: string[] = [];
  const log = createLog('info', (line) => logged.push(line));
  const service = await openService({ config, definitions, log, isSinglePort: false });
  const { key } = service.firstKey!;
  const url = `http://127.0.0.1:${service.httpPort}`;
  const transports = openTransports({ url, target: `127.0.0.1:${service.grpcPort}`, key });
  onClose(async () => {
    transports.close();
    await service.drain();
    rmSync(folder, { recursive: true });
  });

  const voices = openAi.state.trouble.voices;
  /** The requested texts, without warm-ups: a server that failed gets one after a second, whatever its callers do. */
  const texts = () => openAi.requests.map(({ body }) => body.input).filter((text) => text !== warmUpText);
  const usual = engines.map(({ capabilities }) => capabilities);
  return {
    ...transports,
    url,
    key,
    engines,
    logged,
    openAi,
    cloud,
    /** Sets the misbehaviour from now on; the default is none. Counts of failing requests are reset. */
    misbehave({ openAi: first = {}, google: second = {} }: Trouble) {
      openAi.state.trouble = { voices, ...fresh(first) };
      cloud.state.trouble = fresh(second);
    },
    /** Sets the timeouts from now on. */
    wait(patience: Pick<EngineCapabilities, 'firstSoundMsMax' | 'stallMsMax'>) {
      for (const [i, engine] of engines.entries()) engine.capabilities = { ...usual[i]!, ...patience };
    },
    texts,
    /** Number of speech requests to all servers. */
    requestCount: () => texts().length + cloud.calls.filter(({ method }) => method !== 'list').length,
    /** Number of running requests at the servers. */
    running: () => openAi.state.running + cloud.state.running.size,
    async readMetric(name: string): Promise<number[]> {
      const text = await (await fetch(`${url}/metrics`)).text();
      return [...text.matchAll(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'gm'))].map(([, value]) => Number(value));
    },
  };
}

const fresh = <T extends { failures?: object }>(trouble: T): T =>
  trouble.failures ? { ...trouble, failures: { ...trouble.failures } } : trouble;
