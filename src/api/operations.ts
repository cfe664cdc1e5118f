// Creates the operations, which all transports share.
import type { Accounts } from '../accounts.ts';
import type { OpenedDelivery, Provenance } from '../clips.ts';
import type { Engine } from '../engines.ts';
import { createVoicePreview, type LexiconManagement, type ModelInstalls, type VoiceManagement } from '../library.ts';
import type { RowStore } from '../platform/store/row-store.ts';
import type { Speech, Voices } from '../speech.ts';
import { createBookHandlers } from './books.ts';
import { createAnswerRows, createIdempotency } from './idempotency.ts';
import type { JobHandlers } from './jobs.ts';
import { createKeyHandlers } from './keys.ts';
import { createLexiconHandlers } from './lexicons.ts';
import { createLiveOperations } from './live-speech.ts';
import { createMetering } from './metering.ts';
import { createModelHandlers } from './models.ts';
import { createProvenanceHandlers } from './provenance.ts';
import { createSpeechOperations } from './speech.ts';
import { createTicketRows, createTickets } from './stream-tickets.ts';
import { createUsageHandlers } from './usage.ts';
import { createVoiceHandlers, createVoiceOperations } from './voices.ts';

interface OperationsOptions {
  store: RowStore;
  clips: OpenedDelivery;
  core: { engines: readonly Engine[]; voices: Voices; speech: Speech };
  accounts: Pick<Accounts, 'keys' | 'usage' | 'ledger' | 'seal' | 'webhookSecrets'> & {
    limiter: Pick<Accounts['limiter'], 'takeSynthesis'>;
  };
  voiceManagement: VoiceManagement;
  lexicons: LexiconManagement;
  installs: ModelInstalls;
  jobs: JobHandlers;
  provenance: Pick<Provenance, 'inspect'>;
  /** Called with errors that no caller receives. */
  onFault(fault: unknown): void;
}

export type Operations = ReturnType<typeof createOperations>;

export function createOperations(options: OperationsOptions) {
  const { store, core, voiceManagement: management, lexicons, installs, provenance, onFault } = options;
  const { keys, usage, ledger, limiter, seal, webhookSecrets: secrets } = options.accounts;
  const { engines, voices, speech } = core;
  const { delivery, audio, readReceipt, isAlive } = options.clips;
  const metering = createMetering({ limiter, ledger, onFault });
  const idempotency = createIdempotency({ rows: createAnswerRows(store), isAlive });
  const preview = createVoicePreview({ speech, voices, delivery });
  return {
    speech: createSpeechOperations({ speech, delivery, metering, idempotency }),
    live: createLiveOperations({ speech, metering }),
    voices: createVoiceOperations(voices),
    handlers: {
      voices: createVoiceHandlers({ voices, engines, management, preview }),
      jobs: options.jobs,
      books: createBookHandlers(),
      provenance: createProvenanceHandlers({ ...provenance, readReceipt }),
      usage: createUsageHandlers(usage),
      keys: createKeyHandlers({ keys, voices, secrets }),
      lexicons: createLexiconHandlers(lexicons, voices),
      models: createModelHandlers({ installs, engines, voices }),
    },
    audio,
    idempotency,
    tickets: createTickets({ rows: createTicketRows(store), seal }),
  };
}
