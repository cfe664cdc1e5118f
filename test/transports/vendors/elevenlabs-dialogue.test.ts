// Tests ElevenLabs's text-to-dialogue: the routes, and the WebSockets with the messages of LiveKit's and Pipecat's
// services, which choose them for the models eleven_v3 and eleven_v4.
import { afterAll, expect, test } from 'vitest';
import { decodeRecording } from '../../../src/audio/recording/recording.ts';
import { bytesOf, openTestGateway } from '../http/open-gateway.ts';
import { type Message, openSocket, patient } from './elevenlabs-socket.ts';
import { askTimed, type Timed } from './elevenlabs-timed.ts';

const shared = await openTestGateway({}, afterAll);
type Gateway = Awaited<ReturnType<typeof openTestGateway>>;

const post = (path: string, body: object, { url, key }: { url: string; key: string } = shared) =>
  fetch(`${url}/v1/text-to-dialogue${path}`, {
    method: 'POST',
    headers: { 'xi-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ model_id: 'eleven_v3', ...body }),
  });
const refusalOf = async (body: object, query = '', gateway = shared) => {
  const answer = await post(query, body, gateway);
  const { detail } = (await answer.json()) as { detail: { status: string; message: string } };
  return [answer.status, detail.status, detail.message];
};

const inputs = [
  { text: 'Hello. How are you?', voice_id: 'tone-low' },
  { text: 'Überall “gut”.', voice_id: 'tone-high' },
  { text: 'I see.', voice_id: 'tone-low' },
];

interface TimedDialogue extends Timed {
  voice_segments: {
    voice_id: string;
    start_time_seconds: number;
    end_time_seconds: number;
    character_start_index: number;
    character_end_index: number;
    dialogue_input_index: number;
  }[];
}

/** The characters of each line, by the segments of these answers. */
const linesOf = (answers: readonly TimedDialogue[]) =>
  inputs.map((_, line) =>
    answers
      .flatMap(({ alignment, voice_segments }) =>
        voice_segments
          .filter((segment) => segment.dialogue_input_index === line)
          .flatMap(({ character_start_index: from, character_end_index: to }) => alignment!.characters.slice(from, to)),
      )
      .join(''),
  );

test('a dialogue is one file in which each voice speaks its lines, with and without times', async () => {
  const whole = await post('?output_format=pcm_16000', { inputs, settings: { stability: 1 } });
  expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'audio/pcm']);
  expect(whole.headers.get('x-ignored-fields')).toBe('model_id, settings.stability');
  expect(whole.headers.get('character-cost')).toBe(String(inputs.map(({ text }) => text).join('').length));
  const sound = await bytesOf(whole);
  const [[timed], lines] = await askTimed<TimedDialogue>((path) => post(path, { inputs }), sound);
  for (const answers of [[timed], lines]) expect(linesOf(answers)).toEqual(inputs.map(({ text }) => text));
  const { voice_segments: segments } = timed;
  expect(segments.map((segment) => segment.voice_id)).toEqual(['tone-low', 'tone-high', 'tone-low']);
  expect(segments.at(-1)!.end_time_seconds).toBeCloseTo(sound.length / 32_000, 2);
  const pitchOf = ({ start_time_seconds: start, end_time_seconds: end }: TimedDialogue['voice_segments'][number]) => {
    const signs = Array.from({ length: Math.floor((end - start) * 16_000) }, (_, i) =>
      Math.sign(sound.readInt16LE(2 * (Math.floor(start * 16_000) + i))),
    );
    return signs.filter((sign, i) => sign > 0 && signs[i - 1]! <= 0).length / (end - start);
  };
  const [low, high, again] = segments.map(pitchOf);
  expect(high! / low!).toBeGreaterThan(1.3);
  expect(high! / again!).toBeGreaterThan(1.3);
  for (const [i, { start_time_seconds: start }] of segments.entries())
    expect(start).toBeGreaterThanOrEqual(segments[i - 1]?.end_time_seconds ?? 0);
  const mp3 = await bytesOf(await post('', { inputs }));
  expect((await decodeRecording(mp3, { secondsMax: 60 })).samples.length / 44_100).toBeCloseTo(
    sound.length / 32_000,
    0,
  );
});

