// Sends messages to live speech over a WebSocket, and returns the sound and the other messages when it has closed. Does
// the same over gRPC.
import { WebSocket } from 'ws';
import type { LiveSpeechResponse, SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import type { GrpcClient } from '../rpc/grpc-client.ts';

export interface Talk {
  sound: Buffer;
  messages: (Record<string, unknown> & { type: string })[];
}

export async function talkLive({ url, key }: { url: string; key: string }, sent: readonly object[]): Promise<Talk> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/audio/speech/live`, { headers: { 'X-API-Key': key } });
  const pieces: Buffer[] = [];
  const messages: Talk['messages'] = [];
  socket.on('open', () => {
    for (const each of sent) socket.send(JSON.stringify(each));
  });
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) pieces.push(data);
    else messages.push(JSON.parse(String(data)));
  });
  await new Promise((resolve) => socket.once('close', resolve));
  return { sound: Buffer.concat(pieces), messages };
}

/** Sends the requests, and returns the events when the call has ended. */
export async function callLive(
  client: GrpcClient<typeof SpeechService>,
  metadata: Record<string, string>,
  requests: readonly { case: string; value: object }[],
) {
  const stream = client.bidi('liveSpeech', { metadata });
  for (const request of requests) stream.write({ request } as never);
  stream.end();
  return (await Array.fromAsync<LiveSpeechResponse>(stream)).map(({ event }) => event);
}
