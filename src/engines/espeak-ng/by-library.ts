// eSpeak NG as a library in small processes of its own, one segment at a time in each, with exact times of words.
import { fileURLToPath } from 'node:url';
import { Failure, toFailure } from '../../errors.ts';
import { Host } from '../../runtime/host.ts';
import { pipeLink } from '../../runtime/worker-links.ts';
import { parseEspeakVoices } from './espeak-voices.ts';
import { type FoundLibraries, openFoundLibraries } from './found-library.ts';
import { type LibraryFacts, type LibraryRequest, libraryCodec, type SoundMark } from './library-frames.ts';
import type { SpeakingWay } from './speaking-way.ts';
import { toWordTimes } from './word-times.ts';

export interface LibraryWayOptions {
  library: string;
  /** The most processes. */
  processesMax: number;
  /** Where the facts of the library are stored; default: nowhere. */
  dataDir?: string | undefined;
  idleMsMax?: number;
  /** How long a process may go on with an aborted segment before it is killed. */
  stopMsMax?: number;
  /** Called with the id of each process that is started. */
  onStart?(pid: number | undefined): void;
}

type LibraryHost = Host<LibraryRequest, Int16Array, LibraryFacts, SoundMark[]>;

const startMsMax = 30_000;
const stopMsUsual = 2_000;
const idleMsUsual = 600_000;
/** A process needs little memory for itself, and one thread. */
const childFlags = ['--max-semi-space-size=1', '--max-old-space-size=64', '--v8-pool-size=0'];
const childFile = fileURLToPath(new URL('./library-child.ts', import.meta.url));

/** Starts no process if the library is known. Rejects if the library or koffi is missing or does not work here. */
export async function openLibraryWay({ dataDir, ...options }: LibraryWayOptions): Promise<SpeakingWay> {
  const loader = findLoader();
  const found = dataDir === undefined ? undefined : openFoundLibraries(dataDir, options.library, loader);
  const host = openHost(options, found);
  const { version, sampleRateHz, voiceTable } = await findOut(host, found);
  const voices = parseEspeakVoices(voiceTable);
  return {
    name: 'library',
    version,
    voices,
    timings: true,
    async *speak({ spoken, ...how }, { text, timings }, signal) {
      const pieces = host.run({ ...how, text: spoken.text, marks: timings }, signal);
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
      }
    },
    close: () => host.close(),
  };
}

function openHost(options: LibraryWayOptions, found: FoundLibraries | undefined): LibraryHost {
  const { library, processesMax, idleMsMax = idleMsUsual, stopMsMax = stopMsUsual, onStart } = options;
  const { HOME, ESPEAK_DATA_PATH, LD_LIBRARY_PATH, NODE_COMPILE_CACHE } = process.env;
  return new Host({
    open() {
      const link = pipeLink({
        name: `the process of ${library}`,
        command: process.execPath,
        args: [...childFlags, childFile, library],
        env: { HOME, ESPEAK_DATA_PATH, LD_LIBRARY_PATH, NODE_COMPILE_CACHE },
        codec: libraryCodec,
      });
      onStart?.(link.pid);
      return link;
    },
    workersMax: processesMax,
    startMsMax,
    stopMsMax,
    idleMsMax,
    onStartFault: () => found?.forget(),
  });
}

/** Where koffi is. */
function findLoader(): string {
  try {
    return import.meta.resolve('koffi');
  } catch (cause) {
    throw new Failure('engine_unavailable', {}, new Error('koffi is not installed', { cause }));
  }
}

async function findOut(host: LibraryHost, stored: FoundLibraries | undefined): Promise<LibraryFacts> {
  const { facts, fault } = stored?.read() ?? {};
  if (facts) return facts;
  if (fault) throw new Failure('engine_unavailable', {}, new Error(fault));
  try {
    const facts = await host.open();
    stored?.keep({ facts });
    return facts;
  } catch (error) {
    stored?.keep({ fault: (toFailure(error).cause as Error).message });
    throw error;
  }
}