test.each([
  ['inputs must have at least one text.', {}],
  ['inputs[1].voice_id must contain more than white space', { inputs: [inputs[0], { text: ' ' }] }],
  ['inputs[0].text must be a string', { inputs: [{ text: { toString: 1 }, voice_id: { toString: 1 } }] }],
  ['has 1001 texts, over the limit of 1000', { inputs: Array.from({ length: 1001 }, () => inputs[0]) }],
  [
    '60000 characters; the limit is 50000',
    { inputs: inputs.map((line) => ({ ...line, text: 'word '.repeat(4_000) })) },
  ],
  ['language_code must be a language of voice tone-low', { inputs, language_code: 'ja' }],
  ['apply_text_normalization must be auto, on or off', { inputs, apply_text_normalization: 'maybe' }],
])('a dialogue is refused whole: %s', async (sentence, body) => {
  const [status, , message] = await refusalOf(body);
  expect([status, message]).toEqual([400, expect.stringContaining(sentence)]);
});

test('a voice that does not exist refuses the dialogue before anything is spoken', async () => {
  const gateway = await openTestGateway();
  const refused = await refusalOf({ inputs: [...inputs, { text: 'No.', voice_id: 'nobody' }] }, '', gateway);
  expect(refused).toEqual([404, 'voice_not_found', expect.any(String)]);
  expect(gateway.calls.at(-1)!.speech.characters).toBeUndefined();
});

test('the monthly quota is that of the whole dialogue, and every line is charged to its voice', async () => {
  const gateway = await openTestGateway({ isLimited: true });
  const { key } = await gateway.keyVerifier.create({ limits: { charactersPerMonth: 30 } });
  const limited = { ...gateway, key };
  const refused = await refusalOf({ inputs }, '', limited as Gateway);
  expect(refused).toEqual([400, 'invalid_request', expect.stringContaining('30 a month')]);
  await bytesOf(
    await post('', { inputs: inputs.slice(0, 2).map((line) => ({ ...line, text: 'Ten chars.' })) }, limited),
  );
  const answer = await fetch(`${gateway.url}/v1/user/subscription`, { headers: { 'xi-api-key': key } });
  expect(await answer.json()).toMatchObject({ character_count: 20, character_limit: 30 });
  // Nothing is spoken if the rest of the quota is too small for all lines.
  const spent = await refusalOf({ inputs: inputs.slice(1) }, '', limited as Gateway);
  expect(spent).toEqual([401, 'quota_exceeded', expect.stringContaining('10 are left')]);
});

/** Messages of the dialogue's sockets. */
interface Told extends Message {
  context_id?: string;
  is_final?: boolean;
  is_final_audio_for_turn?: boolean;
}
const multiPath = '/v1/text-to-dialogue/multi-stream-input?model_id=eleven_v4_turbo&output_format=pcm_24000';

async function openDialogue(from: string, gateway: { url: string; key?: string } = shared) {
  const peer = await openSocket(from, gateway);
  const of = (id: string | undefined) => (peer.seen as Told[]).filter((message) => message.context_id === id);
  const final = async (id: string | undefined) => {
    await expect.poll(() => of(id).at(-1)?.is_final, patient).toBe(true);
    return of(id);
  };
  return { ...peer, of, final };
}

const soundIn = (messages: readonly Told[]) =>
  Buffer.concat(messages.map(({ audio }) => Buffer.from(audio ?? '', 'base64')));

interface Times {
  chars: string[];
  char_start_times_ms: number[];
  char_durations_ms: number[];
}

test('clients that add up audio and clients that add up times find each word where it is spoken', async () => {
  const { send, final } = await openDialogue(`${multiPath}&sync_alignment=true`);
  send({ context_id: 'c', voices: ['tone-low'] });
  for (const [i, text] of ['Hello there, you. ', 'And <break time="1.5s"/> more of it. '].entries())
    send({ context_id: 'c', inputs: [{ text, voice_id: 'tone-low', new_turn: i === 0 }] });
  send({ context_id: 'c', close_context: true });
  const messages = await final('c');
  let [audioMs, timesMs, text] = [0, 0, ''];
  const starts: number[] = [];
  for (const { audio, alignment } of messages.filter((message) => message.audio)) {
    const { chars, char_start_times_ms: from, char_durations_ms: lengths } = alignment as unknown as Times;
    expect(Math.abs(audioMs - timesMs)).toBeLessThan(2);
    text += chars.join('');
    starts.push(...from.map((ms) => audioMs + ms));
    audioMs += Buffer.from(audio!, 'base64').length / 48;
    timesMs += from.at(-1)! + lengths.at(-1)!;
  }
  expect(text.replace(/ +/g, ' ')).toBe('Hello there, you. And <break time="1.5s"/> more of it. ');
  expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  const timed = (await (
    await post('/with-timestamps?output_format=pcm_24000', {
      inputs: [{ text: 'Hello there, you. And <break time="1.5s"/> more of it.', voice_id: 'tone-low' }],
    })
  ).json()) as Timed;
  const { alignment } = timed;
  const startOf = (word: string) =>
    alignment!.character_start_times_seconds[alignment!.characters.join('').indexOf(word)]!;
  expect(Math.abs(starts[text.indexOf('more')]! / 1000 - startOf('more'))).toBeLessThan(0.2);
});

