// The rows of clips in memory, by address and by cache key, so that stored sound that is in demand asks nothing of the
// database. A row is read anew after half a second, and at once after a clip was ended before its time: by this process,
// and by another where the store can notify. The rows of clips that a person's consent can end are never kept.
import type { ClipRow, ClipRows } from '../store/clip-rows.ts';

/** As long as keys are: a change that this process is not notified of is seen after it. */
const knownMsDefault = 500;
const clipsMax = 4_096;

export interface KnownClipsOptions {
  index: ClipRows;
  /** Whether it may be deleted because a person withdraws consent. */
  isRevocable(clip: Pick<ClipRow, 'voiceId' | 'otherVoiceIds'>): boolean;
  knownMs?: number;
}

export type KnownClips = Pick<ClipRows, 'find' | 'findCached' | 'add'> & {
  /** The same as `findCached`, of what is known at present. */
  cachedNow(ownerId: string, cacheKey: string, untilMs: number): ClipRow | undefined;
  /** Reads every row anew. */
  forget(): void;
};

export function createKnownClips({ index, isRevocable, knownMs = knownMsDefault }: KnownClipsOptions): KnownClips {
  const known = new Map<string, { clip: ClipRow; untilMs: number }>();
  /** Another one where a row that is being read may be out of date. */
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
    cachedNow: (ownerId, cacheKey, untilMs) => look(cachedName(ownerId, cacheKey), Date.now(), untilMs),
    async add(clip) {
      await index.add(clip);
      // The newest clip of a request answers for it.
      version++;
      if (clip.cacheKey !== null) known.delete(cachedName(clip.ownerId, clip.cacheKey));
    },
    forget() {
      version++;
      known.clear();
    },
  };
}
