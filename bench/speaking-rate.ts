// Checks whether speech at a speaking rate has the requested duration, at an unchanged pitch.
import type { Bench, Cell } from './measuring/bench.ts';
import { type OpenedSpeech, openSpeech } from './measuring/open-speech.ts';
import { medianPitchHz } from './measuring/pitch.ts';
import { passage } from './measuring/texts.ts';

const speakingRates = [0.25, 0.5, 0.75, 1.25, 1.5, 2, 3, 4];
const sampleRateHz = 24_000;
const text = passage(600);
/** The first four voices have their own models. The other voices use these models at a different pitch. */
const modelCount = 4;
const goalMax = { seconds: 0.03, pitch: 0.05 };

export const bench: Bench = {
  about: 'duration and pitch at eight rates, compared with rate 1',
  async run() {
    const speech = await openSpeech();
    const rows: Cell[][] = [];
    for (const { voiceId } of speech.voices.slice(0, modelCount)) {
      const one = await measure(speech, voiceId, 1);
      rows.push([voiceId, 1, one.seconds, 1, one.pitchHz, 1]);
      for (const rate of speakingRates) {
        const { seconds, pitchHz } = await measure(speech, voiceId, rate);
        rows.push([voiceId, rate, seconds, (seconds * rate) / one.seconds, pitchHz, pitchHz / one.pitchHz]);
      }
    }
    await speech.close();
    const off = (column: number) => Math.max(...rows.map((row) => Math.abs((row[column] as number) - 1)));
    return {
      tables: [
        {
          title: `${text.length} characters; seconds x rate / seconds at 1, pitch / pitch at 1`,
          columns: [
            { name: 'voice' },
            { name: 'rate', digits: 2 },
            { name: 'seconds', digits: 2 },
            { name: 'ratio', digits: 3 },
            { name: 'pitch Hz', digits: 1 },
            { name: 'ratio', digits: 3 },
          ],
          rows,
        },
      ],
      goals: [
        { name: 'seconds, furthest from 1/rate', figure: off(3), digits: 3, max: goalMax.seconds },
        { name: 'pitch, furthest from that at 1', figure: off(5), digits: 3, max: goalMax.pitch },
      ],
    };
  },
};

async function measure(speech: OpenedSpeech, voiceId: string, rate: number) {
  const fields = { text, voice_id: voiceId, speaking_rate: rate, output_format: 'pcm', sample_rate: sampleRateHz };
  const { audio, seconds } = await speech.whole(fields);
  const samples = new Int16Array(audio.buffer, audio.byteOffset, audio.length / 2);
  return { seconds, pitchHz: medianPitchHz({ samples, sampleRateHz }) };
}
