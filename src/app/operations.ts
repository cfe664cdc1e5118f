// Creates the operations, which all transports share.
import type { KeyManagement } from '../access/key-management.ts';
import type { Limiter } from '../access/limiter.ts';
import type { Seal } from '../access/sealed-tokens.ts';
import { createBookHandlers } from '../api/books.ts';
import { createIdempotency } from '../api/idempotency.ts';
import type { JobHandlers } from '../api/jobs.ts';
import { createKeyHandlers } from '../api/keys.ts';
import { createLexiconHandlers } from '../api/lexicons.ts';
import { createLiveOperations } from '../api/live-speech.ts';
import { createMetering } from '../api/metering.ts';
import { createModelHandlers } from '../api/models.ts';
import { createProvenanceHandlers } from '../api/provenance.ts';
import { createSpeechOperations } from '../api/speech.ts';
import { createTickets } from '../api/stream-tickets.ts';
import { createUsageHandlers } from '../api/usage.ts';
import { createVoiceHandlers, createVoiceOperations } from '../api/voices.ts';
import { createKnownClips } from '../delivery/clip-cache.ts';
import { createDelivery, type DeliveryOptions } from '../delivery/delivery.ts';
import type { SingleFlight } from '../delivery/single-flight.ts';
import { createStoredAudio } from '../delivery/stored-audio.ts';
import { readCaptions } from '../delivery/stored-captions.ts';
import { openManifest } from '../delivery/stored-manifest.ts';
import type { Engine } from '../engines/engine.ts';
import type { LexiconManagement } from '../lexicons/lexicon-management.ts';
import type { ModelInstalls } from '../models/model-installs.ts';
import type { OpenSigner } from '../provenance/places.ts';
import type { Speech } from '../speech/synthesize.ts';
import type { Voices } from '../speech/voice.ts';
import { createAnswerRows } from '../store/answer-rows.ts';
import { type ClipRow, voiceIdsOf } from '../store/clip-rows.ts';
import { createTicketRows } from '../store/ticket-rows.ts';
import { createUsageRows } from '../store/usage-rows.ts';
import { createWebhookRows } from '../store/webhook-rows.ts';
import type { VoiceManagement } from '../voices/voice-management.ts';
import { createVoicePreview } from '../voices/voice-preview.ts';
import { createWebhookSecrets } from '../webhooks/webhook-secrets.ts';
import type { Stored } from './open-storage.ts';

interface OperationsOptions extends Pick<DeliveryOptions, 'links' | 'onFault'> {
  stored: Stored;
  core: { engines: readonly Engine[]; voices: Voices; speech: Speech };
  access: { keys: KeyManagement; limiter: Pick<Limiter, 'takeSynthesis'>; singleFlight: SingleFlight; seal: Seal };
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
  const { core, access, voiceManagement: management, lexicons, installs, links, openSigner, onFault } = options;
  const { store, clips: stored, room, ledger } = options.stored;
  const { keys, limiter, singleFlight, seal } = access;
  const { engines, voices, speech } = core;
  const { memory, linkTo } = stored;
  const { clips } = memory;
  const isRevocable = (clip: Pick<ClipRow, 'voiceId' | 'otherVoiceIds'>) => voiceIdsOf(clip).some(voices.isCloned);
  const known = createKnownClips({ index: stored.index, isRevocable });
  stored.onEnded(known.forget);
  const index = { ...stored.index, ...known };
  const delivery = createDelivery({ speech, clips, memory, index, room, links, onFault }, singleFlight);
  const metering = createMetering({ limiter, ledger, onFault });
  const idempotency = createIdempotency({ rows: createAnswerRows(store), isAlive: index.isAlive });
  const secrets = createWebhookSecrets({ rows: createWebhookRows(store), seal });
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
      usage: createUsageHandlers(createUsageRows(store)),
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
