// Serves OpenAI's speech interface on loopback, with the tone engine as its voice. On demand it is slow, silent,
// broken, over its quota, or cut off midway.
import { createServer, type ServerResponse } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { wavHeader } from '../../src/audio/wav.ts';
import type { OpenAiCompatibleOptions } from '../../src/engines/openai-compatible/openai-compatible.ts';
import { listen } from '../free-port.ts';
import { openTone, soundBytesOf } from './tone-engine.ts';

export interface ServerTrouble {
  /** Answers this many requests with this status first. */
  failures?: { count: number; status: number; headers?: Record<string, string>; body?: string };
  /** Answers 503 while this many requests are running. */
  runningMax?: number;
  /** Never answers. */
  isMute?: boolean;
  /** Closes the connection after this many bytes of audio. */
  cutAfterBytes?: number;
  /** Stalls after this many bytes of audio, and leaves the connection open. */
  stallAfterBytes?: number;
  /** Sends this many bytes at a time, with a pause before each. */
  pieceBytes?: number;
  pieceDelayMs?: number;
  /** Answers 200 with only this body. */
  instead?: { type: string; body: string | Uint8Array };
  /** Sends a WAV header with this rate before the samples. */
  wavRateHz?: number;
  /** The answer to a request for the list of voices. If undefined, the server has no such path. */
  voices?: unknown;
  /** The answer to such a request instead, as it is. */
  list?: { status: number; headers?: Record<string, string>; body: string };
}

/** Options of an engine for the server at this URL. */
export const openAiOptions = (url: string, more: Partial<OpenAiCompatibleOptions> = {}): OpenAiCompatibleOptions => ({
  ...{ url, apiKey: 'sk-of-the-operator', model: 'tones', form: 'auto', voices: [], languages: ['en'] },
  ...{ sampleRateHz: 24_000, requestsPerMinute: 0, requestsAtOnce: 8, ...more },
});

interface SpeechRequest {
  path: string;
  authorization: string | undefined;
  traceparent: string | string[] | undefined;
  body: Record<string, unknown>;
}

export async function openOpenAiServer(
  trouble: ServerTrouble = {},
  onClose: (close: () => Promise<void>) => void = onTestFinished,
) {
  const tone = openTone({ sampleRateHz: 24_000 });
  const requests: SpeechRequest[] = [];
  const state = {
    trouble: { voices: { voices: ['tone-low', { id: 'tone-high', name: 'High' }] }, ...trouble },
    left: 0,
    /** Number of requests that wait for an answer, or for the rest of their answer. */
    running: 0,
  };

  const send = async (response: ServerResponse, sound: Buffer) => {
    const { pieceBytes = 4_097, pieceDelayMs = 0, cutAfterBytes, stallAfterBytes = Infinity } = state.trouble;
    const end = Math.min(cutAfterBytes ?? sound.length, sound.length);
    for (let from = 0; from < end; from += pieceBytes) {
      if (from >= stallAfterBytes) return;
      if (pieceDelayMs > 0) await sleep(pieceDelayMs);
      if (response.closed) return;
      response.write(sound.subarray(from, Math.min(end, from + pieceBytes)));
    }
    if (cutAfterBytes === undefined) return void response.end();
    // Data already written should arrive before the break, however busy the machine is.
    for (let turns = 0; turns < 20; turns++) await sleep(2);
    response.destroy();
  };

  const server = createServer(async (request, response) => {
    state.running++;
    response.on('close', () => {
      state.running--;
      state.left += response.writableFinished ? 0 : 1;
    });
    if (request.method === 'GET') {
      const { list } = state.trouble;
      if (list) return void response.writeHead(list.status, list.headers).end(list.body);
      const isVoices = new URL(request.url!, 'http://x').pathname === '/v1/audio/voices';
      if (!isVoices || state.trouble.voices === undefined)
        return void response.writeHead(404).end('{"detail":"Not Found"}');
      return void response.writeHead(200).end(JSON.stringify(state.trouble.voices));
    }
    const body = (await readJson(request)) as { voice: string; input: string };
    const { authorization, traceparent } = request.headers;
    requests.push({ path: request.url!, authorization, traceparent, body: { ...body } });
    const { failures, instead, wavRateHz, isMute, runningMax = Infinity } = state.trouble;
    if (isMute) return;
    if (state.running > runningMax) return void response.writeHead(503).end('{"error":{"message":"queue full"}}');
    if (failures && failures.count-- > 0) {
      const { status, headers = {}, body: told = '{"error":{"message":"no"}}' } = failures;
      return void response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(told);
    }
    if (instead) return void response.writeHead(200, { 'Content-Type': instead.type }).end(instead.body);
    const sound = await soundBytesOf(tone, body.input, body.voice).catch(() => undefined);
    if (!sound) return void response.writeHead(400).end('{"error":{"message":"too long"}}');
    response.writeHead(200, { 'Content-Type': wavRateHz ? 'audio/wav' : 'audio/pcm' });
    await send(response, wavRateHz ? Buffer.concat([wavHeader(wavRateHz, Infinity), sound]) : sound);
  });
  const serverPort = await listen(server);
  onClose(async () => {
    server.closeAllConnections();
    server.close();
    await tone.close();
  });
  return { url: `http://127.0.0.1:${serverPort}/v1`, requests, state, server };
}
