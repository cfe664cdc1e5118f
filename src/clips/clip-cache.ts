// Finds the clip of an identical earlier request from the same caller. A clip that is returned as a link is marked as
// used, so that it is not removed at once to make room. If audio is returned directly, a slow or unreachable store is
// not an error.
import { Failure, hasReason } from '../platform/errors.ts';
import type { Plan, Speech } from '../speech.ts';
import type { ClipMemory, ReadClip } from './clip-memory.ts';
import { keptMsMin } from './clip-remover.ts';
import type { ClipRow, ClipRows } from './clip-rows.ts';
import { type ClipStore, isStored } from './stores/clip-store.ts';

/** A cached clip is reused only while at least this share of its lifetime remains. */
const cachedLifeMin = 0.5;

interface ClipCacheOptions {
  speech: Pick<Speech, 'restMs'>;
  clips: Pick<ClipStore, 'open'>;
  memory: Pick<ClipMemory, 'isHeld' | 'read'>;
  index: Pick<ClipRows, 'findCached' | 'markUsed'>;
  patience: StorePatience;
  keepMs: number;
}

export function createClipCache({ speech, clips, memory, index, patience, keepMs }: ClipCacheOptions) {
  const lastsUntilMs = () => Date.now() + Math.round(keepMs * cachedLifeMin);
  const findCached = async (ownerId: string, cacheKey: string): Promise<ClipRow | undefined> => {
    const clip = await index.findCached(ownerId, cacheKey, lastsUntilMs());
    if (!clip || memory.isHeld(clip.clipId)) return clip;
    return (await isStored(clips, clip.clipId)) ? clip : undefined;
  };

  /** Finds a clip of the best engine. A clip of another engine is used only while all better engines cannot speak. */
  const find = async ({ main, keyOf }: Plan, ownerId: string) => {
    for (const binding of main.bindings) {
      const cached = await findCached(ownerId, keyOf(binding));
      if (cached || speech.restMs(binding) === 0) return cached;
    }
    return undefined;
  };

  /** Marks the clip as used. Returns false if the clip was removed in the meantime. */
  const use = async (clip: ClipRow): Promise<boolean> => {
    const nowMs = Date.now();
    if (isMarked(clip, nowMs)) return true;
    try {
      if (!(await index.markUsed(clip.clipId))) return false;
      // The row may be cached, and the cached row must have the time that is in the database.
      clip.usedAtMs = nowMs;
      return true;
    } catch (error) {
      // The clip exists even if the database has no room to record its use.
      if (hasReason(error, 'storage_full')) return true;
      throw error;
    }
  };

  return {
    async find(plan: Plan, ownerId: string): Promise<ClipRow | undefined> {
      if (plan.request.returnFormat !== 'url') return patience.run(() => find(plan, ownerId));
      const clip = await find(plan, ownerId);
      return clip && (await use(clip)) ? clip : undefined;
    },
    /**
     * Reads the audio of a clip, which stays readable even if the clip is removed. Undefined if the clip was already
     * removed or the store is slow.
     */
    async read(clip: ClipRow): Promise<ReadClip | undefined> {
      let sound: ReadClip | undefined;
      let isAwaited = true;
      await patience.run(async () => {
        sound = await memory.read(clip);
        if (!isAwaited) sound?.close();
      });
      isAwaited = false;
      return sound;
    },
  };
}

/** Whether the clip was marked as used recently. */
const isMarked = ({ usedAtMs }: ClipRow, nowMs: number): boolean => (usedAtMs ?? 0) > nowMs - keptMsMin / 2;

/** Time for which rows are cached, and after which a change takes effect even if its notification is missed. */
const knownMs = 500;
const clipsMax = 4_096;

interface KnownClipsOptions {
  index: ClipRows;
  /** Whether the clip may be deleted early because a person withdraws consent. */
  isRevocable(clip: Pick<ClipRow, 'voiceId' | 'otherVoiceIds'>): boolean;
}

