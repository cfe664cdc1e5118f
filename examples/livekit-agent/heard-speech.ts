// Receives speech like a room: collects its samples, and its words with their times.
import type { tts } from '@livekit/agents';

export interface Heard {
  /** 16-bit samples. */
  samples: Buffer;
  seconds: number;
  words: { text: string; startSeconds: number; endSeconds: number }[];
  /** Number of frames that were marked as the last of a text. */
  finals: number;
}

export async function hear(stream: AsyncIterable<tts.SynthesizedAudio | symbol>): Promise<Heard> {
  const pieces: Buffer[] = [];
  const words: Heard['words'] = [];
  let seconds = 0;
  let finals = 0;
  for await (const audio of stream) {
    // A symbol marks the end of the stream.
    if (typeof audio === 'symbol') continue;
    const { data, samplesPerChannel, sampleRate } = audio.frame;
    pieces.push(Buffer.from(data.slice().buffer));
    seconds += samplesPerChannel / sampleRate;
    if (audio.final) finals++;
    for (const { text, startTime = 0, endTime = 0 } of audio.timedTranscripts ?? [])
      words.push({ text, startSeconds: startTime, endSeconds: endTime });
  }
  return { samples: Buffer.concat(pieces), seconds, words, finals };
}

/** Speaks a text in pieces, as a language model writes it. `null` stands for a flush. */
export function speak(speech: tts.TTS, pieces: readonly (string | null)[]): tts.SynthesizeStream {
  const stream = speech.stream({ connOptions: { maxRetry: 0, retryIntervalMs: 0, timeoutMs: 20_000 } });
  for (const piece of pieces) {
    if (piece === null) stream.flush();
    else stream.pushText(piece);
  }
  stream.endInput();
  return stream;
}

export const inPieces = (text: string): string[] => text.match(/.{1,5}/gsu) ?? [];
