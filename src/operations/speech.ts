// Speech: a whole text into stored audio, a text into a stream, an estimate, and the end of stored audio. A request is
// planned once, before it is charged: what cannot be spoken costs nothing.
import type { Delivered, Delivery } from '../delivery/delivery.ts';
import { type Estimate, estimateSpeech } from '../speech/estimate.ts';
import type { Caller, SpeechRequest } from '../speech/request.ts';
import { createSlots } from '../speech/slots.ts';
import type { SpeechEvent } from '../speech/speech-events.ts';
import type { Speech } from '../speech/synthesize.ts';
import type { Call } from './call.ts';
import type { Idempotency } from './idempotency.ts';
import { estimatesAtOnceMax, estimatesWaitingMax } from './limits.ts';
import type { Metering } from './metering.ts';

export interface SpeechOperations {
  /** Throws where a stream of the request would be refused before an engine is asked. */
  check(request: SpeechRequest, caller: Caller): void;
  /** Resolves when all of the text is spoken and stored. `fresh` bypasses the cache. */
  synthesizeSpeech(call: Call, request: SpeechRequest, options: { fresh: boolean }): Promise<Delivered>;
  streamSpeech(call: Call, request: SpeechRequest): AsyncIterable<SpeechEvent>;
  /** Charges no characters, but takes a slot of the key while it runs. */
  estimateSpeech(call: Call, request: SpeechRequest): Promise<Estimate>;
  /** A Failure `not_found` where the caller has no such audio. */
  deleteAudio(call: Call, audioId: string): Promise<void>;
}

export interface SpeechOperationsOptions {
  speech: Pick<Speech, 'plan' | 'speak'>;
  delivery: Delivery;
  metering: Metering;
  idempotency: Pick<Idempotency, 'forgetAbout'>;
}

export function createSpeechOperations(options: SpeechOperationsOptions): SpeechOperations {
  const { speech, delivery, metering, idempotency } = options;
  const estimateSlots = createSlots({ speakingMax: estimatesAtOnceMax, waitingMax: estimatesWaitingMax });
  return {
    check(request, caller) {
      speech.plan(request, caller);
    },

    async synthesizeSpeech(call, request, { fresh }) {
      const { caller, signal } = call;
      const planned = speech.plan(request, caller);
      return metering.charge(call, request, () => delivery.deliver(planned, caller, signal, { fresh }));
    },

    streamSpeech(call, request) {
      const { caller, signal } = call;
      const planned = speech.plan(request, caller);
      const speak = request.returnFormat === 'url' ? delivery.storeStream : speech.speak;
      return metering.chargeStream(call, request, () => speak(planned, caller, signal));
    },

    estimateSpeech(call, request) {
      const { caller, signal } = call;
      const planned = speech.plan(request, caller);
      return metering.occupy(call, async () => {
        const giveBack = await estimateSlots.take(caller.callerId, signal);
        try {
          return await estimateSpeech(planned, signal);
        } finally {
          giveBack();
        }
      });
    },

    async deleteAudio({ caller }, audioId) {
      await delivery.remove(audioId, caller);
      await idempotency.forgetAbout(caller.callerId, audioId);
    },
  };
}
