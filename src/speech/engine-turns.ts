// Turns at an engine: so many segments at a time for each resource, such as a loaded model, and all of them within the
// quota.
// Clones may have a quota of their own per minute; the limit of what is spoken at once is one for all.
import { SlotQueue, type SlotRequest, SlotTimeout } from '../concurrency/slot-queue.ts';
import type { Engine, Segment } from '../engines/engine.ts';
import {
  createEngineQuota,
  createSeats,
  type EndTurn,
  type EngineLimits,
  type EngineQuota,
  tooBusy,
} from './engine-quota.ts';

export interface TurnRequest {
  callerId: string;
  signal: AbortSignal;
  /** Until when an urgent segment may wait, on the clock of `performance.now`. */
  waitUntilMs?: number | undefined;
}

export function createEngineTurns({ capabilities, resourceOf }: Engine) {
  const { segmentsPerMinute, segmentsSpokenMax, cloneSegmentsPerMinute, segmentsPerResource = 1 } = capabilities;
  const seats = segmentsSpokenMax === undefined ? undefined : createSeats(segmentsSpokenMax);
  const own = openQuota({ segmentsPerMinute, seats });
  const clones =
    cloneSegmentsPerMinute === undefined ? own : openQuota({ segmentsPerMinute: cloneSegmentsPerMinute, seats });
  const resources = new Map<string, SlotQueue>();

  const takeResource = async (resource: string, request: SlotRequest) => {
    const queue = resources.get(resource) ?? new SlotQueue({ slotsMax: segmentsPerResource });
    resources.set(resource, queue);
    const release = await queue.take(request).catch((error: unknown) => {
      throw error instanceof SlotTimeout ? tooBusy(request.waitMsMax ?? 0) : error;
    });
    return () => {
      release();
      if (queue.held + queue.waiting === 0) resources.delete(resource);
    };
  };

  return {
    /** Resolves when the segment may be begun; undefined where nothing is limited. An urgent one waits so long at most. */
    async take(segment: Segment, { callerId, signal, waitUntilMs }: TurnRequest): Promise<EndTurn | undefined> {
      const { urgent } = segment;
      const resource = resourceOf?.(segment);
      const waitMsMax = () => (waitUntilMs === undefined ? undefined : Math.max(0, waitUntilMs - performance.now()));
      const waitMs = urgent ? waitMsMax() : undefined;
      const request = { owner: callerId, isUrgent: urgent, signal, ...(waitMs !== undefined && { waitMsMax: waitMs }) };
      const release = resource && (await takeResource(resource, request));
      const quota = segment.clone ? clones : own;
      try {
        const endTurn = await quota?.take({ callerId, urgent, signal, waitMsMax: waitMsMax() });
        if (!release) return endTurn;
        return (isUnused) => {
          endTurn?.(isUnused);
          release();
        };
      } catch (error) {
        if (release) release();
        throw error;
      }
    },
    waiting: (): number =>
      [...new Set([own, clones, ...resources.values()])].reduce((count, queue) => count + (queue?.waiting ?? 0), 0),
  };
}

function openQuota(limits: EngineLimits): EngineQuota | undefined {
  const isLimited = Object.values(limits).some((limit) => limit !== undefined);
  return isLimited ? createEngineQuota(limits) : undefined;
}
