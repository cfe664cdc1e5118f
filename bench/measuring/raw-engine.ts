// Runs the embedded engine's bare program in this thread, without pool and messages, with only the WebAssembly host
// around it. This is the baseline for the cost of the pipeline.

import { stockSpeakers } from '../../src/engines/flite/flite.ts';
import { FliteProgram } from '../../src/engines/flite/flite-program.ts';
import { toParts, toSpokenTokens } from '../../src/engines/flite/flite-text.ts';
import { compileWasm } from '../../src/engines/flite/wasi.ts';
import { joinPcm, type Pcm } from '../../src/platform/pcm.ts';

export interface RawEngine {
  /** Runs the program once for each text. Returns the joined audio. */
  say(voiceId: string, texts: readonly string[], speakingRate?: number): Pcm;
}

export async function openRawEngine(): Promise<RawEngine> {
  const program = new FliteProgram(await compileWasm());
  return {
    say(voiceId, texts, speakingRate = 1) {
      const speaker = stockSpeakers.find(({ voice }) => voice.voiceId === voiceId)!;
      const args = [...speaker.args, '--setf', `duration_stretch=${speaker.stretch / speakingRate}`];
      const utterances: Pcm[] = [];
      const onSound = (samples: Int16Array, sampleRateHz: number) => void utterances.push({ samples, sampleRateHz });
      for (const text of texts) program.run({ args, text, onSound });
      return joinPcm(utterances)!;
    },
  };
}

/** Returns the text of each program run that the engine needs for these segments. */
export const toRuns = (segments: readonly { text: string }[]): string[] =>
  segments.flatMap(({ text }) =>
    toParts(toSpokenTokens(text)).map((part) => part.map(({ spoken }) => spoken).join(' ')),
  );
