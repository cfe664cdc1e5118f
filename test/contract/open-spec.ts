// Opens one service for the tests of the specification, and requests a text in each possible way.
import { expect } from 'vitest';
import { bytesOf, openTestGateway } from '../transports/http/open-gateway.ts';

export interface Told {
  error?: string;
  details?: { field: string; reason: string }[];
  [member: string]: unknown;
}

export const failureFrom = async (answer: Response | Promise<Response>) => (await (await answer).json()) as Told;

/** The sample rate of 16-bit PCM, computed from its duration. */
export const rateOf = (audio: Buffer, seconds: number) => audio.length / 2 / seconds;

export async function openSpec(onClose: (close: () => Promise<void>) => void) {
  const gateway = await openTestGateway({}, onClose);
  const { speak, send } = gateway;
  const text = 'Hello there, world.';
  const chunks = { method: 'streaming', text_chunks: ['Hello there,', 'world.'] };
  const sse = '/api/audio/speech/sse';
  const link = async (fields: object) => failureFrom(speak({ text, ...fields }));
  const buffer = async (fields: object = {}) => {
    const answer = await speak({ text, return_format: 'buffer', ...fields });
    expect(answer.status).toBe(200);
    return { headers: answer.headers, audio: await bytesOf(answer) };
  };
  const faultsOf = async (fields: object) => {
    const { error, details } = await failureFrom(speak(fields));
    return details?.map(({ field, reason }) => `${field} ${reason}`) ?? error;
  };
  return { gateway, speak, send, text, chunks, sse, link, buffer, faultsOf };
}
