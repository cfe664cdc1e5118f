// Opens ElevenLabs's WebSockets with Node's own client, and collects the received messages by context.
import { once } from 'node:events';
import { expect } from 'vitest';

/** A timeout longer than any pause on a busy machine. */
export const patient = { timeout: 20_000 };

interface Alignment {
  chars: string[];
  charStartTimesMs: number[];
  charDurationsMs: number[];
}
export interface Message {
  audio?: string;
  alignment?: Alignment | null;
  normalizedAlignment?: Alignment | null;
  isFinal?: boolean;
  error?: string;
  message?: string;
  code?: number;
  contextId?: string;
}

/** A failure, as the last message of a connection or a message of a context. */
export const failed = (error: string, more: Message = {}): Message => ({
  message: expect.any(String),
  error,
  code: 1008,
  ...more,
});

/** `from` is a path with its query. Without a key, the socket has no header for it. */
export async function openSocket(from: string, { url, key }: { url: string; key?: string }) {
  const options = { headers: key === undefined ? {} : { 'xi-api-key': key } } as unknown as string[];
  const socket = new WebSocket(url.replace('http', 'ws') + from, options);
  const seen: Message[] = [];
  socket.addEventListener('message', ({ data }) => void seen.push(JSON.parse(data as string)));
  const ended = once(socket, 'close').then(([event]) => event as CloseEvent);
  const closed = ended.then(({ code }) => code);
  const send = (...messages: object[]) => {
    for (const message of messages) socket.send(JSON.stringify(message));
  };
  const of = (id: string | undefined) => seen.filter(({ contextId }) => contextId === id);
  const final = async (id: string | undefined) => {
    await expect.poll(() => of(id).at(-1)?.isFinal, patient).toBe(true);
    return of(id);
  };
  /** Waits for the close. Returns its code, its reason and the last message. */
  const end = async () => {
    const { code, reason } = await ended;
    return { code, reason, last: seen.at(-1) };
  };
  await once(socket, 'open');
  return { socket, closed, end, send, seen, of, final };
}

export const soundOf = (messages: readonly Message[]) =>
  Buffer.concat(messages.map(({ audio }) => Buffer.from(audio ?? '', 'base64')));
export const alignmentsOf = (messages: readonly Message[]) => messages.flatMap(({ alignment }) => alignment ?? []);
export const textOf = (messages: readonly Message[]) =>
  alignmentsOf(messages)
    .flatMap(({ chars }) => chars)
    .join('');

/** The request that Pipecat's service sends. */
export const pipecatPath =
  '/v1/text-to-speech/tone-low/multi-stream-input?model_id=eleven_turbo_v2_5&output_format=pcm_24000&auto_mode=true';
