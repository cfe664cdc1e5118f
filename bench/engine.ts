// Compares the engine's bare program, the engine through its pool, and the engine through the pipeline. The bare program
// speaks a text in one run; the pool and the pipeline speak it in segments.
import type { Bench, Cell } from './measuring/bench.ts';
import { drain, type OpenedSpeech, openSpeech } from './measuring/open-speech.ts';
import { openRawEngine, type RawEngine } from './measuring/raw-engine.ts';
import { compare, cpuOf, cpuRatio, wallOf } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

/** Rounds for each length of text. Long texts vary less and need fewer rounds. */
const roundsOf = new Map([
  [60, 9],
  [1000, 5],
  [5000, 1],
]);
/** The simplest pipeline: one resampler, no encoder. */
const format = { output_format: 'pcm', sample_rate: 24_000 };
/** The first four voices have their own models. The other voices use these models at a different pitch. */
const modelCount = 4;

export const bench: Bench = {
  about: 'the flite program, the pool of flite threads, and the whole pipeline (24 kHz PCM)',
  async run() {
    const speech = await openSpeech();
    const raw = await openRawEngine();
    const rows: Cell[][] = [];
    const ratios = new Map<number, number>();
    for (const { voiceId } of speech.voices.slice(0, modelCount)) {
      for (const [chars, rounds] of roundsOf) {
        const row = await measure({ speech, raw, voiceId, chars, rounds });
        rows.push(row);
        if (voiceId === speech.voices[0]!.voiceId) ratios.set(chars, row.at(-1) as number);
      }
    }
    await speech.close();
    const columns = [
      { name: 'voice' },
      { name: 'chars' },
      { name: 'sound s', digits: 1 },
      { name: 'raw RTF', digits: 4 },
      { name: 'pipeline RTF', digits: 4 },
      { name: 'raw CPU ms/s', digits: 2 },
      { name: 'pool CPU ms/s', digits: 2 },
      { name: 'pipeline CPU ms/s', digits: 2 },
      { name: 'pool/raw', digits: 3 },
      { name: 'pipeline/raw', digits: 3 },
    ];
    const title =
      'Real-time factor (time to make a second of sound), CPU per second of sound, and its ratio to the raw run';
    const goal = (chars: number, max: number) => {
      const name = `pipeline/raw CPU, default voice, ${chars} characters`;
      return { name, figure: ratios.get(chars)!, digits: 3, max };
    };
    return { tables: [{ title, columns, rows }], goals: [goal(60, 1.3), goal(1000, 1.1), goal(5000, 1.1)] };
  },
};

interface Asked {
  speech: OpenedSpeech;
  raw: RawEngine;
  voiceId: string;
  chars: number;
  rounds: number;
}

async function measure({ speech, raw, voiceId, chars, rounds }: Asked): Promise<Cell[]> {
  const text = passage(chars);
  const fields = { ...format, voice_id: voiceId, text };
  speech.segments.length = 0;
  const { seconds } = await drain(speech.stream(fields));
  const segments = speech.segments.slice();
  const never = new AbortController().signal;
  const costs = await compare(
    {
      raw: () => raw.say(voiceId, [text]),
      async pool() {
        for (const segment of segments) for await (const _ of speech.engine.speak(segment, never));
      },
      pipeline: () => drain(speech.stream(fields)),
    },
    { rounds },
  );
  const perSecond = (ms: number) => ms / seconds;
  return [
    voiceId,
    chars,
    seconds,
    perSecond(wallOf(costs.raw) / 1000),
    perSecond(wallOf(costs.pipeline) / 1000),
    perSecond(cpuOf(costs.raw)),
    perSecond(cpuOf(costs.pool)),
    perSecond(cpuOf(costs.pipeline)),
    cpuRatio([costs.pool], [costs.raw]),
    cpuRatio([costs.pipeline], [costs.raw]),
  ];
}
