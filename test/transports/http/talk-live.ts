// Sends messages to live speech over a WebSocket, and returns the sound and the other messages when it has closed.
import { WebSocket } from 'ws';

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
