// Provides a minimal speech implementation for RPC tests: each chunk of text yields deterministic byte arrays. The
// text contains commands: "pieces=20 bytes=8192 wait=5 fail=3 deaf" yields 20 pieces of 8 KiB, 5 ms apart, fails after
// the third with `trouble.failure`, and ignores its signal. `counts` holds the number of calls and of pieces.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../../../src/accounts/keys/caller.ts';
import type { SpeechOperations } from '../../../src/api/speech.ts';
import { toEstimateResponse } from '../../../src/api/speech-messages.ts';
import { type AudioFormat, audioFormats } from '../../../src/audio/formats.ts';
import type { Delivery } from '../../../src/clips/delivery.ts';
import type { Engine, Voice } from '../../../src/engines/engine.ts';
import { Failure } from '../../../src/platform/errors.ts';
import { type CutPlan, expectedBytesOf, type Plan } from '../../../src/speech/plan.ts';
import type { SpeechRequest } from '../../../src/speech/request.ts';
import type { SpeechEvent, SpeechInfo } from '../../../src/speech/speech-events.ts';
import { createVoices } from '../../../src/speech/voice.ts';

const voice = (voiceId: string, name: string, languageCodes: string[]): Voice => ({
  ...{ voiceId, name, description: `Speaks for tests, as ${name}.`, kind: 'stock', engine: 'tiny', languageCodes },
  ...{ labels: {}, version: '1', gainDb: 0 },
});
const tinyVoices = [voice('ada', 'Ada', ['en']), voice('björk', 'Björk 声 🎙', ['is', 'en-GB'])];

const order = (text: string, name: string, fallback: number) =>
  Number(new RegExp(`${name}=(\\d+)`).exec(text)?.[1] ?? fallback);

export function openShortSpeech() {
  const counts = { begun: 0, finished: 0, running: 0, pieces: 0, delivered: 0 };
  const voices = createVoices([{ name: 'tiny', voices: tinyVoices, capabilities: {} } as unknown as Engine]);
  const trouble: { failure: Error } = { failure: new Failure('engine_error') };
  const ownerOf = new Map<string, string>();

  async function* speakChunk(text: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const waitMs = order(text, 'wait', 0);
    const isDeaf = text.includes('deaf');
    for (let i = 0; i < order(text, 'pieces', 3); i++) {
      if (i === order(text, 'fail', Infinity)) throw trouble.failure;
      if (waitMs) await sleep(waitMs, undefined, isDeaf ? {} : { signal }).catch(() => {});
      if (!isDeaf) signal.throwIfAborted();
      counts.pieces++;
      yield Buffer.alloc(order(text, 'bytes', 64), `${text}${i}.`);
    }
  }

  const plan = async (request: SpeechRequest, _caller: Caller): Promise<Plan> => {
    const estimate = async () => ({ chars: request.chars, seconds: 0, byteCount: 0, segmentCount: 0, warnings: [] });
    const cut = async () => ({ cuts: [].values(), info: { warnings: [] } }) as unknown as CutPlan;
    const voice = voices.find(request.voiceId);
    const main = { offered: voice, languageCode: request.languageCode, bindings: [] };
    return {
      request,
      main,
      ended: undefined,
      check() {},
      keyOf: () => '',
      cut,
      expectedBytes: () => expectedBytesOf(request),
      estimate,
    };
  };

  async function* stream({ request }: Plan, _caller: Caller, signal: AbortSignal): AsyncGenerator<SpeechEvent> {
    const { voice } = voices.find(request.voiceId);
    const format: AudioFormat = audioFormats[request.format];
    const { chars, sampleRateHz } = request;
    counts.begun++;
    counts.running++;
    let byteCount = 0;
    const link = { audioUrl: 'http://sonant.test/audio/aud_tiny', expiresAt: new Date('2030-01-02T03:04:05Z') };
    let info: SpeechInfo | undefined = {
      type: 'info',
      audioId: 'aud_tiny',
      voice,
      speaker: voice,
      format: format.name,
      contentType: format.contentType,
      sampleRateHz,
      chunkCount: request.texts.length,
      chars,
      warnings: ['transliterated'],
      others: [],
      lexiconVersions: [],
      ...(request.returnFormat === 'url' && link),
    };
    try {
      for (const [chunkIndex, { source: text }] of request.texts.entries()) {
        for await (const audio of speakChunk(text, signal)) {
          if (info) yield info;
          info = undefined;
          byteCount += audio.length;
          yield { type: 'audio', chunkIndex, audio, chunkCharsBegun: 1, charsBegun: 1 };
        }
        if (request.timestamps) {
          const words = [{ text: 'a', offset: 0, length: 1, startSeconds: chunkIndex, endSeconds: chunkIndex + 0.5 }];
          yield { type: 'timestamps', chunkIndex, words, quality: 'estimated' };
        }
        const [startSeconds, endSeconds] = [chunkIndex, chunkIndex + 1];
        yield { type: 'chunk_done', chunkIndex, chars: text.length, startSeconds, endSeconds };
      }
      const audioUrl = request.returnFormat === 'url' ? { audioUrl: link.audioUrl } : {};
      yield { type: 'done', chars, seconds: 1.2345678, byteCount, ...audioUrl };
      counts.finished++;
    } finally {
      counts.running--;
    }
  }

  const deliver: Delivery['deliver'] = async (planned, caller, signal) => {
    const { request } = planned;
    const pieces: Uint8Array[] = [];
    for await (const event of stream(planned, caller, signal)) if (event.type === 'audio') pieces.push(event.audio);
    const audio = Buffer.concat(pieces);
    const audioId = `aud_${++counts.delivered}`;
    ownerOf.set(audioId, caller.callerId);
    const facts = {
      audioId,
      voice: voices.find(request.voiceId).voice,
      chars: request.chars,
      charsCharged: request.chars,
      format: request.format,
      sampleRateHz: request.sampleRateHz,
      seconds: 2.5,
      byteCount: audio.length,
      cached: false,
      warnings: [],
      speechCheck: 'good' as const,
      captionUrls: {},
      audioUrl: request.returnFormat === 'url' ? `http://sonant.test/audio/${audioId}.${request.format}` : '',
      expiresAt: new Date('2030-01-02T03:04:05Z'),
    };
    const open = async function* () {
      for (let from = 0; from < audio.length; from += 1000) yield audio.subarray(from, from + 1000);
    };
    return { ...facts, open, close() {} };
  };

  const delivery: Delivery = {
    find: async () => undefined,
    deliver,
    storeStream: stream,
    async remove(audioId, caller) {
      if (ownerOf.get(audioId) !== caller.callerId) throw new Failure('not_found');
      ownerOf.delete(audioId);
    },
  };
  /** The estimated size does not fit into 32 bits. */
  const estimateSpeech: SpeechOperations['estimateSpeech'] = async (_call, request) => {
    const segmentCount = request.texts.length;
    return toEstimateResponse({ chars: request.chars, seconds: 0.5, byteCount: 2 ** 33, segmentCount, warnings: [] });
  };
  return { counts, trouble, voices, delivery, plan, speak: stream, estimateSpeech };
}
