// The embedded engine's program by itself, in this thread: no pool, no messages, nothing of ours around it but the host
// that it runs in. What the pipeline costs is measured against this.
import { join, type Pcm } from '../../src/audio/pcm.ts';
import { FliteProgram } from '../../src/engines/flite/flite-program.ts';
import { toParts, toSpokenTokens } from '../../src/engines/flite/flite-text.ts';
import { stockSpeakers } from '../../src/engines/flite/voices.ts';
import { compileWasm } from '../../src/engines/flite/wasi.ts';

export interface RawEngine {
  /** All that one run of the program says of each text, one run after the other. */
  say(voiceId: string, texts: readonly string[], speakingRate?: number): Pcm;
}

export async function openRawEngine(): Promise<RawEngine> {
  const program = new FliteProgram(await compileWasm());
  return {
    say(voiceId, texts, speakingRate = 1) {
      const speaker = stockSpeakers.find(({ voice }) => voice.voiceId === voiceId)!;
      const args = [...speaker.args, '--setf', `duration_stretch=${speaker.stretch / speakingRate}`];
      const utterances: Int16Array[] = [];
      for (const text of texts) program.run({ args, text, onSound: (samples) => void utterances.push(samples) });
      return { samples: join(Int16Array, utterances), sampleRateHz: speaker.sampleRateHz };
    },
  };
}

/** The texts of the runs in which the engine speaks these segments. */
export const toRuns = (segments: readonly { text: string }[]): string[] =>
  segments.flatMap(({ text }) =>
    toParts(toSpokenTokens(text)).map((part) => part.map(({ spoken }) => spoken).join(' ')),
  );
