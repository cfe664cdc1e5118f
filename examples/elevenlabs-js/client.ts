// Makes every call for speech of ElevenLabs's own client, with another base URL, to a running Sonant. Prints a line for
// each call, and finally the number of passed calls.
import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { ElevenLabsClient, ElevenLabsError } from '@elevenlabs/elevenlabs-js';

const {
  SONANT_URL: baseUrl = 'http://127.0.0.1:8080',
  SONANT_API_KEY: apiKey = '',
  SONANT_VOICE: voice = 'clara',
} = process.env;
const client = new ElevenLabsClient({ baseUrl, apiKey });
const request = {
  text: 'Good morning. It is half past seven.',
  modelId: 'eleven_flash_v2_5',
  outputFormat: 'pcm_16000',
} as const;

const calls: Record<string, () => Promise<unknown>> = {
  async 'textToSpeech.convert'() {
    const audio = await buffer(await client.textToSpeech.convert(voice, request));
    assert.ok(audio.length > 32_000, `${audio.length} bytes`);
  },
  async 'textToSpeech.convert, as MP3 by default'() {
    const audio = await buffer(await client.textToSpeech.convert(voice, { text: request.text }));
    // MPEG audio, after the tag that names the service unless the operator has turned it off.
    assert.match(audio.toString('latin1', 0, 3), /^(ID3|\xff[\xe0-\xff])/);
  },
  async 'textToSpeech.convert, with settings of the voice'() {
    const fast = { ...request, voiceSettings: { speed: 1.2, stability: 0.5 } };
    const [usual, faster] = await Promise.all(
      [request, fast].map(async (asked) => buffer(await client.textToSpeech.convert(voice, asked))),
    );
    assert.ok(faster!.length < 0.9 * usual!.length);
  },
  async 'textToSpeech.stream'() {
    const audio = await buffer(await client.textToSpeech.stream(voice, request));
    assert.ok(audio.equals(await buffer(await client.textToSpeech.convert(voice, request))));
  },
  async 'textToSpeech.convertWithTimestamps'() {
    const { audioBase64, alignment } = await client.textToSpeech.convertWithTimestamps(voice, request);
    assert.ok(Buffer.from(audioBase64, 'base64').length > 32_000);
    assert.equal(alignment!.characters.join(''), request.text);
    assert.equal(alignment!.characterStartTimesSeconds.length, request.text.length);
  },
  async 'textToSpeech.streamWithTimestamps'() {
    const characters: string[] = [];
    let bytes = 0;
    for await (const { audioBase64, alignment } of await client.textToSpeech.streamWithTimestamps(voice, request)) {
      characters.push(...(alignment?.characters ?? []));
      bytes += Buffer.from(audioBase64, 'base64').length;
    }
    assert.equal(characters.join(''), request.text);
    assert.ok(bytes > 32_000);
  },
  async 'voices.getAll'() {
    const { voices } = await client.voices.getAll();
    assert.ok(voices.some(({ voiceId, name }) => voiceId === voice && name));
  },
  async 'voices.search'() {
    const { voices, hasMore, totalCount } = await client.voices.search({ pageSize: 2 });
    assert.ok(voices.length === 2 && hasMore && totalCount > 2);
  },
  async 'voices.search, with filters'() {
    const found = await client.voices.search({ voiceIds: [voice], category: 'premade', voiceType: 'default' });
    assert.deepEqual([found.totalCount, found.voices[0]!.voiceId], [1, voice]);
    assert.equal((await client.voices.search({ voiceType: 'community' })).totalCount, 0);
  },
  async 'voices.get, and its preview without a key'() {
    const { previewUrl } = await client.voices.get(voice);
    const preview = await fetch(previewUrl!);
    assert.deepEqual([preview.status, preview.headers.get('content-type')], [200, 'audio/mpeg']);
  },
  async 'user.get, user.subscription.get'() {
    const { subscription } = await client.user.get();
    assert.equal((await client.user.subscription.get()).characterLimit, subscription.characterLimit);
  },
  async 'tokens.singleUse.create'() {
    assert.ok((await client.tokens.singleUse.create('tts_websocket')).token);
  },
  async 'headers of speech'() {
    const { rawResponse } = await client.textToSpeech.convert(voice, request).withRawResponse();
    assert.equal(rawResponse.headers.get('character-cost'), String(request.text.length));
    assert.ok(rawResponse.headers.get('request-id'));
  },
  async 'models.list'() {
    const models = await client.models.list();
    assert.ok(models.some(({ modelId }) => modelId === request.modelId));
  },
  async 'an unknown voice'() {
    await rejects(client.textToSpeech.convert('nobody', request), 404);
  },
  async 'a wrong key'() {
    await rejects(new ElevenLabsClient({ baseUrl, apiKey: 'snt_wrong' }).textToSpeech.convert(voice, request), 401);
  },
};

async function rejects(call: Promise<unknown>, status: number): Promise<void> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ElevenLabsError && error.statusCode === status, String(error));
}

let passed = 0;
for (const [name, call] of Object.entries(calls)) {
  try {
    await call();
    passed++;
    console.log(`ok      ${name}`);
  } catch (error) {
    console.log(`FAILED  ${name}: ${(error as Error).stack}`);
  }
}
const tried = Object.keys(calls).length;
console.log(`passed ${passed} of ${tried}`);
process.exitCode = passed === tried ? 0 : 1;
