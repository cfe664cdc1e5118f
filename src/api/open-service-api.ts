// Opens the API, which all transports share: the handlers of all services, the operations on speech and voices, and the
// runner of every call.
import { ApiKeyService } from '../../gen/sonant/v1/api_key_pb.ts';
import { BookService } from '../../gen/sonant/v1/book_pb.ts';
import { JobService } from '../../gen/sonant/v1/job_service_pb.ts';
import { LexiconService } from '../../gen/sonant/v1/lexicon_pb.ts';
import { ModelService } from '../../gen/sonant/v1/model_pb.ts';
import { ProvenanceService } from '../../gen/sonant/v1/provenance_pb.ts';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { UsageService } from '../../gen/sonant/v1/usage_pb.ts';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import type { Accounts } from '../accounts.ts';
import type { OpenedDelivery, Provenance } from '../clips.ts';
import type { Engine } from '../engines.ts';
import type { LexiconManagement, ModelInstalls, VoiceManagement } from '../library.ts';
import type { RowStore } from '../platform/store/row-store.ts';
import type { Speech, Voices } from '../speech.ts';
import { createBookHandlers } from './books.ts';
import { createAnswerRows, createIdempotency } from './idempotency.ts';
import { type JobHandlersOptions, openJobHandlers } from './jobs.ts';
import { createKeyHandlers, type KeyHandlersOptions } from './keys.ts';
import { createLexiconHandlers } from './lexicons.ts';
import { createLiveOperations } from './live-speech.ts';
import { createMetering } from './metering.ts';
import { createModelHandlers } from './models.ts';
import { createProvenanceHandlers } from './provenance.ts';
import { createRunner, type RunnerOptions } from './runner.ts';
import { createCallRpc } from './service-handlers.ts';
import { createSpeechOperations } from './speech.ts';
import { createTicketRows, createTickets } from './stream-tickets.ts';
import { createUsageHandlers } from './usage.ts';
import { createVoiceHandlers, createVoiceOperations, type VoiceHandlersOptions } from './voices.ts';

interface ApiOptions {
  store: RowStore;
  clips: OpenedDelivery;
  core: { engines: readonly Engine[]; voices: Voices; speech: Speech };
  accounts: Pick<Accounts, 'keys' | 'usage' | 'ledger' | 'seal' | 'webhookSecrets'> & {
    limiter: Pick<Accounts['limiter'], 'takeSynthesis'>;
  };
  voiceManagement: VoiceManagement;
  lexicons: LexiconManagement;
  installs: ModelInstalls;
  provenance: Pick<Provenance, 'inspect'>;
  jobs: JobHandlersOptions;
  running: RunnerOptions;
  /** Called with errors that no caller receives. */
  onFault(fault: unknown): void;
}

export type Api = ReturnType<typeof openServiceApi>;

export function openServiceApi(options: ApiOptions) {
  const { store, core, voiceManagement: management, lexicons, installs, provenance, onFault } = options;
  const { keys, usage, ledger, limiter, seal, webhookSecrets: secrets } = options.accounts;
  const { engines, voices, speech } = core;
  const { delivery, audio, readReceipt, isAlive } = options.clips;
  const metering = createMetering({ limiter, ledger, onFault });
  const idempotency = createIdempotency({ rows: createAnswerRows(store), isAlive });
  const operations = createSpeechOperations({ speech, delivery, metering });
  const jobs = openJobHandlers(options.jobs);
  const runner = createRunner(options.running);
  return {
    runner,
    callRpc: createCallRpc([
      [SpeechService, { deleteAudio: operations.deleteAudio }],
      [VoiceService, createVoiceHandlers({ voices, engines, management })],
      [JobService, jobs.handlers],
      [BookService, createBookHandlers()],
      [ProvenanceService, createProvenanceHandlers({ ...provenance, readReceipt })],
      [UsageService, createUsageHandlers(usage)],
      [ApiKeyService, createKeyHandlers({ keys, voices, secrets })],
      [LexiconService, createLexiconHandlers(lexicons, voices)],
      [ModelService, createModelHandlers({ installs, engines, voices })],
    ]),
    speech: operations,
    live: createLiveOperations({ speech, metering }),
    voices: createVoiceOperations(voices),
    audio,
    idempotency,
    tickets: createTickets({ rows: createTicketRows(store), seal }),
    async close(): Promise<void> {
      runner.stop();
      await jobs.close();
    },
  };
}

interface CommandOptions {
  voices?: VoiceHandlersOptions;
  keys?: KeyHandlersOptions;
  jobs?: JobHandlersOptions;
}

/** Opens the handlers of the services whose options are given, for commands that start no service. */
export function openCommandApi(options: CommandOptions) {
  const jobs = options.jobs && openJobHandlers(options.jobs);
  return {
    callRpc: createCallRpc([
      ...(options.voices ? [[VoiceService, createVoiceHandlers(options.voices)] as const] : []),
      ...(options.keys ? [[ApiKeyService, createKeyHandlers(options.keys)] as const] : []),
      ...(jobs ? [[JobService, jobs.handlers] as const] : []),
    ]),
    close: async (): Promise<void> => jobs?.close(),
  };
}
