// Delivers complete speech. A request for a link is answered when its clip is stored. Audio that is returned directly
// is also stored, but the answer does not depend on the store. An identical request from the same caller is answered
// from the stored clip or joins the running synthesis. A stream is stored if a link is requested. A clip has an
// unguessable URL and expires.
import type { Caller } from '../accounts.ts';
import { audioFormats, type FormatName } from '../audio.ts';
import type { Voice } from '../engines.ts';
import { Failure } from '../platform/errors.ts';
import type { CaptionKind, Plan, Speech, SpeechRequest } from '../speech.ts';
import { createClipCache, createStorePatience } from './clip-cache.ts';
import { type ClipMemory, type ClipPieces, createClipMemory } from './clip-memory.ts';
import { removeAudio } from './clip-remover.ts';
import type { ClipRoom } from './clip-room.ts';
import type { ClipRow, ClipRows, SpeechCheck } from './clip-rows.ts';
import { openClipWriter } from './clip-writer.ts';
import { createSingleFlight, type SingleFlight } from './single-flight.ts';
import { type AudioWatch, createSpeaking, type Spoken } from './speaking.ts';
import type { ClipStore } from './stores/clip-store.ts';

export type Delivery = ReturnType<typeof createDelivery>;

interface DeliverOptions extends AudioWatch {
  fresh: boolean;
}

/**
 * Spoken audio, as a caller receives it. If the answer is the audio itself, the audio is already open. It must be read to
 * the end or closed, and stays readable even if its file is removed.
 */
export interface Clip {
  audioId: string;
  voice: Voice;
  chars: number;
  /** Number of characters to charge. Audio from the cache is free, because it was charged when it was made. */
  charsCharged: number;
  format: FormatName;
  sampleRateHz: number;
  seconds: number;
  byteCount: number;
  /** Whether the audio came from the cache. */
  cached: boolean;
  warnings: readonly string[];
  speechCheck: SpeechCheck;
  /** Empty if no link was requested. */
  audioUrl: string;
  /** URL of the C2PA manifest of audio with a link; empty if there is none. */
  manifestUrl?: string;
  /** URLs of the requested captions. */
  captionUrls: Partial<Record<CaptionKind, string>>;
  expiresAt: Date;
  /** Opens the file, which can be read once. */
  open(): ClipPieces;
  close(): void;
}

export interface DeliveryOptions {
  speech: Pick<Speech, 'speak' | 'restMs'>;
  clips: ClipStore;
  /** Default: a memory cache that only this object uses. */
  memory?: Pick<ClipMemory, 'isHeld' | 'read'>;
  index: Pick<ClipRows, 'add' | 'chargeAgain' | 'findCached' | 'markDeleted' | 'markPurged' | 'markUsed'>;
  room: Pick<ClipRoom, 'reserve' | 'noteRemoved'>;
  /** The base URL of clips, the time for which clips are stored, and whether clips have manifests. */
  links: { baseUrl(): string; keepMs: number; hasManifests?: boolean };
  /** Called with errors that no caller receives. */
  onFault(fault: unknown): void;
}

