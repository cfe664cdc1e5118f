// Collects a stream of speech into one file with true sizes.
import type { SpeechDone, SpeechEvent, SpeechInfo, SpeechTimestamps } from '../../src/speech/speech-events.ts';

export interface CollectedSpeech {
  info: SpeechInfo;
  audio: Uint8Array;
  seconds: number;
  timestamps: readonly SpeechTimestamps[];
}

export async function collectSpeech(events: AsyncIterable<SpeechEvent>): Promise<CollectedSpeech> {
  const pieces: Uint8Array[] = [];
  const timestamps: SpeechTimestamps[] = [];
  let info: SpeechInfo | undefined;
  let done: SpeechDone | undefined;
  for await (const event of events) {
    if (event.type === 'info') info = event;
    else if (event.type === 'audio') pieces.push(event.audio);
    else if (event.type === 'timestamps') timestamps.push(event);
    else if (event.type === 'done') done = event;
  }
  const audio = Buffer.concat(pieces);
  audio.set(done!.head ?? []);
  return { info: info!, audio, seconds: done!.seconds, timestamps };
}
