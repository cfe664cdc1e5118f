// Tests that the default voice is intelligible: a speech recognizer compares it with the output of the engine's own
// program and with the same audio played backwards. Skipped if the recognizer is not installed.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type App, openApp } from '../src/app/command-line.ts';
import { loadConfig } from '../src/app/config.ts';
import { flite } from '../src/engines/flite/flite.ts';
import { FliteProgram } from '../src/engines/flite/flite-program.ts';
import { compileWasm } from '../src/engines/flite/wasi.ts';
import { join as concat, type Pcm } from '../src/platform/pcm.ts';
import { canRecognize, type EncodedSound, recognize, toWords, wordErrorRate } from './recognizer.ts';
import { sentences } from './sentences.ts';
import { collectSpeech } from './speech/collect-speech.ts';
import { parseSpeechRequest } from './speech/parse-request.ts';

/** Enough sentences for a verdict. */
const some = sentences.slice(0, 24);
const never = new AbortController().signal;
const pcm24 = { output_format: 'pcm', sample_rate: 24_000 };

describe.skipIf(!canRecognize())('the default voice is understood', { timeout: 300_000 }, () => {
  let app: App;
  let raw: number;

  beforeAll(async () => {
    app = await openApp(loadConfig({ env: {}, folder: join(tmpdir(), 'sonant-nothing'), engines: [flite] }), [flite]);
    raw = wordErrorRate(some, await recognize(await sayRaw()));
  }, 300_000);
  afterAll(() => app?.close());

  const speak = (fields: object) => {
    const voiceId = app.voices.list()[0]!.voice.voiceId;
    return collectSpeech(
      app.speech.streamSpeech(
        parseSpeechRequest({ voice_id: voiceId, ...fields }),
        { callerId: 'test', accountId: 'test' },
        never,
      ),
    );
  };
  const say = async (texts: readonly string[], fields: object): Promise<EncodedSound[]> => {
    const sounds: EncodedSound[] = [];
    for (const text of texts) {
      const { audio, info } = await speak({ ...fields, text });
      sounds.push({ bytes: audio, format: info.format, sampleRateHz: info.sampleRateHz });
    }
    return sounds;
  };

  // MP3 has the most processing steps, so faults of other formats show there too.
  test('in MP3, as well as the raw program', async () => {
    const sounds = await say(some, { output_format: 'mp3', sample_rate: 44_100 });
    const listen = async () => wordErrorRate(some, await recognize(sounds));
    // The recognizer is not deterministic; faults in the audio are also found the second time.
    const once = await listen();
    const through = once > raw + 0.02 ? Math.min(once, await listen()) : once;
    expect(through).toBeLessThanOrEqual(0.25);
    expect(through).toBeLessThanOrEqual(raw + 0.02);
  });

  test('played backwards, it is not: the recognizer does not guess', async () => {
    const few = some.slice(0, 8);
    const heard = await recognize(await say(few, pcm24), { reversed: true });
    expect(wordErrorRate(few, heard)).toBeGreaterThan(0.9);
  });

  test('every sentence of a long text is heard, where its word times say', async () => {
    const said = some.slice(0, 8);
    const { audio, timestamps } = await speak({ ...pcm24, text: said.join(' '), timestamps: 'word' });
    const words = timestamps.flatMap((event) => event.words);
    const samples = new Int16Array(audio.buffer, audio.byteOffset, audio.length / 2);
    const parts = said.map((sentence, n): Pcm => {
      const offset = said.slice(0, n).join(' ').length;
      const own = words.filter((word) => word.offset >= offset && word.offset <= offset + sentence.length);
      const [from, to] = [own[0]!.startSeconds, own.at(-1)!.endSeconds].map((seconds) =>
        Math.round(seconds * pcm24.sample_rate),
      );
      return { samples: samples.slice(from, to), sampleRateHz: pcm24.sample_rate };
    });
    const heard = await recognize(parts);
    const lost = said.filter((sentence, n) => wordErrorRate([sentence], [heard[n]!]) > 0.5);
    expect(lost).toEqual([]);
    expect(wordErrorRate(said, heard)).toBeLessThanOrEqual(0.25);
    expect(words.flatMap(({ text }) => toWords(text))).toEqual(said.flatMap(toWords));
  });
});

/** The sentences as spoken by the engine's program alone. */
async function sayRaw(): Promise<Pcm[]> {
  const program = new FliteProgram(await compileWasm());
  return some.map((text) => {
    const utterances: Int16Array[] = [];
    program.run({ args: ['-voice', 'rms'], text, onSound: (samples) => void utterances.push(samples) });
    return { samples: concat(Int16Array, utterances), sampleRateHz: 16_000 };
  });
}
