// A stream of the core as the sound that it carries, for replies that are sound from end to end.
import type { SpeechInfo, StreamSpeechResponse } from '../../../gen/sonant/v1/speech_pb.ts';

/** The info of a stream, and its sound; the info comes when there is sound. */
export async function beginSound(
  messages: AsyncIterable<StreamSpeechResponse>,
): Promise<{ info: SpeechInfo; pieces: AsyncIterable<Uint8Array> }> {
  const iterator = messages[Symbol.asyncIterator]();
  const first = await iterator.next();
  const event = first.done ? undefined : first.value.event;
  if (event?.case !== 'info') throw new Error('a stream began without its info');
  return { info: event.value, pieces: soundOf(iterator) };
}

async function* soundOf(iterator: AsyncIterator<StreamSpeechResponse>): AsyncGenerator<Uint8Array> {
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    const { event } = next.value;
    if (event.case === 'audio') yield event.value.audioBytes;
  }
}
