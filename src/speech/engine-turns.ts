// Turns at an engine: so many segments at a time for each resource, such as a loaded model, and all of them within the
// quota.
// Clones may have a quota of their own per minute; the limit of what is spoken at once is one for all.
import type { Engine, Segment } from '../engines/engine.ts';
import {
  createEngineQuota,
  createSeats,
  type EndTurn,
  type EngineLimits,
  type EngineQuota,
  type QuotaRequest,
} from './engine-quota.ts';

export interface TurnRequest {
  callerId: string;
  signal: AbortSignal;
  /** Until when an urgent segment may wait, on the clock of the turns. */
  waitUntilMs?: number | undefined;
  /** Nobody listens. */
  isBulk?: boolean | undefined;
}

/**
 * How long a segment of what has begun waits until it is as urgent as a first one: for less than a first segment sounds, so
 * that the listener hears no gap, and long enough that the engine always has one to speak.
 */
const laterWaitMs = 2_000;
/** The same where nobody listens. */
const bulkWaitMs = 10_000;

interface Resource {
  turns: EngineQuota;
  /** Those that it has spoken with since it was idle. */
  voiceIds: Set<string>;
}

/** A voice, and the resource that speaks it, where that is known without its clone. */
export interface SpeakingWith {
  voiceId: string;
  resource?: string | undefined;
}

export function createEngineTurns(
  { capabilities, resourceOf }: Pick<Engine, 'capabilities' | 'resourceOf'>,
  now: () => number = () => performance.now(),
) {
  const { segmentsPerMinute, segmentsSpokenMax, cloneSegmentsPerMinute, segmentsPerResource = 1 } = capabilities;
  const seats = segmentsSpokenMax === undefined ? undefined : createSeats(segmentsSpokenMax);
  const own = openQuota({ segmentsPerMinute, seats }, now);
  const clones =
    cloneSegmentsPerMinute === undefined ? own : openQuota({ segmentsPerMinute: cloneSegmentsPerMinute, seats }, now);
  const resources = new Map<string, Resource>();
  const all = () => new Set([own, clones, ...resources.values().map(({ turns }) => turns)]);

  const takeResource = async (name: string, voiceId: string, request: QuotaRequest): Promise<EndTurn> => {
    const resource = resources.get(name) ?? {
      turns: createEngineQuota({ seats: createSeats(segmentsPerResource, { isFirstSlow: true }) }, now),
      voiceIds: new Set(),
    };
    resources.set(name, resource);
    resource.voiceIds.add(voiceId);
    const endTurn = await resource.turns.take(request);
    return (isUnused) => {
      endTurn(isUnused);
      if (resource.turns.isIdle) resources.delete(name);
    };
  };

  return {
    /** Resolves when the segment may be begun; undefined where nothing is limited. An urgent one waits so long at most. */
    async take(segment: Segment, turn: TurnRequest): Promise<EndTurn | undefined> {
      const { callerId, signal, waitUntilMs, isBulk } = turn;
      const { urgent, voice } = segment;
      const resource = resourceOf?.(segment);
      const waitMsMax = () => (waitUntilMs === undefined ? undefined : Math.max(0, waitUntilMs - now()));
      const urgentAtMs = urgent ? undefined : now() + (isBulk ? bulkWaitMs : laterWaitMs);
      const request = { callerId, urgent, urgentAtMs, signal };
      const endResource =
        resource && (await takeResource(resource, voice.voiceId, { ...request, waitMsMax: waitMsMax() }));
      const quota = segment.clone ? clones : own;
      try {
        const endTurn = await quota?.take({ ...request, waitMsMax: waitMsMax() });
        if (!endResource) return endTurn;
        return (isUnused) => {
          endTurn?.(isUnused);
          endResource(isUnused);
        };
      } catch (error) {
        if (endResource) endResource(true);
        throw error;
      }
    },
    waiting: (): number => [...all()].reduce((count, quota) => count + (quota?.waiting ?? 0), 0),
    /**
     * Whether segments of what has begun with the voice, or with others that share its turns, will come too late where so many
     * more streams have just been admitted.
     */
    isBehind({ voiceId, resource }: SpeakingWith, starting: number): boolean {
      const shared = [...resources].filter(([name, { voiceIds }]) => name === resource || voiceIds.has(voiceId));
      return [own, clones, ...shared.map(([, { turns }]) => turns)].some((quota) => quota?.isBehind(starting));
    },
  };
}

function openQuota(limits: EngineLimits, now: () => number): EngineQuota | undefined {
  const isLimited = Object.values(limits).some((limit) => limit !== undefined);
  return isLimited ? createEngineQuota(limits, now) : undefined;
}
