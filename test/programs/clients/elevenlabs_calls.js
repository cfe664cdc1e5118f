// The calls of ElevenLabs' client.
import { given, load, run, sound } from './ten-calls.js';

const { ElevenLabsClient } = load('@elevenlabs/elevenlabs-js');
const forms = { opus: 'ogg', pcm: 's16le', ulaw: 'mulaw' };

const connect = (apiKey = given.key) => new ElevenLabsClient({ baseUrl: given.url, apiKey });
const ask = ({ key, voice = 'clara', form: outputFormat, ...more }) =>
  connect(key).textToSpeech.convert(voice, { text: given.text, outputFormat, ...more });
async function speak(more) {
  const [name, rate] = (more.form ?? 'mp3').split('_');
  const kind = forms[name] ?? name;
  const form = ['mp3', 'ogg', 'wav'].includes(kind) ? kind : `${kind} ${rate}`;
  return sound(form, ...(await Array.fromAsync(await ask(more))));
}

run(speak, {
  forms: ['mp3_22050_32', 'pcm_16000', 'pcm_44100', 'opus_48000_64', 'ulaw_8000', 'alaw_8000', 'wav_24000'],
  async stream() {
    return sound('mp3', ...(await Array.fromAsync(await connect().textToSpeech.stream('clara', { text: given.text }))));
  },
  async times() {
    const { alignment } = await connect().textToSpeech.convertWithTimestamps('clara', { text: given.text });
    const { characters, characterStartTimesSeconds: starts, characterEndTimesSeconds: ends } = alignment;
    const words = [...characters.join('').matchAll(/[^ ]+/g)];
    return words.map(({ 0: word, index }) => [word, starts[index], ends[index + word.length - 1]]);
  },
  async voices() {
    const { voices } = await connect().voices.getAll();
    return voices.map(({ voiceId }) => voiceId);
  },
  async interrupt() {
    const reader = (await ask({ text: given.long, form: 'pcm_24000' })).getReader();
    await reader.read();
    await reader.cancel();
    return (await reader.read()).value?.length;
  },
  invalid: () => speak({ voiceSettings: { speed: 99 } }),
});
