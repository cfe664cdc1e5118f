// The calls of Cartesia's client.
import { given, load, run, sound } from './ten-calls.js';

const { Cartesia } = load('@cartesia/cartesia-js');
const voice = { mode: 'id', id: 'clara' };
const wav = { container: 'wav', encoding: 'pcm_s16le', sample_rate: 24_000 };
const raw = { ...wav, container: 'raw' };
const encodings = { pcm_s16le: 's16le', pcm_f32le: 'f32le', pcm_mulaw: 'mulaw', pcm_alaw: 'alaw' };

const connect = (apiKey = given.key) => new Cartesia({ baseURL: given.url, apiKey });
async function speak(more = {}, { form = 'wav', key } = {}) {
  const request = { model_id: 'sonic-3', transcript: given.text, voice, output_format: wav, ...more };
  return sound(form, Buffer.from(await (await connect(key).tts.generate(request)).arrayBuffer()));
}

/** A context that speaks a text word by word. */
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

run(
  async function whole() {
    return speak();
  },
  async function stream() {
    return audioOf(await eventsOf());
  },
  async function formats() {
    const sounds = {
      mp3: await speak(
        { output_format: { container: 'mp3', sample_rate: 44_100, bit_rate: 128_000 } },
        { form: 'mp3' },
      ),
    };
    for (const [encoding, form] of Object.entries(encodings))
      for (const container of ['wav', 'raw'])
        sounds[`${container} ${encoding}`] = await speak(
          { output_format: { container, encoding, sample_rate: 44_100 } },
          { form: container === 'wav' ? 'wav' : `${form} 44100` },
        );
    return sounds;
  },
  async function times() {
    const found = (await eventsOf()).flatMap(({ word_timestamps: part }) => part ?? []);
    return found.flatMap(({ words, start, end }) => words.map((word, i) => [word, start[i], end[i]]));
  },
  async function voices() {
    return (await Array.fromAsync(connect().voices.list())).map(({ id }) => id);
  },
  async function interrupt() {
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
  async function invalid() {
    return speak({ output_format: { ...wav, sample_rate: 1 } });
  },
  async function unknown_voice() {
    return speak({ voice: { mode: 'id', id: 'nobody' } });
  },
  async function stream_of_unknown_voice() {
    return eventsOf({ voice: { mode: 'id', id: 'nobody' } });
  },
  async function wrong_key() {
    return speak({}, { key: 'snt_wrong' });
  },
  async function quota() {
    await speak({}, { key: given.limited });
    return speak({}, { key: given.limited });
  },
  async function too_long() {
    return speak({ transcript: given.long }, { key: given.limited });
  },
);
