// Opens a server that speaks OpenAI's transcription API. It answers as a test asks, and can misbehave.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../free-port.ts';

export interface Transcription {
  authorization: string | undefined;
  /** The fields of the form; `file` has a character for each byte. */
  fields: Record<string, string>;
  /** Number of samples in the file, which is WAV. */
  sampleCount: number;
  /** Resolves when the connection is over. */
  left: Promise<unknown>;
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
    const { authorization, 'content-type': type } = request.headers;
    const form = await new Response(await buffer(request), { headers: { 'content-type': type! } }).formData();
    const file = Buffer.from(await (form.get('file') as File).arrayBuffer());
    const fields = { ...(Object.fromEntries(form) as Record<string, string>), file: file.toString('latin1') };
    const sampleCount = (file.length - wavHeaderBytes) / 2;
    const present = { authorization, fields, sampleCount, left: once(response, 'close') };
    asked.push(present);
    const { status = 200, body: said, headers = {} } = await answer(present);
    response.writeHead(request.url === '/v1/audio/transcriptions' ? status : 404, headers).end(said);
  });
  const serverPort = await listen(server);
  return {
    url: `http://127.0.0.1:${serverPort}/v1`,
    asked,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
