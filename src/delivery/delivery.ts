// Delivers finished speech. A whole text that is asked for as a link is spoken into a clip and answered when all of it is
// stored; one that is asked for as sound is stored too, but answered whether that succeeds or not. The same request of the
// same caller is answered from the clip while it lasts (the cache), and joins the synthesis while it runs. A stream is
// stored besides if it asks for a link. A clip has an address that nobody can guess, and expires.
import { audioFormats, type FormatName } from '../audio/formats.ts';
import type { Voice } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import { expectedBytesOf } from '../speech/estimate.ts';
import type { CaptionKind } from '../speech/fields.ts';
import type { CastSpeech, PlannedSpeech } from '../speech/plan.ts';
import type { Caller, SpeechRequest } from '../speech/request.ts';
import type { SpeechEvent } from '../speech/speech-events.ts';
import type { Speech } from '../speech/synthesize.ts';
import type { ClipRow, ClipRows } from '../store/clip-rows.ts';
import { bestKeyOf } from './cache-key.ts';
import { createClipCache } from './clip-cache.ts';
import { type ClipMemory, type ClipPieces, createClipMemory, type ReadClip } from './clip-memory.ts';
import type { ClipRoom } from './clip-room.ts';
import { createSingleFlight, type SingleFlight } from './single-flight.ts';
import { createSpeaking, type SizeLimit, type Spoken } from './speaking.ts';
import { createStorePatience } from './store-patience.ts';
import { removeClip } from './stored-captions.ts';
import { accountOf, type ClipRecord, storeClip } from './stored-clip.ts';
import type { ClipStore } from './stores/clip-store.ts';

export interface Delivery {
  /** The clip of the same request of the caller: one that has it need not be planned. */
  findCached(found: CastSpeech, caller: Caller): Promise<ClipRow | undefined>;
  /** Undefined where the clip was removed in the meantime. */
  openCached(clip: ClipRow, found: CastSpeech): Promise<Delivered | undefined>;
  /**
   * Speaks the text, or takes it from the cache unless it must be `fresh`. A link resolves when all of it is stored;
   * anything else does not depend on the store.
   */
  deliver(planned: PlannedSpeech, caller: Caller, signal: AbortSignal, options: DeliverOptions): Promise<Delivered>;
  /** Streams the speech while it is stored; its info and its end have the link. */
  storeStream(planned: PlannedSpeech, caller: Caller, signal: AbortSignal): AsyncIterable<SpeechEvent>;
  /** A Failure `not_found` where the caller has no such audio. */
  remove(audioId: string, caller: Caller): Promise<void>;
}

interface DeliverOptions {
  fresh: boolean;
  /** The size at which the synthesis ends with a Failure; for audio that is not to be linked. */
  sizeLimit?: SizeLimit | undefined;
}

export interface DeliveredFacts {
  audioId: string;
  voice: Voice;
  chars: number;
  format: FormatName;
  sampleRateHz: number;
  seconds: number;
  byteCount: number;
  /** Whether it came out of the cache, without an engine. */
  cached: boolean;
  warnings: readonly string[];
  /** Empty where none was wanted. */
  audioUrl: string;
  /** Where its captions are, of the kinds that were asked for. */
  captionUrls: Partial<Record<CaptionKind, string>>;
  expiresAt: Date;
}

/** Sound that is the answer itself is open already: it is to be read to the end or closed, and comes whatever removes it. */
export interface Delivered extends DeliveredFacts {
  /** The file, to be read once. */
  open(): ClipPieces;
  close(): void;
}

export interface DeliveryOptions {
  speech: Pick<Speech, 'speak' | 'restMs'>;
  clips: ClipStore;
  /** Default: one of its own. */
  memory?: Pick<ClipMemory, 'isHeld' | 'read'>;
  index: Pick<ClipRows, 'add' | 'findCached' | 'markDeleted' | 'markPurged' | 'markUsed'>;
  room: Pick<ClipRoom, 'reserve' | 'noteRemoved'>;
  /** Where clips are served, and how long they are kept. */
  links: { baseUrl(): string; keepMs: number };
  /** Takes errors that no caller gets. */
  onFault(fault: unknown): void;
}

