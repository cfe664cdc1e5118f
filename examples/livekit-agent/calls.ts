// The calls for speech that an agent makes. Each call goes through a plugin, and throws if the result is wrong.
import assert from 'node:assert/strict';
import { type tts, voice } from '@livekit/agents';
import { hear, inPieces, speak } from './heard-speech.ts';
import { Recorder } from './recorded-agent.ts';
import { openCartesia, openElevenLabs } from './speech.ts';

const text = 'Good morning, and welcome to the library. It opens at half past seven today. What may I do for you?';
const longText = 'This goes on for quite a while, and then for a while more. '.repeat(40);

export type Call = (speech: tts.TTS) => Promise<void>;

/** Calls for both plugins. */
export const calls: Record<string, Call> = {
  async 'streams a text as it is written'(speech) {
    const { seconds, finals } = await hear(speak(speech, inPieces(text)));
    assert.ok(seconds > 4 && seconds < 12, `${seconds} s`);
    assert.equal(finals, 1);
  },
  async 'sounds the same in pieces and whole'(speech) {
    const whole = await hear(speak(speech, [text]));
    const pieces = await hear(speak(speech, inPieces(text)));
    assert.ok(whole.seconds > 4 && pieces.samples.equals(whole.samples));
  },
  async 'speaks what was flushed while more is written'(speech) {
    const stream = speech.stream();
    stream.pushText('Let me look that up for you.');
    stream.flush();
    await firstSoundOf(stream);
    stream.pushText(' Here it is.');
    stream.endInput();
    const { seconds, words } = await hear(stream);
    assert.ok(seconds > 1, `${seconds} s`);
    assert.match(words.map((word) => word.text).join(''), /Here it is\. ?$/);
  },
  async 'aligns the transcript with the audio'(speech) {
    const { words, seconds } = await hear(speak(speech, inPieces(text)));
    assert.equal(words.map((word) => word.text.trim()).join(' '), text);
    for (const [i, { startSeconds, endSeconds }] of words.entries()) {
      assert.ok(startSeconds <= endSeconds && endSeconds <= seconds, JSON.stringify(words[i]));
      assert.ok(startSeconds >= (words[i - 1]?.startSeconds ?? 0), JSON.stringify(words[i]));
    }
    assert.ok(words.at(-1)!.startSeconds > seconds / 2);
  },
  async 'is interrupted, and speaks again'(speech) {
    const stream = speak(speech, [longText]);
    await firstSoundOf(stream);
    stream.close();
    const { seconds, finals } = await hear(speak(speech, inPieces(text)));
    assert.ok(seconds > 4 && seconds < 12, `${seconds} s`);
    assert.equal(finals, 1);
  },
  async 'is interrupted before it has said anything'(speech) {
    speak(speech, [longText]).close();
    assert.ok((await hear(speak(speech, [text]))).seconds > 4);
  },
  async 'speaks two streams at once'(speech) {
    const alone = await hear(speak(speech, [text]));
    const both = await Promise.all([hear(speak(speech, [text])), hear(speak(speech, inPieces(text)))]);
    for (const { samples } of both) assert.ok(samples.length > 0 && samples.equals(alone.samples));
  },
  async 'speaks turn after turn on one connection'(speech) {
    for (let turn = 0; turn < 10; turn++)
      assert.ok((await hear(speak(speech, [`This is turn ${turn}.`]))).seconds > 0.5);
  },
  async 'has nothing to say'(speech) {
    await hear(speak(speech, [' ']));
    assert.ok((await hear(speak(speech, [text]))).seconds > 4);
  },
  async 'says a list, an address, a sum and an emoji'(speech) {
    const list =
      'You need:\n- two eggs, 3.5 oz of flour;\n- see https://example.com/a?b=c 😀.\n\nIt costs $19.99 — “all in”.';
    const { seconds, finals } = await hear(speak(speech, inPieces(list)));
    assert.ok(seconds > 5, `${seconds} s`);
    assert.equal(finals, 1);
  },
  async 'speaks a text without a stream'(speech) {
    const { seconds } = await hear(speech.synthesize(text));
    assert.ok(seconds > 4 && seconds < 12, `${seconds} s`);
  },
  async 'is the voice of an agent that is interrupted'(speech) {
    const sounds = Promise.withResolvers<void>();
    const output = new Recorder(() => sounds.resolve());
    const session = new voice.AgentSession({ tts: speech });
    session.output.audio = output;
    await session.start({ agent: new voice.Agent({ instructions: '' }) });
    const first = session.say(longText);
    await sounds.promise;
    session.interrupt();
    await first.waitForPlayout();
    assert.ok(first.interrupted);
    output.seconds = 0;
    const second = session.say(text);
    await second.waitForPlayout();
    assert.ok(!second.interrupted);
    assert.ok(output.seconds > 4 && output.seconds < 12, `${output.seconds} s`);
    await session.close();
  },
};