test('several voices speak in a context; a voice that was not announced is found too, and each flush is a turn', async () => {
  const { send, final } = await openDialogue(multiPath);
  send({ context_id: 'c', voices: ['tone-low', 'tone-high'] });
  send({ context_id: 'c', inputs, flush: true }, { context_id: 'c', inputs: [{ text: 'Bye.', voice_id: 'far' }] });
  send({ context_id: 'c', close_context: true });
  const messages = await final('c');
  expect(messages.filter((message) => message.is_final_audio_for_turn)).toHaveLength(4);
  expect(messages.every(({ alignment }) => (alignment ?? null) === null)).toBe(true);
  const whole = await bytesOf(
    await post('?output_format=pcm_24000', { inputs: [...inputs, { text: 'Bye.', voice_id: 'far' }] }),
  );
  // Over HTTP, speakers pause before they answer.
  expect((whole.length - soundIn(messages).length) / 48_000).toBeGreaterThan(0.3);
});

test('a single dialogue takes its key from the first message, and ends with is_final', async () => {
  const { url, key } = shared;
  const { send, seen, closed } = await openDialogue('/v1/text-to-dialogue/stream-input?output_format=mp3_44100_128', {
    url,
  });
  send({ xi_api_key: key, voices: ['tone-low'] }, { inputs: [{ text: 'Hello.', voice_id: 'tone-low' }] });
  send({ keep_alive: true }, { close_socket: true });
  expect(await closed).toBe(1000);
  expect((seen as Told[]).at(-1)).toEqual({ is_final: true });
  expect((await decodeRecording(soundIn(seen), { secondsMax: 9 })).samples.length).toBeGreaterThan(4_000);
});

test.each([
  [{ voices: ['nobody'] }, 'voice_not_found', 'Voice not found'],
  [{ voices: [] }, 'invalid_request', 'voices must be a list of ids of voices.'],
  [{ inputs: [{ text: 'Hi.' }] }, 'invalid_request', 'inputs must be objects with text and voice_id.'],
  [{ inputs: 'Hi.' }, 'invalid_request', 'inputs must be a list.'],
  [{ inputs: [{ text: 'Hi.', voice_id: 'nobody' }], flush: true }, 'voice_not_found', 'Voice not found'],
])('a context of %j fails with a sentence, and another one speaks', async (message, error, sentence) => {
  const { send, of, final } = await openDialogue(multiPath);
  send({ context_id: 'wrong', ...message });
  await final('wrong');
  expect(of('wrong')[0]).toMatchObject({ error, message: expect.stringContaining(sentence), code: 1008 });
  send({ context_id: 'c', voices: ['tone-low'] }, { context_id: 'c', inputs: [inputs[0]], flush: true });
  send({ context_id: 'c', close_context: true });
  expect(soundIn(await final('c')).length).toBeGreaterThan(10_000);
});

test('a token of one use opens one dialogue', async () => {
  const { url, key } = shared;
  const answer = await fetch(`${url}/v1/single-use-token/tts_websocket`, {
    method: 'POST',
    headers: { 'xi-api-key': key },
  });
  const { token } = (await answer.json()) as { token: string };
  const path = `${multiPath}&single_use_token=${token}`;
  const { send, final } = await openDialogue(path, { url });
  send({ context_id: 'c', voices: ['tone-low'] }, { context_id: 'c', inputs, flush: true });
  send({ context_id: 'c', close_context: true });
  expect(soundIn(await final('c')).length).toBeGreaterThan(10_000);
  const again = await openDialogue(path, { url });
  again.send({ context_id: 'c', voices: ['tone-low'] });
  expect(await again.end()).toMatchObject({ code: 1008, last: { error: 'invalid_api_key' } });
});