/** `singleFlight` spans the replicas, where there are several. */
export function createDelivery(options: DeliveryOptions, singleFlight: SingleFlight = createSingleFlight()): Delivery {
  const { speech, clips, index, room, links, onFault, memory = createClipMemory(clips) } = options;
  const { urlOf, factsOf } = createAnswers(links);
  const { keepMs } = links;
  const patience = createStorePatience({ onFault });
  const cache = createClipCache({ speech, clips, memory, index, patience, keepMs });
  const speaking = createSpeaking({ speech, clips, index, room, patience, keepMs, onFault });

  /** Undefined where the sound was removed before it could be opened. */
  const answer = async (
    { request, voice: { voice } }: Pick<CastSpeech, 'request' | 'voice'>,
    { clip, held }: Spoken,
    isCached: boolean,
  ): Promise<Delivered | undefined> => {
    const read = () => held?.read() ?? (isCached ? cache.read(clip) : memory.read(clip));
    const sound = request.returnFormat === 'url' ? readLater(memory, clip) : await read();
    return sound && { ...factsOf(clip, voice, isCached, request), open: () => sound.pieces, close: sound.close };
  };

  return {
    findCached: (found, { callerId }) => cache.find(found, callerId),

    openCached: (clip, found) => answer(found, { clip }, true),

    async deliver(planned, caller, signal, { fresh, sizeLimit }) {
      const { callerId } = caller;
      const isLink = planned.request.returnFormat === 'url';
      const make = (until: AbortSignal): Promise<Spoken> =>
        isLink ? speaking.intoClip(planned, caller, until) : speaking.intoMemory(planned, caller, until, sizeLimit);
      const makeOwn = async () => {
        const made = await answer(planned, await make(signal), false);
        // Where memory is short it is in the store alone, which has made room of it already.
        if (!made) throw new Failure('storage_full', { retryAfterSeconds: 1 });
        return made;
      };
      if (fresh) return makeOwn();
      const find = async (): Promise<Spoken | undefined> => {
        const clip = await cache.find(planned, callerId);
        return clip && { clip };
      };
      const kind = isLink ? 'link' : `sound ${sizeLimit?.bytesMax ?? ''}`;
      // Who has no deadline is not refused with one who has.
      const patience = caller.deadlineMs === undefined ? '' : ' until';
      const flight = `${callerId} ${bestKeyOf(planned)} ${kind}${patience}`;
      const { value: spoken, isMade } = await singleFlight.run(flight, signal, { find, make });
      return (await answer(planned, spoken, !isMade)) ?? makeOwn();
    },

    async *storeStream(planned, caller, signal) {
      const bytes = expectedBytesOf(planned.request);
      const reservation = await room.reserve({ accountId: accountOf(caller), bytes, isLinked: true });
      const events = speech.speak(planned, caller, signal);
      const options = { clips, index, keepMs, reservation, caller, isLinked: true, toCacheKey: () => null };
      const stored = storeClip(events, options);
      let audioUrl = '';
      for await (const event of stored.events) {
        if (event.type === 'info') {
          audioUrl = urlOf({ clipId: event.audioId, format: event.format });
          yield { ...event, audioUrl, expiresAt: new Date(Date.now() + keepMs) };
        } else yield event.type === 'done' ? { ...event, audioUrl } : event;
      }
    },

    async remove(audioId, caller) {
      const clip = await index.markDeleted(audioId, caller.callerId, Date.now());
      if (!clip) throw new Failure('not_found');
      await removeClip(clips, audioId);
      await index.markPurged([audioId], Date.now());
      room.noteRemoved({ accountId: clip.accountId ?? clip.ownerId, byteCount: clip.byteCount });
    },
  };
}

/** A clip as the answer to a request, with the addresses of its files. */
function createAnswers(links: DeliveryOptions['links']) {
  const fileUrl = (clipId: string, extension: string) => `${links.baseUrl()}/audio/${clipId}.${extension}`;
  const urlOf = ({ clipId, format }: Pick<ClipRecord, 'clipId' | 'format'>) =>
    fileUrl(clipId, audioFormats[format as FormatName].extension);
  const factsOf = (clip: ClipRecord, voice: Voice, cached: boolean, request: SpeechRequest): DeliveredFacts => ({
    audioId: clip.clipId,
    voice,
    chars: clip.chars,
    format: clip.format as FormatName,
    sampleRateHz: clip.sampleRateHz,
    seconds: clip.seconds,
    byteCount: clip.byteCount,
    cached,
    warnings: clip.warnings === '' ? [] : clip.warnings.split(' '),
    audioUrl: request.returnFormat === 'url' ? urlOf(clip) : '',
    captionUrls: Object.fromEntries(request.captions.map((kind) => [kind, fileUrl(clip.clipId, kind)])),
    expiresAt: new Date(clip.expiresAtMs),
  });
  return { urlOf, factsOf };
}

/** The sound of a link: it is opened when it is read. */
const readLater = (memory: Pick<ClipMemory, 'read'>, clip: ClipRecord): ReadClip => ({
  pieces: readClip(memory, clip),
  close() {},
});

async function* readClip(memory: Pick<ClipMemory, 'read'>, clip: ClipRecord): AsyncGenerator<Uint8Array> {
  const stored = await memory.read(clip);
  if (!stored) throw new Failure('audio_expired');
  yield* stored.pieces;
}