type KnownClips = Pick<ClipRows, 'find' | 'findCached' | 'add'> & {
  /** Forgets all rows. */
  forget(): void;
};

export function createKnownClips({ index, isRevocable }: KnownClipsOptions): KnownClips {
  const known = new Map<string, { clip: ClipRow; untilMs: number }>();
  /** Changes when a row that is being read may be out of date. */
  let version = 0;

  const look = (name: string, nowMs: number, lastsUntilMs: number): ClipRow | undefined => {
    const found = known.get(name);
    const isCurrent = found && nowMs < found.untilMs && found.clip.expiresAtMs > lastsUntilMs;
    return isCurrent && !isRevocable(found.clip) ? found.clip : undefined;
  };
  const find = async (
    name: string,
    read: () => Promise<ClipRow | undefined>,
    lastsUntilMs = 0,
  ): Promise<ClipRow | undefined> => {
    const nowMs = Date.now();
    const found = look(name, nowMs, lastsUntilMs);
    if (found) return found;
    const before = version;
    const clip = await read();
    known.delete(name);
    if (!clip || isRevocable(clip) || version !== before) return clip;
    if (known.size >= clipsMax) known.delete(known.keys().next().value!);
    known.set(name, { clip, untilMs: nowMs + knownMs });
    return clip;
  };
  const cachedName = (ownerId: string, cacheKey: string) => `${ownerId} ${cacheKey}`;

  return {
    find: (clipId) => find(clipId, () => index.find(clipId)),
    findCached: (ownerId, cacheKey, untilMs) =>
      find(cachedName(ownerId, cacheKey), () => index.findCached(ownerId, cacheKey, untilMs), untilMs),
    async add(clip) {
      await index.add(clip);
      // The row of an older clip must not be found any more, because the newest clip of a request must be used.
      version++;
      if (clip.cacheKey !== null) known.delete(cachedName(clip.ownerId, clip.cacheKey));
    },
    forget() {
      version++;
      known.clear();
    },
  };
}

// Runs optional work on the clip store. Work that fails because the store is full or unreachable, or that takes too
// long, is abandoned. While the store is slow or unreachable, one attempt at a time probes the store, and no caller
// waits for the attempt.

const waitMsMaxDefault = 2_000;

export type StorePatience = ReturnType<typeof createStorePatience>;

interface StorePatienceOptions {
  waitMsMax?: number;
  /** Called with errors that no caller receives. */
  onFault(fault: unknown): void;
}

const isOfStore = (error: unknown): error is Failure =>
  error instanceof Failure && ['storage_full', 'storage_unavailable'].includes(error.reason);

export function createStorePatience({ waitMsMax = waitMsMaxDefault, onFault }: StorePatienceOptions) {
  let isAway = false;
  let running = 0;

  const noteAway = (fault: unknown) => {
    if (!isAway) onFault(fault);
    isAway = true;
  };

  const attempt = async <Result>(work: () => Promise<Result>): Promise<Result | undefined> => {
    running++;
    try {
      const result = await work();
      isAway = false;
      return result;
    } catch (error) {
      if (!isOfStore(error)) throw error;
      // A full store answers at once, so only an unreachable store is probed by one attempt at a time.
      if (error.reason === 'storage_unavailable') noteAway(error);
      return undefined;
    } finally {
      running--;
    }
  };

  return {
    /** Returns undefined if the store fails or is too slow. Rejects with errors that do not come from the store. */
    async run<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
      if (isAway && running > 0) return undefined;
      const wasAway = isAway;
      const result = attempt(work);
      if (!wasAway) {
        const first = await within(waitMsMax, result);
        if (first !== slow) return first;
        const cause = new Error(`the audio store took longer than ${waitMsMax} ms`);
        noteAway(new Failure('storage_unavailable', {}, cause));
      }
      result.catch(onFault);
      return undefined;
    },
  };
}

const slow = Symbol('slow');

function within<Result>(waitMsMax: number, work: Promise<Result>): Promise<Result | typeof slow> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(slow), waitMsMax).unref();
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