/** Calls that need their own settings of the plugin. */
export const cartesiaCalls: Record<string, () => Promise<void>> = {
  async 'speaks at every sample rate'() {
    const rates = [8000, 16_000, 22_050, 44_100, 48_000];
    const heard = await Promise.all(rates.map((sampleRate) => secondsOf(openCartesia({ sampleRate }))));
    for (const seconds of heard) assert.ok(Math.abs(seconds - heard[0]!) < 0.1, String(heard));
  },
  async 'speaks faster'() {
    assert.ok((await secondsOf(openCartesia({ speed: 1.5 }))) < 0.8 * (await secondsOf(openCartesia())));
  },
  async 'speaks without times of words'() {
    const { seconds, words } = await hear(speak(openCartesia({ wordTimestamps: false }), [text]));
    assert.ok(seconds > 4 && words.length === 0);
  },
  async 'connects ahead, and changes its voice'() {
    const speech = openCartesia();
    speech.prewarm();
    const first = await hear(speak(speech, [text]));
    speech.updateOptions({ voice: 'arthur' });
    assert.ok(!(await hear(speak(speech, [text]))).samples.equals(first.samples));
    await speech.close();
  },
  async 'tells of an unknown voice, and of a wrong key'() {
    assert.match(await failureOf(openCartesia({ voice: 'nobody' })), /Voice not found/);
    assert.match(await failureOf(openCartesia({ apiKey: 'snt_wrong' })), /401/);
  },
};

export const elevenLabsCalls: Record<string, () => Promise<void>> = {
  async 'speaks at every sample rate'() {
    const encodings = ['pcm_16000', 'pcm_22050', 'pcm_44100'] as const;
    const heard = await Promise.all(encodings.map((encoding) => secondsOf(openElevenLabs({ encoding }))));
    for (const seconds of heard) assert.ok(Math.abs(seconds - heard[0]!) < 0.1, String(heard));
  },
  async 'speaks faster'() {
    const voiceSettings = { stability: 0.5, similarity_boost: 0.8, speed: 1.2 };
    assert.ok((await secondsOf(openElevenLabs({ voiceSettings }))) < 0.9 * (await secondsOf(openElevenLabs())));
  },
  async 'speaks word by word'() {
    const { seconds, words } = await hear(speak(openElevenLabs({ autoMode: false }), inPieces(text)));
    assert.ok(seconds > 4);
    assert.equal(words.map((word) => word.text.trim()).join(' '), text);
  },
  async 'lists voices, and changes its voice'() {
    const speech = openElevenLabs();
    const voices = await speech.listVoices();
    assert.ok(voices.some(({ id }) => id === 'arthur'));
    const first = await hear(speak(speech, [text]));
    speech.updateOptions({ voiceId: 'arthur' });
    assert.ok(!(await hear(speak(speech, [text]))).samples.equals(first.samples));
    await speech.close();
  },
  async 'tells of an unknown voice, and of a wrong key'() {
    assert.match(await failureOf(openElevenLabs({ voiceId: 'nobody' })), /could not connect/);
    assert.match(await failureOf(openElevenLabs({ apiKey: 'snt_wrong' })), /could not connect/);
  },
};

/** Speaks, waits for a restart in the middle of a text, and speaks three more texts. */
export async function speakOverRestart(speech: tts.TTS, restart: () => Promise<void>): Promise<void> {
  const stream = speech.stream();
  stream.pushText('This is cut in the middle by a restart.');
  stream.flush();
  await firstSoundOf(stream);
  await restart();
  stream.close();
  for (let turn = 0; turn < 3; turn++) assert.ok((await hear(speak(speech, [text]))).seconds > 4);
}

async function firstSoundOf(stream: tts.SynthesizeStream): Promise<void> {
  const { value } = await stream.next();
  assert.ok(typeof value === 'object' && value.frame.samplesPerChannel > 0);
}

async function secondsOf(speech: tts.TTS): Promise<number> {
  const { seconds } = await hear(speak(speech, [text]));
  await speech.close();
  return seconds;
}

async function failureOf(speech: tts.TTS): Promise<string> {
  const failed = Promise.withResolvers<string>();
  speech.on('error', ({ error }) => failed.resolve((error as Error).message));
  void hear(speak(speech, [text])).then(({ seconds }) => failed.resolve(`it spoke ${seconds} s`));
  const message = await failed.promise;
  await speech.close();
  return message;
}
