// Runs one contender in a process, so that its cost is measured alone. It opens the contender, sends the address to its
// parent, and answers each message with the CPU time used so far. It exits with its parent.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import { createAdmit } from '../../src/accounts/keys/admit.ts';
import { createApiKeyRows } from '../../src/accounts/keys/api-key-rows.ts';
import { firstKeyScopes, operator } from '../../src/accounts/keys/caller.ts';
import { createKeyManagement } from '../../src/accounts/keys/key-management.ts';
import { createKeyVerifier } from '../../src/accounts/keys/key-verifier.ts';
import { createFailedAttempts } from '../../src/accounts/limits/failed-attempts.ts';
import { createLimiter } from '../../src/accounts/limits/limiter.ts';
import { createUsageLedger, createUsageRows } from '../../src/accounts/limits/usage-ledger.ts';
import { createSeal } from '../../src/accounts/sign-in/sealed-tokens.ts';
import { createSignIn } from '../../src/accounts/sign-in/sign-in.ts';
import { createAnswerRows, createIdempotency } from '../../src/api/idempotency.ts';
import { createLiveOperations, type LiveOperationsOptions } from '../../src/api/live-speech.ts';
import { createMetering } from '../../src/api/metering.ts';
import { createRunner } from '../../src/api/runner.ts';
import { createCallRpc } from '../../src/api/service-handlers.ts';
import { createSpeechOperations } from '../../src/api/speech.ts';
import { createTicketRows, createTickets } from '../../src/api/stream-tickets.ts';
import { createVoiceHandlers, createVoiceOperations } from '../../src/api/voices.ts';
import { createClipMemory } from '../../src/clips/clip-memory.ts';
import { createClipRows } from '../../src/clips/clip-rows.ts';
import { createStoredAudio } from '../../src/clips/stored-audio.ts';
import { openLocalClips } from '../../src/clips/stores/local-clips.ts';
import type { VoiceManagement } from '../../src/library/voices/voice-management.ts';
import { createId } from '../../src/platform/runtime/id.ts';
import { openSqlite } from '../../src/platform/store/sqlite.ts';
import { openGateway } from '../../src/transports/gateway.ts';
import { serve, serveHandlers } from '../../src/transports/rpc/calls.ts';
import { openRpcServer } from '../../src/transports/rpc/server.ts';
import { addRpcRoutes, createServices, createSpeechService } from '../../src/transports/rpc/services.ts';
import { ownCpuMs } from '../measuring/machine.ts';
import { openGrpcJs, openRawHttp, openRawHttp2 } from './raw-servers.ts';
import { readyDelivery, readyPlan, readySpeak, sound, voice, voices } from './ready-speech.ts';
import { openSameHandler } from './same-handler.ts';

export interface Addresses {
  httpPort?: number;
  grpcPort?: number;
  apiKey?: string;
  /** A stored clip: its HTTP path, and the file. */
  clip?: { path: string; file: string };
}

const contenders = {
  sonant: () => openSonant(),
  'grpc-js, same handler': () => openSonant(openSameHandler),
  'node:http': async () => ({ httpPort: await openRawHttp() }),
  'node:http2': async () => ({ grpcPort: await openRawHttp2() }),
  'grpc-js': async () => ({ grpcPort: await openGrpcJs() }),
} satisfies Record<string, () => Promise<Addresses>>;
export type ContenderName = keyof typeof contenders;

/** Opens the service as in production, with keys, rows and files, but without the pipeline. */
async function openSonant(openOther?: typeof openSameHandler): Promise<Addresses> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sonant-bench-transports-'));
  const store = await openSqlite(join(dataDir, 'sonant.db'));
  const clips = await openLocalClips({ dir: join(dataDir, 'audio') });
  const clipRows = createClipRows(store);
  const rows = createApiKeyRows(store);
  const usage = createUsageRows(store);
  const limiter = createLimiter({ spentSince: async () => 0 });
  const keyVerifier = createKeyVerifier({ rows });
  const addresses = createFailedAttempts({ perMinute: 60 });
  const seal = createSeal('a secret of the bench');
  const nobody = { subjects: [], domains: [], groups: [] };
  const signIn = createSignIn({ seal, issuer: undefined, signInRules: nobody, clients: [], keyScopes: [] });
  const admit = createAdmit({ keyVerifier, limits: { limiter, addresses } });
  const keyManagement = createKeyManagement({ rows, onChange: keyVerifier.forget });
  const limits = { requestsPerMinute: 60_000_000, concurrency: 10_000 };
  const { key } = await keyManagement.create({ scopes: firstKeyScopes, limits }, operator);
  const runner = createRunner({ admit, isInForce: keyVerifier.isInForce, onCallEnd: () => {} });
  const onFault = (fault: unknown) => console.error(fault);
  const metering = createMetering({ limiter, ledger: createUsageLedger(usage, { onFault }), onFault });
  const idempotency = createIdempotency({ rows: createAnswerRows(store), isAlive: clipRows.isAlive });
  const management = {} as VoiceManagement;
  const speech = createSpeechOperations({
    speech: { plan: readyPlan, async checkCapacity() {}, speak: readySpeak },
    delivery: readyDelivery,
    metering,
  });
  const api = {
    runner,
    callRpc: createCallRpc([
      [SpeechService, { deleteAudio: speech.deleteAudio }],
      [VoiceService, createVoiceHandlers({ voices, engines: [], management })],
    ]),
    speech,
    live: createLiveOperations({ speech: {} as LiveOperationsOptions['speech'], metering }),
    voices: createVoiceOperations(voices),
    audio: createStoredAudio({
      findClip: clipRows.find,
      read: createClipMemory(clips).read,
      clips,
      isRevocable: () => false,
    }),
    idempotency,
    tickets: createTickets({ rows: createTicketRows(store), seal }),
    close: async () => runner.stop(),
  };
  const services = createServices({ api });
  const served = [serve(SpeechService, createSpeechService(api)), serveHandlers(VoiceService, api.callRpc)];
  const address = { host: '127.0.0.1', port: 0 };
  const rpc = await openRpcServer({ services, address, onFault });
  const gateway = await openGateway({
    api,
    addRpcRoutes: (app) => addRpcRoutes(app, services.createHandlers({ grpc: false })),
    admit,
    signing: { signIn, addresses },
    settings: { address, baseUrl: () => 'http://localhost', isStrict: false, allowedOrigins: [] },
    watch: { checks: [], onRequestEnd: () => {}, onFault },
  });

  const clipId = createId('aud');
  const draft = await clips.create(clipId, 'audio/wav');
  await draft.write(sound);
  await draft.commit();
  await clipRows.add({
    clipId,
    ownerId: 'bench',
    accountId: null,
    usedAtMs: null,
    cacheKey: null,
    format: 'wav',
    byteCount: sound.length,
    seconds: 2,
    chars: 5,
    sampleRateHz: 24_000,
    voiceId: voice.voiceId,
    voiceName: voice.name,
    warnings: '',
    createdAtMs: Date.now(),
    ...{ otherVoiceIds: null, deletedAtMs: null, fingerprint: null, origin: null, speechCheck: null },
    expiresAtMs: Date.now() + 3_600_000,
  });
  const file = join(dataDir, 'audio', clipId.slice(-2), clipId);
  const clip = { path: `/audio/${clipId}.wav`, file };
  return { httpPort: gateway.port, grpcPort: (await openOther?.({ runner, served })) ?? rpc.port, apiKey: key, clip };
}

const name = process.argv[2] as ContenderName;
process.send!(await contenders[name]());
process.on('message', () => process.send!(ownCpuMs()));
process.on('disconnect', () => process.exit());
