// Provides ready audio, so that only the APIs are measured. All contenders send these bytes.

import type { Delivery } from '../../src/clips/delivery.ts';
import type { Engine, Voice } from '../../src/engines/engine.ts';
import { createId } from '../../src/platform/runtime/id.ts';
import { expectedBytesOf } from '../../src/speech/plan.ts';
import type { SpeechRequest } from '../../src/speech/request.ts';
import type { Speech } from '../../src/speech/synthesize.ts';
import { createVoices } from '../../src/speech/voice.ts';

export const sound: Uint8Array = Buffer.alloc(100_000, 'sound');
export const piece: Uint8Array = Buffer.alloc(8192, 'piece');
export const pieceCount = 20;

export const voice: Voice = {
  voiceId: 'ada',
  name: 'Ada',
  description: 'Has said it all already.',
  kind: 'stock',
  engine: 'ready',
  languageCodes: ['en'],
  labels: { gender: 'female' },
  version: '1',
  gainDb: 0,
};

export const voices = createVoices([{ name: 'ready', voices: [voice], capabilities: {} } as unknown as Engine]);

const about = ({ format, sampleRateHz, chars }: SpeechRequest) => {
  return { audioId: createId('aud'), voice, format, sampleRateHz, chars, warnings: [] };
};

/** Finds the voice. Plans nothing, because the speech is ready. */
export const readyPlan: Speech['plan'] = async (request) => {
  const offered = voices.find(request.voiceId);
  const main = { offered, languageCode: request.languageCode, bindings: [] };
  const cut = () => {
    throw new Error('there is nothing to speak');
  };
  return {
    request,
    main,
    ended: undefined,
    check() {},
    keyOf: () => '',
    cut,
    expectedBytes: () => expectedBytesOf(request),
    estimate: cut,
  };
};

export const readySpeak: Speech['speak'] = async function* ({ request }) {
  const whole = { contentType: 'audio/wav', chunkCount: 1, others: [], lexiconVersions: [] };
  yield { type: 'info', ...about(request), speaker: voice, ...whole };
  for (let n = 0; n < pieceCount; n++)
    yield { type: 'audio', chunkIndex: 0, audio: piece, chunkCharsBegun: 1, charsBegun: 1 };
  yield { type: 'chunk_done', chunkIndex: 0, chars: request.chars, startSeconds: 0, endSeconds: 2 };
  yield { type: 'done', chars: request.chars, seconds: 2, byteCount: pieceCount * piece.length };
};

export const readyDelivery: Delivery = {
  find: async () => undefined,
  async deliver({ request }) {
    const known = {
      seconds: 2,
      byteCount: sound.length,
      cached: false,
      speechCheck: 'good' as const,
      charsCharged: request.chars,
      audioUrl: '',
      captionUrls: {},
      expiresAt: new Date(),
    };
    const facts = { ...about(request), ...known };
    return { ...facts, open: () => [sound], close() {} };
  },
  storeStream: readySpeak,
  async remove() {},
};
