// Tests Supertonic in the layout of its release, with the real library: every language that a voice
// claims reaches the model, with its speaker, speed and steps, checked in the child's input and in the audio.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openSherpaEngine } from '../../src/engines/sherpa-onnx/sherpa-engine.ts';
import { findLibrary } from '../../src/engines/sherpa-onnx/sherpa-library.ts';
import { supertonicLanguages } from '../../src/engines/sherpa-onnx/supertonic-model.ts';
import { Schedule } from '../../src/speech/schedule.ts';
import { createSpeech } from '../../src/speech/synthesize.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { dominantFrequencyHz } from '../audio/measure-tone.ts';
import { newFolder } from '../new-folder.ts';
import { collectSpeech } from '../speech/collect-speech.ts';
import { parseSpeechRequest } from '../speech/parse-request.ts';
import { hummed, makeTinySupertonic } from './tiny-supertonic.ts';

const folder = newFolder(afterAll);

/** The silence before and after a text, which does not depend on the speed. */
const silenceSeconds = 0.025 + 0.135;
/** A few words in each language, without digits. */
const words: Readonly<Record<string, string>> = {
  ...{ ar: 'صباح الخير', bg: 'Добро утро', cs: 'Dobré ráno', da: 'Godmorgen', de: 'Guten Morgen', el: 'Καλημέρα' },
  ...{ en: 'Good morning', es: 'Buenos días', et: 'Tere hommikust', fi: 'Hyvää huomenta', fr: 'Bonjour madame' },
  ...{ hi: 'सुप्रभात मित्र', hr: 'Dobro jutro', hu: 'Jó reggelt', id: 'Selamat pagi', it: 'Buongiorno signora' },
  ...{ ja: 'おはようございます', ko: '좋은 아침입니다', lt: 'Labas rytas', lv: 'Labrīt draugs', nl: 'Goedemorgen' },
  ...{ pl: 'Dzień dobry', pt: 'Bom dia', ro: 'Bună dimineața', ru: 'Доброе утро', sk: 'Dobré ráno' },
  ...{ sl: 'Dobro jutro', sv: 'God morgon', tr: 'Günaydın dostum', uk: 'Доброго ранку', vi: 'Chào buổi sáng' },
};

describe('models of many languages', { timeout: 120_000 }, () => {
  beforeEach((context) => context.skip(!findLibrary(''), 'the package sherpa-onnx-node was not found'));

  /** Opens the service's path from a request to the child process, and records the child's input. */
  async function open(dataDir: string) {
    const requests: { text: string; generationConfig: Readonly<Record<string, unknown>> }[] = [];
    const engine = await openSherpaEngine({
      ...{ dataDir, threads: 1, processesMax: 2, modelProcessesMax: 1, idleSeconds: 600, steps: 7 },
      onStart(link) {
        const { send } = link;
        link.send = (request) => {
          requests.push(request);
          send(request);
        };
      },
    });
    onTestFinished(() => engine.close());
    const schedule = new Schedule({ speakingMax: 4, waitingMax: 4 });
    const speech = createSpeech({ voices: createVoices([engine]), schedule });
    const say = async (voice: string, languageCode: string, text: string, rate = 1) => {
      const fields = { voice_id: voice, language_code: languageCode, text, speaking_rate: rate };
      const request = parseSpeechRequest({ ...fields, output_format: 'pcm', sample_rate: 24_000 });
      const spoken = speech.streamSpeech(request, { callerId: 'test' }, new AbortController().signal);
      const { audio } = await collectSpeech(spoken);
      const samples = new Int16Array(audio.buffer, audio.byteOffset, audio.length / 2);
      return { samples, seconds: samples.length / 24_000 - silenceSeconds, told: requests.at(-1)! };
    };
    return { engine, say };
  }

  test('Supertonic speaks each of its 31 as itself, with the speaker, the speed and the steps', async () => {
    const dataDir = await mkdtemp(join(folder, 'data-'));
    await makeTinySupertonic(join(dataDir, 'models/supertonic'));
    const { engine, say } = await open(dataDir);
    expect(engine.voices).toHaveLength(10);
    for (const { languageCodes } of engine.voices) expect(languageCodes).toEqual([...supertonicLanguages]);
    for (const [n, language] of supertonicLanguages.entries()) {
      const { voiceId } = engine.voices[n % 10]!;
      const { told, samples } = await say(voiceId, language, `${words[language]}.`);
      expect(told.generationConfig).toMatchObject({ sid: n % 10, speed: 1, numSteps: 7, extra: { lang: language } });
      const { hz, amplitude } = hummed(language, n % 10);
      expect(Math.abs(dominantFrequencyHz(samples.subarray(2_400, 12_000), 24_000) / hz - 1), language).toBeLessThan(
        0.02,
      );
      expect(amplitude).toBeGreaterThan(0);
    }
    const usual = await say('supertonic-F1', 'de-AT', `${words.de}.`);
    const quick = await say('supertonic-F1', 'de-AT', `${words.de}.`, 1.25);
    expect(quick.told.generationConfig).toMatchObject({ speed: 1.25, extra: { lang: 'de' } });
    expect(Math.abs(usual.seconds / quick.seconds / 1.25 - 1)).toBeLessThan(0.03);
    // Beyond the model's range, the audio is stretched.
    const double = await say('supertonic-F1', 'de', `${words.de}.`, 2);
    expect(double.told.generationConfig.speed).toBe(1.5);
    expect(Math.abs(usual.seconds / double.seconds / 2 - 1)).toBeLessThan(0.03);
  });

  test('a model with a card has the steps of the card', async () => {
    const dataDir = await mkdtemp(join(folder, 'data-'));
    const model = await makeTinySupertonic(join(dataDir, 'models/fine'), { speakers: 1 });
    await writeFile(join(model, 'sonant-model.json'), '{"options":{"steps":12}}');
    const { say } = await open(dataDir);
    const { told } = await say('fine', 'en', 'Good morning.');
    expect(told.generationConfig.numSteps).toBe(12);
  });
});
