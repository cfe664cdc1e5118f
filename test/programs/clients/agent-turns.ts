// The turns that the agents of LiveKit and Pipecat speak in their tests, and what must come of them.
import { expect } from 'vitest';
import { openFlite } from '../../../src/engines/flite/flite.ts';
import {
  bytesOf,
  type GatewayTestOptions,
  openTestGateway,
  type TestGateway,
} from '../../transports/http/open-gateway.ts';

/** Three turns of three sentences. The second turn is interrupted. */
export const turns = [
  ['Good morning, all of you.', 'It is a fine day today.', 'How are you?'],
  ['This turn goes on for a while.', 'It has a second sentence too.', 'And nobody waits for the third one.'],
  ['Now we speak again.', 'All words are new.', 'That is the end.'],
];
export const voice = 'clara';

/**
 * Opens a gateway with flite, which knows when it speaks each word. Files have tags, as those of a service have: a
 * second tag in a file ends LiveKit's decoder of MP3.
 */
export async function openFliteGateway(
  onClose: (close: () => Promise<void>) => void,
  settings?: GatewayTestOptions['settings'],
): Promise<TestGateway> {
  const flite = await openFlite({ threads: 1 });
  onClose(() => flite.close());
  const marking = { software: 'Sonant', operator: '' };
  const options = { engines: [flite], defaultVoice: voice, marking, isLimited: true };
  return openTestGateway({ ...options, ...(settings && { settings }) }, onClose);
}

/** Seconds of the sentences, each spoken alone, and of all of them in one text with the pauses between them. */
export async function secondsOf({ speak }: TestGateway, sentences: readonly string[]) {
  const measure = async (text: string) => {
    const form = { output_format: 'pcm', sample_rate: 24_000, return_format: 'buffer' };
    return (await bytesOf(await speak({ text, voice_id: voice, ...form }))).length / 48_000;
  };
  const apart = await Promise.all(sentences.map(measure));
  return { least: apart.reduce((sum, seconds) => sum + seconds, 0), most: await measure(sentences.join(' ')) };
}

/** Expects that nothing is spoken any more for an agent that was interrupted or has left. */
export const expectQuiet = ({ schedule }: TestGateway) =>
  expect.poll(() => schedule.state.speaking, { timeout: 20_000 }).toBe(0);
