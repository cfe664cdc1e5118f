// Listens to speech as a room would: counts its samples, and collects its words with their times.
import type { tts } from '@livekit/agents';

export interface Heard {
  /** Of 16 bits. */
  samples: Buffer;
  seconds: number;
  words: { text: string; startSeconds: number; endSeconds: number }[];
  /** How often the end of the speech was told. */
  finals: number;
}

export async function hear(stream: AsyncIterable<tts.SynthesizedAudio | symbol>): Promise<Heard> {
  const pieces: Buffer[] = [];
  const words: Heard['words'] = [];
  let seconds = 0;
  let finals = 0;
  for await (const audio of stream) {
    // The end of the stream.
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

/** Speaks pieces of a text as a language model writes them; a flush is after each `null`. */
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