/** `singleFlight` covers all replicas, if there are several. */
export function createDelivery(options: DeliveryOptions, singleFlight: SingleFlight = createSingleFlight()) {
  const { speech, clips, index, room, links, onFault, memory = createClipMemory(clips) } = options;
  const { urlOf, manifestUrlOf, factsOf } = createAnswers(links);
  const { keepMs } = links;
  const patience = createStorePatience({ onFault });
  const cache = createClipCache({ speech, clips, memory, index, patience, keepMs });
  const speaking = createSpeaking({ speech, clips, index, room, patience, keepMs, onFault });

  /** The `onSpoken` of all callers that wait for the same audio, by flight. */
  const waiting = new Map<string, Set<() => void>>();

  /** Undefined if the audio was removed before it could be opened. */
  const toClip = async (
    { request, main }: Plan,
    { row, read }: Spoken,
    isCached: boolean,
  ): Promise<Clip | undefined> => {
    const { voice } = main.offered;
    if (request.returnFormat === 'url')
      return { ...factsOf(row, voice, isCached, request), open: () => readLater(memory, row), close() {} };
    const sound = read?.() ?? (await (isCached ? cache : memory).read(row));
    return sound && { ...factsOf(row, voice, isCached, request), open: () => sound.pieces, close: sound.close };
  };

  const findRow = async (plan: Plan, { callerId }: Caller): Promise<Spoken | undefined> => {
    const row = await cache.find(plan, callerId);
    return row && { row };
  };

  /** Streams the speech while it is stored. The info and the end of the stream contain the link. */
  const storeStream: Speech['speak'] = async function* (plan, caller, signal, { pace, openMeter } = {}) {
    const meter = await openMeter?.();
    try {
      const bytes = plan.expectedBytes();
      const options = { clips, index, room, bytes, keepMs, caller, isLinked: true, isCached: false };
      await using writer = await openClipWriter(options);
      let link = {};
      for await (const event of speech.speak(plan, caller, signal, { pace })) {
        await writer.write(event);
        if (event.type === 'info') {
          link = { audioUrl: urlOf({ clipId: event.audioId, format: event.format }) };
          const manifestUrl = manifestUrlOf(event.audioId);
          Object.assign(event, link, { manifestUrl, expiresAt: new Date(Date.now() + keepMs) });
        } else if (event.type === 'done') Object.assign(event, link);
        await meter?.count(event);
        yield event;
      }
    } finally {
      await meter?.end();
    }
  };

  return {
    /** Finds the clip of an identical earlier request by the same caller. The texts are then neither checked nor cut. */
    async find(plan: Plan, caller: Caller): Promise<Clip | undefined> {
      const found = await findRow(plan, caller);
      return found && toClip(plan, found, true);
    },

    /**
     * Speaks the text, or uses the cache unless the answer must be `fresh`. An answer with a link resolves when the clip
     * is stored; other answers do not depend on the store.
     */
    async deliver(
      plan: Plan,
      caller: Caller,
      signal: AbortSignal,
      { fresh, onSpoken = () => {}, ...watch }: DeliverOptions,
    ): Promise<Clip> {
      const isLink = plan.request.returnFormat === 'url';
      const makeFor = (until: AbortSignal, payers: ReadonlySet<() => void>): Promise<Spoken> => {
        const onDone = () => {
          for (const each of payers) each();
        };
        return speaking[isLink ? 'intoClip' : 'intoMemory'](plan, caller, until, { ...watch, onSpoken: onDone });
      };
      const makeOwn = async () => {
        const made = await toClip(plan, await makeFor(signal, new Set([onSpoken])), false);
        // If memory is short, the audio is only in the store, which may already have removed it to make room.
        if (!made) throw new Failure('storage_full', { retryAfterSeconds: 1 });
        return made;
      };
      if (fresh) return makeOwn();
      const kind = isLink ? 'link' : `sound ${watch.sizeLimit?.bytesMax ?? ''}`;
      // A caller without a deadline must not share a refusal with a caller that has a deadline.
      const ofDeadline = caller.deadlineMs === undefined ? '' : ' until';
      const flight = `${caller.callerId} ${plan.keyOf()} ${kind}${ofDeadline}`;
      const payers = waiting.get(flight) ?? new Set();
      waiting.set(flight, payers.add(onSpoken));
      try {
        const make = (until: AbortSignal) => makeFor(until, payers);
        const { value: spoken, isMade } = await singleFlight.run(flight, signal, {
          find: () => findRow(plan, caller),
          make,
        });
        return (await toClip(plan, spoken, !isMade)) ?? (await makeOwn());
      } finally {
        payers.delete(onSpoken);
        if (payers.size === 0) waiting.delete(flight);
      }
    },

    storeStream,

    /** Deletes the audio. Throws `not_found` if the caller has no audio with this id. */
    async remove(audioId: string, caller: Caller): Promise<void> {
      // Callers may do this as often as they like.
      await index.chargeAgain(audioId, caller.callerId);
      if (!(await removeAudio({ clips, index, room }, audioId, caller.callerId))) throw new Failure('not_found');
    },
  };
}

/** Creates answers from clips, with the URLs of their files. */
function createAnswers(links: DeliveryOptions['links']) {
  const fileUrl = (clipId: string, extension: string) => `${links.baseUrl()}/audio/${clipId}.${extension}`;
  const urlOf = ({ clipId, format }: Pick<ClipRow, 'clipId' | 'format'>) =>
    fileUrl(clipId, audioFormats[format as FormatName].extension);
  const manifestUrlOf = (clipId: string) => (links.hasManifests ? fileUrl(clipId, 'c2pa') : '');
  const factsOf = (
    clip: ClipRow,
    voice: Voice,
    cached: boolean,
    request: SpeechRequest,
  ): Omit<Clip, 'open' | 'close'> => ({
    audioId: clip.clipId,
    voice,
    chars: clip.chars,
    charsCharged: cached ? 0 : clip.chars,
    format: clip.format as FormatName,
    sampleRateHz: clip.sampleRateHz,
    seconds: clip.seconds,
    byteCount: clip.byteCount,
    cached,
    warnings: clip.warnings === '' ? [] : clip.warnings.split(' '),
    speechCheck: clip.speechCheck ?? 'unchecked',
    audioUrl: request.returnFormat === 'url' ? urlOf(clip) : '',
    manifestUrl: request.returnFormat === 'url' ? manifestUrlOf(clip.clipId) : '',
    captionUrls: Object.fromEntries(request.captions.map((kind) => [kind, fileUrl(clip.clipId, kind)])),
    expiresAt: new Date(clip.expiresAtMs),
  });
  return { urlOf, manifestUrlOf, factsOf };
}

/** Reads the audio of a link, which is opened only now. */
async function* readLater(memory: Pick<ClipMemory, 'read'>, clip: ClipRow): AsyncGenerator<Uint8Array> {
  const stored = await memory.read(clip);
  if (!stored) throw new Failure('audio_expired');
  yield* stored.pieces;
}
