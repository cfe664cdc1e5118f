// The calls of OpenAI's client.
import { given, load, run, sound } from './ten-calls.js';

const { OpenAI } = load('openai');
const forms = { opus: 'ogg', pcm: 's16le 24000' };

const connect = (apiKey = given.key) => new OpenAI({ apiKey, baseURL: `${given.url}/v1` });
const ask = (more, key, options) => {
  const request = { model: 'tts-1', voice: 'clara', input: given.text, ...more };
  return connect(key).audio.speech.create(request, options);
};
async function speak(more = {}, key = given.key) {
  const { response_format: form = 'mp3' } = more;
  return sound(forms[form] ?? form, Buffer.from(await (await ask(more, key)).arrayBuffer()));
}

run(
  async function whole() {
    return speak();
  },
  async function stream() {
    const { body } = await ask({ response_format: 'pcm' });
    return sound('s16le 24000', ...(await Array.fromAsync(body)));
  },
  async function formats() {
    const names = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'];
    const sounds = await Promise.all(names.map((name) => speak({ response_format: name })));
    return Object.fromEntries(names.map((name, i) => [name, sounds[i]]));
  },
  async function voices() {
    const { voices } = await connect().get('/audio/voices');
    return voices.map(({ id }) => id);
  },
  async function interrupt() {
    const leaving = new AbortController();
    const { body } = await ask({ input: given.long, response_format: 'pcm' }, given.key, { signal: leaving.signal });
    const reader = body.getReader();
    await reader.read();
    leaving.abort();
    const after = await reader.read().catch(() => ({}));
    return { late: after.value?.length ?? 0, next: await speak() };
  },
  async function invalid() {
    return speak({ speed: 9 });
  },
  async function unknown_voice() {
    return speak({ voice: 'nobody' });
  },
  async function wrong_key() {
    return speak({}, 'sk-wrong');
  },
  async function quota() {
    await speak({}, given.limited);
    return speak({}, given.limited);
  },
  async function too_long() {
    return speak({ input: given.long }, given.limited);
  },
);
