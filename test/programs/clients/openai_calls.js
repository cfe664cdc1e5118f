// The calls of OpenAI's client.
import { given, load, run, sound } from './ten-calls.js';

const { OpenAI } = load('openai');
const forms = { opus: 'ogg', pcm: 's16le 24000' };

const connect = (apiKey = given.key) => new OpenAI({ apiKey, baseURL: `${given.url}/v1` });
const ask = ({ key, text: input = given.text, voice = 'clara', form, ...more }, options) =>
  connect(key).audio.speech.create({ model: 'tts-1', voice, input, response_format: form, ...more }, options);
const speak = async (more) =>
  sound(forms[more.form] ?? more.form ?? 'mp3', Buffer.from(await (await ask(more)).arrayBuffer()));

run(speak, {
  forms: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
  async stream() {
    const { body } = await ask({ form: 'pcm' });
    return sound('s16le 24000', ...(await Array.fromAsync(body)));
  },
  async voices() {
    const { voices } = await connect().get('/audio/voices');
    return voices.map(({ id }) => id);
  },
  async interrupt() {
    const leaving = new AbortController();
    const { body } = await ask({ text: given.long, form: 'pcm' }, { signal: leaving.signal });
    const reader = body.getReader();
    await reader.read();
    leaving.abort();
    return (await reader.read().catch(() => ({}))).value?.length;
  },
  invalid: () => speak({ speed: 9 }),
});
