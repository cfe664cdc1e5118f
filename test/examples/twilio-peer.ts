// Imitates Twilio's side of a bidirectional Media Stream, according to its documentation: sends the caller's audio, one
// frame per 20 ms, plays received audio in order at the same pace, and returns each mark when everything before it was
// played or cleared.
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { fromUlaw } from '../../examples/twilio/caller-voice.ts';

export interface Played {
  /** The played u-law audio at 8 kHz. */
  bytes: Buffer;
  /** Number of cleared bytes. */
  clearedBytes: number;
}

type Queued = { audio: Buffer } | { mark: string };

const frameMs = 20;
const frameBytes = 160;
const streamSid = `MZ${'0'.repeat(32)}`;
const callSid = `CA${'0'.repeat(32)}`;
const accountSid = `AC${'0'.repeat(32)}`;

export async function openTwilioPeer(url: string, headers: Record<string, string>) {
  const socket = new WebSocket(url, { headers });
  await once(socket, 'open');
  const queue: Queued[] = [];
  const messages: { event: string; bytes: number }[] = [];
  const played: Buffer[] = [];
  const marksReturned: { name: string; playedBytes: number; wasCleared: boolean }[] = [];
  let clearedBytes = 0;
  let sequence = 0;
  let chunk = 0;
  let loudFrames = 0;
  const send = (event: string, members: object) =>
    socket.send(JSON.stringify({ event, sequenceNumber: String(++sequence), streamSid, ...members }));
  const playedBytes = () => played.reduce((sum, { length }) => sum + length, 0);

  const returnMark = (name: string, wasCleared: boolean) => {
    marksReturned.push({ name, playedBytes: playedBytes(), wasCleared });
    send('mark', { mark: { name } });
  };
  const returnMarks = (): void => {
    for (let next = queue[0]; next && 'mark' in next; next = queue[0]) {
      queue.shift();
      returnMark(next.mark, false);
    }
  };
  const tick = () => {
    // Digital silence in u-law, and a loud square wave.
    const payload = Buffer.from(
      Array.from({ length: frameBytes }, (_, i) => (loudFrames > 0 ? (i % 20 < 10 ? 0x20 : 0xa0) : 0xff)),
    );
    const timestamp = String(chunk * frameMs);
    send('media', {
      media: { track: 'inbound', chunk: String(++chunk), timestamp, payload: payload.toString('base64') },
    });
    loudFrames = Math.max(0, loudFrames - 1);
    returnMarks();
    const next = queue.shift();
    if (next && 'audio' in next) played.push(next.audio);
    returnMarks();
  };
  socket.on('message', (data) => {
    const { event, streamSid: sid, media, mark } = JSON.parse(String(data));
    if (sid !== streamSid) throw new Error(`a message of another stream: ${String(data)}`);
    const audio = media ? Buffer.from(media.payload, 'base64') : Buffer.alloc(0);
    messages.push({ event, bytes: audio.length });
    if (event === 'media') queue.push({ audio });
    else if (event === 'mark') queue.push({ mark: mark.name });
    else if (event === 'clear') {
      for (const one of queue.splice(0)) {
        if ('mark' in one) returnMark(one.mark, true);
        else clearedBytes += one.audio.length;
      }
    }
  });
  socket.send(JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }));
  const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 };
  send('start', { start: { accountSid, streamSid, callSid, tracks: ['inbound'], mediaFormat, customParameters: {} } });
  const clock = setInterval(tick, frameMs);
  const closed = once(socket, 'close').then(() => clearInterval(clock));
  return {
    messages,
    marksReturned,
    closed,
    get played(): Buffer {
      return Buffer.concat(played);
    },
    get clearedBytes() {
      return clearedBytes;
    },
    get isPlaying() {
      return queue.length > 0;
    },
    /** The caller speaks for this long. */
    talk(ms: number) {
      loudFrames = ms / frameMs;
    },
    hangUp() {
      send('stop', { stop: { accountSid, callSid } });
      clearInterval(clock);
    },
  };
}

export const samplesOf = (ulaw: Buffer): Int16Array => Int16Array.from(ulaw, fromUlaw);
