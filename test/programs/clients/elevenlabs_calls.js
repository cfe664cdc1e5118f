// The calls of ElevenLabs' client.
import { given, load, run, sound } from './ten-calls.js';

const { ElevenLabsClient } = load('@elevenlabs/elevenlabs-js');
const forms = { opus: 'ogg', pcm: 's16le', ulaw: 'mulaw' };

const connect = (apiKey = given.key) => new ElevenLabsClient({ baseUrl: given.url, apiKey });
const ask = ({ key, voice = 'clara', ...more } = {}) =>
  connect(key).textToSpeech.convert(voice, { text: given.text, ...more });
async function speak(more = {}) {
  const [name, rate] = (more.outputFormat ?? 'mp3').split('_');
  const kind = forms[name] ?? name;
  const form = ['mp3', 'ogg', 'wav'].includes(kind) ? kind : `${kind} ${rate}`;
  return sound(form, ...(await Array.fromAsync(await ask(more))));
}

run(
  async function whole() {
    return speak();
  },
  async function stream() {
    return sound('mp3', ...(await Array.fromAsync(await connect().textToSpeech.stream('clara', { text: given.text }))));
  },
  async function formats() {
    const names = ['mp3_22050_32', 'pcm_16000', 'pcm_44100', 'opus_48000_64', 'ulaw_8000', 'alaw_8000', 'wav_24000'];
    const sounds = await Promise.all(names.map((outputFormat) => speak({ outputFormat })));
    return Object.fromEntries(names.map((name, i) => [name, sounds[i]]));
  },
  async function times() {
    const { alignment } = await connect().textToSpeech.convertWithTimestamps('clara', { text: given.text });
    const { characters, characterStartTimesSeconds: starts, characterEndTimesSeconds: ends } = alignment;
    const words = [...characters.join('').matchAll(/[^ ]+/g)];
    return words.map(({ 0: word, index }) => [word, starts[index], ends[index + word.length - 1]]);
  },
  async function voices() {
    const { voices } = await connect().voices.getAll();
    return voices.map(({ voiceId }) => voiceId);
  },
  async function interrupt() {
    const reader = (await ask({ text: given.long, outputFormat: 'pcm_24000' })).getReader();
    await reader.read();
    await reader.cancel();
    return { late: (await reader.read()).value?.length ?? 0, next: await speak() };
  },
  async function invalid() {
    return speak({ voiceSettings: { speed: 99 } });
  },
  async function unknown_voice() {
    return speak({ voice: 'nobody' });
  },
  async function wrong_key() {
    return speak({ key: 'snt_wrong' });
  },
  async function quota() {
    await speak({ key: given.limited });
    return speak({ key: given.limited });
  },
  async function too_long() {
    return speak({ text: given.long, key: given.limited });
  },
);
