// Tests that the default voice says every word: Whisper tiny hears a hundred sentences of ten kinds. Skipped where
// Python or its packages cannot be had.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openApp } from '../../src/app/command-line.ts';
import { loadConfig } from '../../src/app/config.ts';
import { registry } from '../../src/engines.ts';
import { createHearing, kindsOfSentences } from '../heard-words.ts';
import { collectSpeech } from '../speech/collect-speech.ts';
import { parseSpeechRequest } from '../speech/parse-request.ts';
import { openWhisper } from './clients/whisper.ts';

const whisper = await openWhisper();
const sample_rate = 24_000;
const perKind = 10;

test.skipIf(!whisper)('the default voice says a hundred sentences', { timeout: 600_000 }, async () => {
  const app = await openApp(
    loadConfig({ env: {}, folder: join(tmpdir(), 'sonant-nothing'), engines: registry }),
    registry,
  );
  try {
    const { voice } = app.voices.list()[0]!;
    const sentences = [...kindsOfSentences.values()].flatMap((all) => all.slice(0, perKind));
    const heard = await createHearing(whisper!.url)(sentences, async (text) => {
      const request = parseSpeechRequest({ voice_id: voice.voiceId, text, sample_rate, output_format: 'pcm' });
      const { audio } = await collectSpeech(
        app.speech.streamSpeech(request, { callerId: 'test', accountId: 'test' }, new AbortController().signal),
      );
      return { samples: new Int16Array(audio.buffer, audio.byteOffset, audio.length >> 1), sampleRateHz: sample_rate };
    });
    expect(heard.sentences).toBe(100);
    expect(heard.wrong / heard.words).toBeLessThanOrEqual(0.1);
    expect(heard.truncated + heard.repeated).toBeLessThanOrEqual(2);
    expect(heard.skipped).toBeLessThanOrEqual(10);
  } finally {
    await app.close();
    whisper!.close();
  }
});
