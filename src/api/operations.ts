// Creates the operations, which all transports share.
import type { Accounts } from '../accounts.ts';
import {
  type ClipRoom,
  type ClipRow,
  createDelivery,
  createKnownClips,
  createStoredAudio,
  type DeliveryOptions,
  type OpenSigner,
  openManifest,
  readCaptions,
  type SingleFlight,
  type StoredClips,
  voiceIdsOf,
} from '../clips.ts';
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

interface OperationsOptions extends Pick<DeliveryOptions, 'links' | 'onFault'> {
  stored: { store: RowStore; clips: StoredClips; room: ClipRoom };
  core: { engines: readonly Engine[]; voices: Voices; speech: Speech };
  accounts: Pick<Accounts, 'keys' | 'usage' | 'ledger' | 'seal' | 'webhookSecrets'> & {
    limiter: Pick<Accounts['limiter'], 'takeSynthesis'>;
  };
  singleFlight: SingleFlight;
  voiceManagement: VoiceManagement;
  lexicons: LexiconManagement;
  installs: ModelInstalls;
  jobs: JobHandlers;
  /** Opens the signer for the manifests of stored audio. By default, audio has no manifest. */
  openSigner?: OpenSigner | undefined;
  /** Returns the certificates that have signed manifests, in DER. */
  readOwnCertificates(): Promise<readonly Uint8Array[]>;
}

export type Operations = ReturnType<typeof createOperations>;

export function createOperations(options: OperationsOptions) {
  const { core, voiceManagement: management, lexicons, installs, links, openSigner, onFault } = options;
  const { store, clips: stored, room } = options.stored;
  const { keys, usage, ledger, limiter, seal, webhookSecrets: secrets } = options.accounts;
  const { engines, voices, speech } = core;
  const { memory, linkTo } = stored;
  const { clips } = memory;
  const isRevocable = (clip: Pick<ClipRow, 'voiceId' | 'otherVoiceIds'>) => voiceIdsOf(clip).some(voices.isCloned);
  const known = createKnownClips({ index: stored.index, isRevocable });
  stored.onEnded(known.forget);
  const index = { ...stored.index, ...known };
  const delivery = createDelivery({ speech, clips, memory, index, room, links, onFault }, options.singleFlight);
  const metering = createMetering({ limiter, ledger, onFault });
  const idempotency = createIdempotency({ rows: createAnswerRows(store), isAlive: index.isAlive });
  const preview = createVoicePreview({ speech, voices, delivery });
  return {
    speech: createSpeechOperations({ speech, delivery, metering, idempotency }),
    live: createLiveOperations({ speech, metering }),
    voices: createVoiceOperations(voices),
    handlers: {
      voices: createVoiceHandlers({ voices, engines, management, preview }),
      jobs: options.jobs,
      books: createBookHandlers(),
      provenance: createProvenanceHandlers(index, options.readOwnCertificates),
      usage: createUsageHandlers(usage),
      keys: createKeyHandlers({ keys, voices, secrets }),
      lexicons: createLexiconHandlers(lexicons, voices),
      models: createModelHandlers({ installs, engines, voices }),
    },
    audio: createStoredAudio({
      findClip: index.find,
      read: memory.read,
      captionsOf: (clipId) => readCaptions(clips, clipId),
      manifestOf: openSigner && ((row) => openManifest(clips, row, openSigner)),
      linkTo,
      isRevocable,
    }),
    idempotency,
    tickets: createTickets({ rows: createTicketRows(store), seal }),
  };
}
