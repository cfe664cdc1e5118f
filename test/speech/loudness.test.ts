// Tests that voices of different engines in one text are equally loud, and that no clicks occur between them.
import { afterAll, describe, expect, test } from 'vitest';
import { measureLoudness } from '../../src/audio/loudness.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { openEspeakNg } from '../../src/engines/espeak-ng/espeak-ng.ts';
import { openFlite } from '../../src/engines/flite/flite.ts';
import { isInstalled } from '../programs.ts';
import { collect, joined, samplesOf, speechOf } from './open-speech.ts';

const sampleRateHz = 24_000;
const english = 'The train to the north leaves at nine from platform four. Please take all your belongings with you.';
const french =
  'Le train pour le nord part à neuf heures du quai quatre. Veuillez prendre toutes vos affaires avec vous.';
const german = 'Der Zug nach Norden fährt um neun Uhr von Gleis vier. Bitte nehmen Sie all Ihre Sachen mit.';

describe.skipIf(!isInstalled('espeak-ng'))('voices of two engines in one text', async () => {
  const espeak = await openEspeakNg();
  const engines: Engine[] = [await openFlite({ threads: 1 }), ...(espeak ? [espeak] : [])];
  const { stream } = speechOf(engines);
  afterAll(async () => {
    for (const engine of engines) await engine.close();
  });

  /** Returns the audio, and the position at which each voice after the first begins. */
  const speak = async (voice_id: string, body: string) => {
    const fields = { voice_id, language_code: 'en', sample_rate: sampleRateHz, output_format: 'pcm' };
    const events = await collect(stream({ ...fields, ssml: `<speak>${body}</speak>` }));
    const changes = events.flatMap((event) =>
      event.type === 'mark' ? [Math.round(event.seconds * sampleRateHz)] : [],
    );
    return { samples: samplesOf(joined(events)), changes };
  };

  test.each([
    ['clara', 'espeak-en-gb', english],
    ['arthur', 'espeak-en-us', english],
    ['fergus', 'espeak-de', german],
    ['otto', 'espeak-en-gb', english],
    ['clara', 'espeak-fr-fr', french],
  ])('%s and %s are less than 1.5 LU apart', async (voiceId, other, text) => {
    const { samples, changes } = await speak(voiceId, `${english} <voice name="${other}">${text}</voice> ${english}`);
    expect(changes).toHaveLength(2);
    const parts = [samples.slice(0, changes[0]), samples.slice(changes[0], changes[1]), samples.slice(changes[1])];
    const [first, second, third] = parts.map((part) => measureLoudness({ samples: part, sampleRateHz })) as number[];
    expect(Math.abs(first! - second!)).toBeLessThan(1.5);
    expect(Math.abs(second! - third!)).toBeLessThan(1.5);
  });

  test('the sound is quiet where one voice ends and the other begins', async () => {
    const { samples, changes } = await speak(
      'clara',
      'One, <voice name="espeak-en-gb">two</voice>, three <voice name="espeak-en-gb">four</voice> five.',
    );
    expect(changes).toHaveLength(4);
    const stepsNear = (at: number, width: number) => {
      const near = samples.slice(Math.max(at - width, 1), at + width);
      return near.reduce((most, sample, i) => Math.max(most, Math.abs(sample - (near[i - 1] ?? sample))), 0);
    };
    const usual = stepsNear(samples.length / 2, samples.length / 2);
    const steps = changes.map((at) => stepsNear(at, 0.005 * sampleRateHz));
    for (const step of steps) expect(step).toBeLessThan(usual / 10);
  });
});
