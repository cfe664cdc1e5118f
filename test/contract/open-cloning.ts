// Opens the running service with an engine that clones, for tests of a person's voice: its requests, responses, log and
// stored data.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import { createApiKeyRows } from '../../src/accounts/keys/api-key-rows.ts';
import { operator } from '../../src/accounts/keys/caller.ts';
import { createKeyManagement } from '../../src/accounts/keys/key-management.ts';
import { loadConfig } from '../../src/app/config.ts';
import { openService } from '../../src/app/service.ts';
import type { EngineDefinition } from '../../src/engines/engine.ts';
import { flite } from '../../src/engines/flite/flite.ts';
import { createVoiceRows } from '../../src/library/voices/voice-rows.ts';
import { openStore } from '../../src/platform/store/open-store.ts';
import type { RowStore } from '../../src/platform/store/row-store.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { createStorage } from '../distributed/storage.ts';
import { defineTone } from '../engines/tone-engine.ts';
import { readReply } from '../transports/http/read-reply.ts';
import { openGrpcClient } from '../transports/rpc/grpc-client.ts';

export async function openCloning(
  onClose: (close: () => Promise<void>) => void,
  cloner: EngineDefinition = defineTone({ name: 'cloner', clones: true, blends: true, languageCodes: ['en'] }),
  settings: Record<string, string> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-cloning-'));
  const definitions = [flite, cloner];
  const logged: string[] = [];
  const written: string[] = [];
  const addresses = { SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' };
  const storage = await createStorage(folder);
  const config = loadConfig({ env: { ...storage.settings, ...addresses, ...settings }, folder, engines: definitions });
  const log = createLog('debug', (line) => logged.push(line));
  const service = await openService({ config, definitions, log, isSinglePort: false });
  onClose(async () => {
    for (const client of [voices, speech]) client.close();
    await service.drain();
    rmSync(folder, { recursive: true });
  });
  const url = `http://127.0.0.1:${service.httpPort}`;
  const target = `127.0.0.1:${service.grpcPort}`;
  const voices = openGrpcClient(VoiceService, target);
  const speech = openGrpcClient(SpeechService, target);
  const { key } = service.firstKey!;

  const request = (method: string, path: string, body?: object | FormData, as = key) => {
    const isForm = body instanceof FormData;
    return fetch(url + path, {
      method,
      headers: { 'X-API-Key': as, ...(body && !isForm && { 'Content-Type': 'application/json' }) },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    });
  };
  /** A request whose response is recorded. */
  const send = async (...asked: Parameters<typeof request>) => {
    const reply = await readReply(await request(...asked));
    written.push(reply.bytes.toString('latin1'), [...reply.headers].join('\n'));
    return reply;
  };
  const speak = (body: object) => send('POST', '/api/audio/speech', body);

  /** Records the embedded voice in a file like the recordings that people send. */
  const record = async (text: string, output_format: string): Promise<Blob> => {
    const { bytes } = await speak({ voice_id: 'arthur', text, output_format, return_format: 'buffer' });
    return new Blob([bytes]);
  };
  const sentence = 'The boat left the harbour early, long before the sun came up. Nobody had seen it go.';
  const reference = await record(sentence, 'wav');
  const consent = await record('I agree that my voice becomes tones.', 'mp3');
  const form = (fields: Record<string, string | Blob | undefined> = {}): FormData => {
    const all = {
      ...{ name: 'Ada', language_code: 'en-US', speaker_name: 'Ada L.', labels: '{"mood":"calm"}' },
      ...{ reference_audio: reference, consent_audio: consent },
      ...fields,
    };
    const body = new FormData();
    for (const [name, value] of Object.entries(all)) if (value !== undefined) body.set(name, value);
    return body;
  };

  const places = async (holds: (bytes: Buffer) => boolean = () => true) =>
    (await storage.read()).filter(({ bytes }) => holds(bytes)).map(({ place }) => place);
  /** Returns the places where these bytes are stored. */
  const holders = (found: Uint8Array) => places((bytes) => bytes.includes(Buffer.from(found)));
  const inStore = async <T>(work: (store: RowStore) => Promise<T>): Promise<T> => {
    const store = await openStore(config);
    return work(store).finally(() => store.close());
  };
  const sealedClones = (voiceId: string): Promise<Uint8Array[]> =>
    inStore(async (store) => (await createVoiceRows(store).listClones(voiceId)).map(({ sealed }) => sealed));
  /** A key created by the operator, with its own account. */
  const makeKey = (scopes: readonly string[]) =>
    inStore(async (store) => {
      const management = createKeyManagement({ rows: createApiKeyRows(store), onChange() {} });
      return (await management.create({ scopes }, operator)).key;
    });
  const kept = { places, holders, inStore, sealedClones };
  return {
    url,
    key,
    makeKey,
    grpc: { voices, speech, call: { metadata: { 'x-api-key': key } } },
    request,
    send,
    speak,
    form,
    reference,
    consent,
    logged,
    written,
    kept,
  };
}
