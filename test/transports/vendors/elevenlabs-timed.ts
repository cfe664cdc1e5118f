// Asks ElevenLabs's API for audio in all forms: whole, streamed, and with the times of its characters.
import { expect } from 'vitest';
import { bytesOf } from '../http/open-gateway.ts';

export interface Timed {
  audio_base64: string;
  alignment: {
    characters: string[];
    character_start_times_seconds: number[];
    character_end_times_seconds: number[];
  } | null;
}

/** Expects that all forms have this sound at 16 kHz. Returns the answers with times: the whole one, and the streamed. */
export async function askTimed<Answer extends Timed>(
  post: (path: string) => Promise<Response>,
  sound: Buffer,
): Promise<[whole: [Answer], streamed: Answer[]]> {
  expect((await bytesOf(await post('/stream?output_format=pcm_16000'))).equals(sound)).toBe(true);
  const whole = (await (await post('/with-timestamps?output_format=pcm_16000')).json()) as Answer;
  const lines = (await (await post('/stream/with-timestamps?output_format=pcm_16000')).text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Answer);
  for (const answers of [[whole], lines]) {
    const joined = Buffer.concat(answers.map(({ audio_base64 }) => Buffer.from(audio_base64, 'base64')));
    expect(joined.equals(sound)).toBe(true);
  }
  return [[whole], lines];
}
