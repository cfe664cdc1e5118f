// eSpeak NG as a library in small processes of its own, one segment at a time in each, with exact times of words.
import { Failure, toFailure } from '../../errors.ts';
import { parseEspeakVoices } from './espeak-voices.ts';
import { type FoundLibraries, openFoundLibraries } from './found-library.ts';
import type { LibraryFacts } from './library-frames.ts';
import { LibraryPool, type LibraryPoolOptions } from './library-pool.ts';
import type { SpeakingWay } from './speaking-way.ts';
import { toWordTimes } from './word-times.ts';

export interface LibraryWayOptions extends LibraryPoolOptions {
  /** Where what the library was found to be is stored; none for nowhere. */
  dataDir?: string | undefined;
}

/** Without a process where it is known what the library is. Rejects where it, or what loads it, is missing or does not work here. */
export async function openLibraryWay({ dataDir, ...options }: LibraryWayOptions): Promise<SpeakingWay> {
  const loader = findLoader();
  const found = dataDir === undefined ? undefined : openFoundLibraries(dataDir, options.library, loader);
  const pool = new LibraryPool({ ...options, onFault: () => found?.forget() });
  const { version, sampleRateHz, voiceTable } = await findOut(pool, found);
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

/** Where koffi is. */
function findLoader(): string {
  try {
    return import.meta.resolve('koffi');
  } catch (cause) {
    throw new Failure('engine_unavailable', {}, new Error('koffi is not installed', { cause }));
  }
}

async function findOut(pool: LibraryPool, stored: FoundLibraries | undefined): Promise<LibraryFacts> {
  const { facts, fault } = stored?.read() ?? {};
  if (facts) return facts;
  if (fault) throw new Failure('engine_unavailable', {}, new Error(fault));
  try {
    const facts = await pool.open();
    stored?.keep({ facts });
    return facts;
  } catch (error) {
    stored?.keep({ fault: (toFailure(error).cause as Error).message });
    throw error;
  }
}
