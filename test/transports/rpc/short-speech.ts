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
import { Failure, type FieldViolation } from '../../../src/platform/errors.ts';
import { isSpokenBy } from '../../../src/platform/language-code.ts';
import { type CutPlan, expectedBytesOf, type Plan } from '../../../src/speech/plan.ts';
import type { SpeechRequest } from '../../../src/speech/request.ts';
import type { SpeechEvent, SpeechInfo } from '../../../src/speech/speech-events.ts';
import { createVoices } from '../../../src/speech/voice.ts';

export interface SpeechCounts {
  begun: number;
  finished: number;
  /** Number of running calls of any kind. */
  running: number;
  pieces: number;
  delivered: number;
}

const voice = (voiceId: string, name: string, languageCodes: string[], labels = {}): Voice => ({
  voiceId,
  name,
  description: `Speaks for tests, as ${name}.`,
  kind: 'stock',
  engine: 'tiny',
  languageCodes,
  labels,
  version: '1',
  gainDb: 0,
});

export const tinyVoices = [
  voice('ada', 'Ada', ['en'], { gender: 'female' }),
  voice('björk', 'Björk 声 🎙', ['is', 'en-GB']),
  voice('carl', 'Carl', ['de'], { gender: 'male' }),
];

const order = (text: string, name: string, fallback: number) =>
  Number(new RegExp(`${name}=(\\d+)`).exec(text)?.[1] ?? fallback);

export function openShortSpeech() {
  const counts: SpeechCounts = { begun: 0, finished: 0, running: 0, pieces: 0, delivered: 0 };
  const voices = createVoices([{ name: 'tiny', voices: tinyVoices, capabilities: {} } as unknown as Engine]);
  const trouble: { failure: Error } = { failure: new Failure('engine_error') };
  const kept = new Map<string, { owner: string; key: string }>();

  const check = (request: SpeechRequest): Voice => {
    const { voice } = voices.find(request.voiceId);
    if (!isSpokenBy(voice, request.languageCode)) {
      const message = `voice ${voice.voiceId} speaks ${voice.languageCodes.join(', ')}`;
      const details: FieldViolation[] = [{ field: 'language_code', reason: 'unsupported_language', message }];
      throw new Failure('invalid_request', { details });
    }
    return voice;
  };

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
    check(request);
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
    const voice = check(request);
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

  const cache = new Map<string, Uint8Array>();
  const deliver: Delivery['deliver'] = async (planned, caller, signal, { fresh }) => {
    const { request } = planned;
    const key = JSON.stringify(request);
    const cached = cache.has(key) && !fresh;
    if (!cached) {
      const pieces: Uint8Array[] = [];
      for await (const event of stream(planned, caller, signal)) if (event.type === 'audio') pieces.push(event.audio);
      cache.set(key, Buffer.concat(pieces));
    }
    const audio = cache.get(key)!;
    const audioId = `aud_${++counts.delivered}`;
    kept.set(audioId, { owner: caller.callerId, key });
    const facts = {
      audioId,
      voice: check(request),
      chars: request.chars,
      charsCharged: request.chars,
      format: request.format,
      sampleRateHz: request.sampleRateHz,
      seconds: 2.5,
      byteCount: audio.length,
      cached,
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
      if (kept.get(audioId)?.owner !== caller.callerId) throw new Failure('not_found');
      kept.delete(audioId);
    },
  };
  /** The estimated size does not fit into 32 bits. */
  const estimateSpeech: SpeechOperations['estimateSpeech'] = async (_call, request) => {
    check(request);
    const segmentCount = request.texts.length;
    return toEstimateResponse({ chars: request.chars, seconds: 0.5, byteCount: 2 ** 33, segmentCount, warnings: [] });
  };
  return { counts, trouble, voices, delivery, plan, speak: stream, estimateSpeech };
}
