// Speech operations: synthesis to stored audio, synthesis to a stream, estimates, and deletion of stored audio. A
// request is planned before it is charged: text that cannot be spoken is not charged, and audio from the cache is free.
import type { DeleteAudioRequest } from '../../gen/sonant/v1/speech_pb.ts';
import type { Caller } from '../accounts.ts';
import type { Clip, Delivery, SizeLimit } from '../clips.ts';
import { Failure, type FieldViolation } from '../platform/errors.ts';
import { SlotQueue } from '../platform/runtime/slot-queue.ts';
import type { Plan, Speech, SpeechEvent, SpeechRequest } from '../speech.ts';
import type { Call } from './call.ts';
import { estimatesAtOnceMax, estimatesWaitingMax } from './call-limits.ts';
import type { Metering } from './metering.ts';
import { toEstimateResponse } from './speech-messages.ts';

export type SpeechOperations = ReturnType<typeof createSpeechOperations>;

interface SynthesizeOptions {
  /** Whether to bypass the cache. */
  fresh: boolean;
  /** Largest audio that fits into the response, if the audio is part of the response. */
  inlineBytesMax?: number;
}

export interface SpeechOperationsOptions {
  speech: Pick<Speech, 'plan' | 'checkCapacity' | 'speak'>;
  delivery: Delivery;
  metering: Metering;
}

export function createSpeechOperations(options: SpeechOperationsOptions) {
  const { speech, delivery, metering } = options;
  const estimateSlots = new SlotQueue({
    slotsMax: estimatesAtOnceMax,
    waitingMax: estimatesWaitingMax,
    refusal: () => new Failure('overloaded', { retryAfterSeconds: 1 }),
  });
  return {
    /** Throws a Failure if a stream of this request would be refused before it reaches an engine. */
    async check(request: SpeechRequest, caller: Caller): Promise<void> {
      (await speech.plan(request, caller)).check();
    },

    /** Resolves when the whole text has been spoken and, if the result is a link, the audio has been stored. */
    async synthesizeSpeech(
      call: Call,
      request: SpeechRequest,
      { fresh, inlineBytesMax }: SynthesizeOptions,
    ): Promise<Clip> {
      const { caller, signal } = call;
      const plan = await speech.plan(request, caller);
      const sizeLimit = request.returnFormat === 'url' ? undefined : toSizeLimit(inlineBytesMax);
      const cached = fresh ? undefined : await delivery.find(plan, caller);
      // The text of cached audio was checked before.
      if (!cached) plan.check();
      const onFirstSound = () => call.reportSpeech({ firstSoundMs: performance.now() - call.begunMs });
      if (!cached && sizeLimit) await checkEstimate(plan, sizeLimit, signal);
      const charged = metering.charge(call, plan, cached ? 0 : plan.request.chars, async (onSpoken) => {
        const delivered =
          cached ?? (await delivery.deliver(plan, caller, signal, { fresh, sizeLimit, onFirstSound, onSpoken }));
        const { byteCount } = delivered;
        if (!sizeLimit || byteCount <= sizeLimit.bytesMax) return delivered;
        delivered.close();
        throw sizeLimit.refuse(byteCount);
      });
      return charged.catch((error: unknown) => {
        cached?.close();
        throw error;
      });
    },

    async streamSpeech(call: Call, request: SpeechRequest): Promise<AsyncIterable<SpeechEvent>> {
      const { caller, signal, pace } = call;
      const speak = request.returnFormat === 'url' ? delivery.storeStream : speech.speak;
      await speech.checkCapacity(request, caller);
      const plan = await speech.plan(request, caller);
      plan.check();
      return speak(plan, caller, signal, { pace, openMeter: () => metering.openStream(call, plan) });
    },

    /** Estimates a request. No characters are charged, but an estimate takes a concurrency slot of the key. */
    async estimateSpeech(call: Call, request: SpeechRequest) {
      const { caller, signal } = call;
      const plan = await speech.plan(request, caller);
      plan.check();
      return metering.occupy(call, async () => {
        const giveBack = await estimateSlots.take({ owner: caller.callerId, signal });
        try {
          return toEstimateResponse(await plan.estimate(signal));
        } finally {
          giveBack();
        }
      });
    },

    /** Throws `not_found` if the caller has no such audio. */
    async deleteAudio({ audioId }: DeleteAudioRequest, { caller }: Call) {
      await delivery.remove(audioId, caller);
      return {};
    },
  };
}

/** A request is refused before synthesis if this share of its roughly estimated size already exceeds the limit. */
const estimateShare = 0.5;

function toSizeLimit(bytesMax: number | undefined): SizeLimit | undefined {
  if (bytesMax === undefined) return undefined;
  const refuse = (byteCount: number) => {
    const message = `The audio is larger than ${bytesMax} bytes, the limit for inline audio; request a link, or call StreamSpeech.`;
    const details: FieldViolation[] = [{ field: 'buffer_bytes_max', reason: 'too_long', message }];
    return new Failure('invalid_request', { message, limit: bytesMax, actual: byteCount, details });
  };
  return { bytesMax, refuse };
}

const isTooMuch = (byteCount: number, { bytesMax }: SizeLimit): boolean => estimateShare * byteCount > bytesMax;

async function checkEstimate(plan: Plan, limit: SizeLimit, signal: AbortSignal): Promise<void> {
  // Most requests are clearly small enough and need no estimate.
  if (!isTooMuch(plan.expectedBytes(), limit)) return;
  const { byteCount } = await plan.estimate(signal);
  if (isTooMuch(byteCount, limit)) throw limit.refuse(byteCount);
}
