// The webhook and the WebSocket of a telephone number at Twilio: POST /voice answers a call with TwiML that connects
// the call to /stream, where Sonant speaks. The README lists the settings, which are environment variables.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { type Conversation, PhoneCall, type PhoneCallOptions } from './phone-call.ts';
import { isSigned } from './signature.ts';

export interface ServerOptions extends PhoneCallOptions {
  port: number;
  /** Public host name at which Twilio reaches this server, such as agent.example.com. */
  publicHost: string;
  /** Auth token of the Twilio account. */
  authToken: string;
}

/** Fixed greeting and answers, for this example. With a language model, yield the pieces of its stream instead. */
const conversation: Conversation = {
  async *greet() {
    yield* wordsOf(
      'Hello, this is Sonant. I go on speaking until you interrupt me. Then I tell you what you have heard.',
    );
    yield* wordsOf(
      ' If you do not, I read on, and on, and on. There is no hurry: nobody waits for you. Say something.',
    );
  },
  async *answer(heard) {
    yield* wordsOf(heard === '' ? 'You have not heard anything yet.' : `You have heard: ${heard}`);
  },
};

const bodyCharsMax = 64 * 1024;
const wordsOf = (text: string) => text.match(/\s*\S+\s*/g) ?? [];

export async function openServer(options: ServerOptions) {
  const { publicHost, authToken, port } = options;
  const isOfTwilio = ({ headers }: IncomingMessage, url: string, fields?: URLSearchParams) =>
    isSigned(headers['x-twilio-signature'], authToken, url, fields);

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    for await (const bytes of request) {
      body += bytes;
      if (body.length > bodyCharsMax) return response.writeHead(413).end();
    }
    const fields = new URLSearchParams(body);
    if (request.method !== 'POST' || request.url !== '/voice') return response.writeHead(404).end();
    if (!isOfTwilio(request, `https://${publicHost}/voice`, fields)) return response.writeHead(403).end();
    const twiml = `<Response><Connect><Stream url="wss://${publicHost}/stream"/></Connect></Response>`;
    return response.writeHead(200, { 'Content-Type': 'text/xml' }).end(twiml);
  };
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 64 * 1024 });
  server.on('upgrade', (request, socket, head) => {
    if (request.url !== '/stream' || !isOfTwilio(request, `wss://${publicHost}/stream`))
      return void socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
    sockets.handleUpgrade(request, socket, head, (twilio) => new PhoneCall(twilio, options));
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return { server, sockets, port: (server.address() as AddressInfo).port };
}

if (import.meta.main) {
  const {
    SONANT_URL: url = 'http://127.0.0.1:8080',
    SONANT_API_KEY: apiKey = '',
    SONANT_VOICE: voice = 'clara',
  } = process.env;
  const { PUBLIC_HOST: publicHost = '', TWILIO_AUTH_TOKEN: authToken = '', PORT = '8081' } = process.env;
  if (publicHost === '' || authToken === '') throw new Error('PUBLIC_HOST and TWILIO_AUTH_TOKEN must be set.');
  const speech = { url, apiKey, voice, conversation, log: console.log };
  const { port } = await openServer({ ...speech, publicHost, authToken, port: Number(PORT) });
  console.log(`serves https://${publicHost} on 127.0.0.1:${port}`);
}
