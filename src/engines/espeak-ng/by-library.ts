// eSpeak NG as a library in small processes of its own, one segment at a time in each, with exact times of words.
import { parseEspeakVoices } from './espeak-voices.ts';
import { LibraryPool, type LibraryPoolOptions } from './library-pool.ts';
import type { SpeakingWay } from './speaking-way.ts';
import { toWordTimes } from './word-times.ts';

/** Rejects where the library, or what loads it, is not there or does not work here. */
export async function openLibraryWay(options: LibraryPoolOptions): Promise<SpeakingWay> {
  const pool = new LibraryPool(options);
  const { version, sampleRateHz, voiceTable } = await pool.open();
  const voices = parseEspeakVoices(voiceTable);
  return {
    name: 'library',
    version,
    voices,
    timings: true,
    async *speak({ spoken, ...how }, { text, timings }, signal) {
      const process = pool.take();
      const pieces = process.speak({ ...how, text: spoken.text, marks: timings }, signal);
      let sampleCount = 0;
      try {
        for (;;) {
          const { done, value } = await pieces.next();
          if (!done) {
            sampleCount += value.length;
            yield { samples: value, sampleRateHz };
          } else {
            if (!timings || sampleCount === 0) return;
            const words = toWordTimes(text, spoken.sourceIndices(), { marks: value, sampleRateHz, sampleCount });
            return yield { samples: new Int16Array(), sampleRateHz, words };
          }
        }
      } finally {
        await pieces.return([]);
        pool.giveBack(process);
      }
    },
    close: () => pool.close(),
  };
}
