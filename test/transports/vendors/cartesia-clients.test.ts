// Tests Cartesia's WebSocket with messages from Pipecat's CartesiaTTSService, which also defines how replies are
// parsed.
import { once } from 'node:events';
import { afterAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { openTestGateway } from '../http/open-gateway.ts';

const shared = await openTestGateway({}, afterAll);
const patient = { timeout: 20_000 };

type Message = Record<string, unknown> & { type: string; context_id: string };

/**
 * The output of _build_msg: a service that accepts sentences sends `max_buffer_delay_ms`, a service that accepts tokens
 * does not.
 */
const messageOf = (context_id: string, transcript: string, more: object = {}) => ({
  ...{ transcript, continue: true, context_id, model_id: 'sonic-3.5', voice: { mode: 'id', id: 'tone-low' } },
  output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 },
  ...{ add_timestamps: true, use_normalized_timestamps: false, language: 'en', ...more },
});

async function openPipecat() {
  const address = `${shared.url.replace('http', 'ws')}/tts/websocket?api_key=${shared.key}&cartesia_version=2026-03-01`;
  const socket = new WebSocket(address);
  await once(socket, 'open');
  const seen: Message[] = [];
  const errors: string[] = [];
  const stopped: string[] = [];
  const words: Record<string, [string, number][]> = {};
  const sound: Record<string, number> = {};
  // Reads messages like Pipecat's _process_messages.
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as Message;
    seen.push(message);
    const { type, context_id: id } = message;
    if (type === 'done') stopped.push(id);
    else if (type === 'timestamps') {
      const { words: texts, start } = message.word_timestamps as { words: string[]; start: number[] };
      words[id] = [...(words[id] ?? []), ...texts.map((text, i): [string, number] => [text, start[i]!])];
    } else if (type === 'chunk') sound[id] = (sound[id] ?? 0) + Buffer.from(String(message.data), 'base64').length;
    else if (type === 'error') errors.push(id);
    else if (type !== 'flush_done') throw new Error(`unknown message type: ${type}`);
  });
  const send = (...messages: object[]) => {
    for (const message of messages) socket.send(JSON.stringify(message));
  };
  return { socket, send, seen, errors, stopped, words, sound };
}

test('Pipecat: sentences without a space between them are sentences, and their words those of the text', async () => {
  const { send, stopped, words, sound, errors, socket } = await openPipecat();
  const say = (text: string) => messageOf('p1', text, { max_buffer_delay_ms: 0 });
  const sentences = ['Good morning, all.', 'It costs 3.50, or “less”.', 'How are you'];
  const before = shared.tone.segments.length;
  send(...sentences.map(say), { ...say(''), continue: false });
  await expect.poll(() => stopped, patient).toEqual(['p1']);
  expect(words.p1!.map(([word]) => word).join(' ')).toBe(sentences.join(' '));
  const starts = words.p1!.map(([, start]) => start);
  expect(starts).toEqual(starts.toSorted((one, other) => one - other));
  expect(starts.at(-1)).toBeLessThan(sound.p1! / 48_000);
  const spoken = shared.tone.segments.slice(before).map(({ text }) => text);
  expect(spoken.join(' ')).not.toMatch(/[a-z][.”]\S*[A-Z]/);
  expect(errors).toEqual([]);
  socket.close();
});

test('a phrase that is cut in the middle of a character is joined', async () => {
  const { send, stopped, words, errors, socket } = await openPipecat();
  const say = (text: string) => messageOf('cut', text, { max_buffer_delay_ms: 0 });
  const before = shared.tone.segments.length;
  send(...['Hi \ud83d', '\ude00 there.', 'Bye.'].map(say), { ...say(''), continue: false });
  await expect.poll(() => stopped, patient).toEqual(['cut']);
  expect(errors).toEqual([]);
  expect(words.cut!.map(([word]) => word)).toEqual(['Hi', 'there.', 'Bye.']);
  const spoken = shared.tone.segments.slice(before).map(({ text }) => text);
  expect(spoken.join(' ')).toMatch(/Hi.*there\. Bye\./);
  socket.close();
});

test('Pipecat: tokens are joined as they are', async () => {
  const { send, stopped, words, socket } = await openPipecat();
  const tokens = ['Good', ' mor', 'ning', ',', ' all', '.', ' How', ' are you', '?'];
  send(...tokens.map((text) => messageOf('t1', text)), { ...messageOf('t1', ''), continue: false });
  await expect.poll(() => stopped, patient).toEqual(['t1']);
  expect(words.t1!.map(([word]) => word)).toEqual(['Good', 'morning,', 'all.', 'How', 'are', 'you?']);
  socket.close();
});

test('Pipecat: an interrupted context ends, and the next one is spoken whole', async () => {
  const { send, seen, stopped, words, errors, socket } = await openPipecat();
  const say = (id: string, text: string) => messageOf(id, text, { max_buffer_delay_ms: 0 });
  send(say('i1', 'This goes on and on and on. '.repeat(40)));
  await expect.poll(() => seen.length, patient).toBeGreaterThan(0);
  send({ context_id: 'i1', cancel: true }, say('i2', 'Yes?'), { ...say('i2', ''), continue: false });
  await expect.poll(() => stopped.toSorted(), patient).toEqual(['i1', 'i2']);
  const end = seen.findIndex(({ type, context_id }) => type === 'done' && context_id === 'i1');
  expect(seen.slice(end + 1).filter(({ context_id }) => context_id === 'i1')).toEqual([]);
  expect(words.i2!.map(([word]) => word)).toEqual(['Yes?']);
  expect(errors).toEqual([]);
  socket.close();
});

test('Pipecat: a context without speech is given samples, and an error names its context', async () => {
  const { send, sound, stopped, errors, socket } = await openPipecat();
  send(messageOf('e1', '…'), { ...messageOf('e1', ''), continue: false });
  await expect.poll(() => stopped, patient).toEqual(['e1']);
  expect(sound.e1).toBeGreaterThan(0);
  send(messageOf('e2', 'Hello.', { voice: { mode: 'id', id: 'nobody' } }));
  await expect.poll(() => errors, patient).toEqual(['e2']);
  send(messageOf('e3', 'Still here.'), { ...messageOf('e3', ''), continue: false });
  await expect.poll(() => stopped, patient).toContain('e3');
  socket.close();
});
