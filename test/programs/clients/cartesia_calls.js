// The calls of Cartesia's client.
import { given, load, run, sound } from './ten-calls.js';

const { Cartesia } = load('@cartesia/cartesia-js');
const voice = { mode: 'id', id: 'clara' };
const raw = { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 };
const encodings = { pcm_s16le: 's16le', pcm_f32le: 'f32le', pcm_mulaw: 'mulaw', pcm_alaw: 'alaw' };

const connect = (apiKey = given.key) => new Cartesia({ baseURL: given.url, apiKey });
async function speak({ key, voice: id = 'clara', text = given.text, form = 'wav pcm_s16le', rate = 24_000 }) {
  const [container, encoding] = form.split(' ');
  const coding = container === 'mp3' ? { bit_rate: Number(encoding) } : { encoding };
  const request = { model_id: 'sonic-3', transcript: text, voice: { mode: 'id', id } };
  const output_format = { container, sample_rate: rate, ...coding };
  const answer = await connect(key).tts.generate({ ...request, output_format });
  return sound(
    container === 'raw' ? `${encodings[encoding]} ${rate}` : container,
    Buffer.from(await answer.arrayBuffer()),
  );
}

/** Speaks a text word by word. Returns the context. */
async function converse(socket, text = given.text, more = {}) {
  const options = { model_id: 'sonic-3', voice, output_format: raw, add_timestamps: true, ...more };
  const context = socket.context(options);
  for (const word of text.split(' ')) await context.push({ transcript: `${word} ` });
  await context.no_more_inputs();
  return context;
}
async function eventsOf(more) {
  const socket = await connect().tts.websocket();
  // Without a listener, an error would end the process.
  socket.on('error', () => {});
  const events = await Array.fromAsync((await converse(socket, given.text, more)).receive());
  socket.close();
  return events;
}
const audioOf = (events) =>
  sound('s16le 24000', ...events.filter(({ type }) => type === 'chunk').map(({ data }) => Buffer.from(data, 'base64')));

const forms = ['wav', 'raw'].flatMap((container) =>
  Object.keys(encodings).map((encoding) => `${container} ${encoding}`),
);
run(speak, {
  forms: ['mp3 128000', ...forms],
  stream: async () => audioOf(await eventsOf()),
  async times() {
    const found = (await eventsOf()).flatMap(({ word_timestamps: part }) => part ?? []);
    return found.flatMap(({ words, start, end }) => words.map((word, i) => [word, start[i], end[i]]));
  },
  voices: async () => (await Array.fromAsync(connect().voices.list())).map(({ id }) => id),
  async interrupt() {
    const socket = await connect().tts.websocket();
    const context = await converse(socket, given.long);
    await context.receive().next();
    await context.cancel();
    let isOver = false;
    let late = 0;
    socket.on('event', ({ context_id, type }) => {
      if (context_id !== context.contextId) return;
      if (isOver) late++;
      if (type === 'done') isOver = true;
    });
    const next = audioOf(await Array.fromAsync((await converse(socket)).receive()));
    socket.close();
    return { late, next };
  },
  invalid: () => speak({ rate: 1 }),
  stream_of_unknown_voice: () => eventsOf({ voice: { mode: 'id', id: 'nobody' } }),
});
