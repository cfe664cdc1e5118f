// Opens a server that speaks OpenAI's transcription API. It answers as a test asks, and can misbehave.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface Transcription {
  authorization: string | undefined;
  /** The fields of the form; `file` has a character for each byte. */
  fields: Record<string, string>;
  /** Number of samples in the file, which is WAV. */
  sampleCount: number;
}

export interface TranscriptionAnswer {
  status?: number;
  body: string;
  headers?: Record<string, string>;
}

const wavHeaderBytes = 44;

/** An answer that never comes makes the server silent. */
export async function openTranscriptionServer(
  answer: (asked: Transcription) => TranscriptionAnswer | Promise<TranscriptionAnswer>,
) {
  const asked: Transcription[] = [];
  const server = createServer(async (request, response) => {
    const body = (await buffer(request)).toString('latin1');
    const boundary = /boundary=(.+)$/.exec(request.headers['content-type'] ?? '')![1]!;
    const parts = body.split(`--${boundary}`).slice(1, -1);
    const fields = Object.fromEntries(
      parts.map((part) => [/name="([^"]+)"/.exec(part)![1]!, part.slice(part.indexOf('\r\n\r\n') + 4, -2)]),
    );
    const sampleCount = (fields.file!.length - wavHeaderBytes) / 2;
    const present = { authorization: request.headers.authorization, fields, sampleCount };
    asked.push(present);
    const { status = 200, body: said, headers = {} } = await answer(present);
    response.writeHead(request.url === '/v1/audio/transcriptions' ? status : 404, headers).end(said);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
