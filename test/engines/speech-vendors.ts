// Imitates speech servers on loopback, from their sources: what each accepts, refuses, lists, and sends byte for byte.
// The voice is the tone engine. Sources: vLLM-Omni 0131cb55, SGLang-Omni 843e9ec9 (old: before #655), Kokoro-FastAPI
// 26eec06, LocalAI 82c191af, speaches 870e1e1, openedai-speech 31f0335, mlx-audio ebf44dfc, Dynamo 0b00ddce,
// Chatterbox-TTS-Server 68213e7, Orpheus-FastAPI 7bd4cfc, and OpenAI's reference.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { listen } from '../free-port.ts';
import { openTone, soundBytesOf } from './tone-engine.ts';

export interface VendorTrouble {
  /** Breaks off after half of the sound, as this server does. */
  isCut?: boolean;
  /** Fails in the middle, and reports the failure as this server does; a server that cannot report it breaks off. */
  isFailing?: boolean;
  isFull?: boolean;
  firstSoundMs?: number;
  /** Size of the pieces in which the sound is sent. */
  pieceBytes?: number;
}

interface SpeechBody {
  model?: string;
  input: string;
  voice?: string;
  response_format?: string;
  stream?: boolean;
  stream_format?: string;
}

interface Uploaded {
  name: string;
  consent: string;
  ref_text: string | undefined;
  wav: Buffer;
  /** Time of the upload, in seconds. */
  createdAt: number;
}

interface Speaking {
  body: SpeechBody;
  /** 16-bit samples, one channel. */
  sound: Buffer;
  trouble: VendorTrouble;
  response: ServerResponse;
}

interface Vendor {
  rateHz: number;
  models?: unknown;
  /** Status and body of the list of voices. */
  voices(asked: URLSearchParams, uploaded: readonly Uploaded[]): [status: number, body: unknown];
  /** Status and body of a refusal; undefined accepts the request. */
  refuse?(body: SpeechBody, uploaded: readonly Uploaded[]): [status: number, body: unknown] | undefined;
  full?: [status: number, headers: Record<string, string>, body: unknown];
  speak(speaking: Speaking): Promise<void>;
  /** The answer to an upload; absent if the server accepts no uploads. */
  upload?(voice: Uploaded): unknown;
}

const json = { 'content-type': 'application/json' };
const vllmError = (code: number, type: string, message: string, param: string | null = null) =>
  [code, { error: { message, type, param, code } }] as [number, unknown];
const names = ['tone-low', 'tone-high'];

/** Splits the sound into pieces, of which the first is short. */
function* piecesOf(sound: Buffer, { pieceBytes = 9_600 }: VendorTrouble): Generator<Buffer> {
  for (let at = 0, bytes = Math.min(1_920, pieceBytes); at < sound.length; at += bytes, bytes = pieceBytes)
    yield sound.subarray(at, at + bytes);
}

/** Writes raw bytes. To report a failure in the middle, it resets the connection. */
async function sendRaw(
  { sound, trouble, response }: Speaking,
  headers: Record<string, string>,
  head: Buffer = Buffer.alloc(0),
) {
  response.writeHead(200, headers);
  response.flushHeaders();
  await sleep(trouble.firstSoundMs ?? 0);
  if (head.length > 0) response.write(head);
  const isCut = trouble.isCut || trouble.isFailing;
  for (const piece of piecesOf(isCut ? sound.subarray(0, sound.length / 2 + 1) : sound, trouble)) response.write(piece);
  if (!isCut) return void response.end();
  await sleep(30);
  response.destroy();
}

/** Writes events. With `isCut`, the stream ends normally, but without its last event. */
async function sendEvents(
  { sound, trouble, response }: Speaking,
  headers: Record<string, string>,
  { delta, done, failed }: { delta(piece: Buffer): string; done: string; failed?: string },
) {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...headers });
  response.flushHeaders();
  await sleep(trouble.firstSoundMs ?? 0);
  const isCut = trouble.isCut || trouble.isFailing;
  for (const piece of piecesOf(isCut ? sound.subarray(0, sound.length / 2) : sound, trouble)) {
    const event = delta(piece);
    // TCP may cut an event anywhere.
    response.write(event.slice(0, 50));
    await new Promise((resolve) => setImmediate(resolve));
    response.write(event.slice(50));
  }
  if (trouble.isFailing && failed === undefined) return void setTimeout(() => response.destroy(), 30);
  response.end(trouble.isFailing ? failed : trouble.isCut ? '' : done);
}

export function wavHead(rateHz: number, size: number, channels = 1): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF....WAVEfmt ', 'latin1');
  head.writeUInt32LE(size === 0xffffffff ? size : size + 36, 4);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rateHz, 24);
  head.writeUInt32LE(rateHz * 2 * channels, 28);
  head.writeUInt16LE(2 * channels, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(size, 40);
  return head;
}

/** The whole file at once, with a true length. */
async function sendFile(speaking: Speaking, rateHz: number, headers: Record<string, string> = {}) {
  const { sound, trouble, response } = speaking;
  await sleep(trouble.firstSoundMs ?? 0);
  const file = Buffer.concat([wavHead(rateHz, sound.length), sound]);
  const isCut = trouble.isCut || trouble.isFailing;
  response.writeHead(200, { 'content-type': 'audio/wav', 'content-length': file.length, ...headers });
  if (!isCut) return void response.end(file);
  response.write(file.subarray(0, file.length / 2));
  await sleep(30);
  response.destroy();
}

const stereo = (sound: Buffer): Buffer => {
  const both = Buffer.alloc(2 * sound.length);
  for (let at = 0; at < sound.length; at += 2) {
    both.writeInt16LE(sound.readInt16LE(at), 2 * at);
    both.writeInt16LE(sound.readInt16LE(at), 2 * at + 2);
  }
  return both;
};

const omniVoices: Vendor['voices'] = (_, uploaded) => {
  const described = uploaded.map(({ name, consent, wav, createdAt }) => {
    return { name, consent, created_at: createdAt, file_size: wav.length, mime_type: 'audio/wav' };
  });
  const voices = [...names, ...uploaded.map(({ name }) => name)].sort();
  return [200, { voices, uploaded_voices: described }];
};

/** Compact JSON, as pydantic writes it, with `event:` lines. */
const vllmEvent = (event: { type: string }) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const vllmEvents = (format: string) => ({
  delta: (piece: Buffer) =>
    vllmEvent({ type: 'speech.audio.delta', audio: piece.toString('base64'), response_format: format } as never),
  done: vllmEvent({
    type: 'speech.audio.done',
    usage: {
      input_tokens: 9,
      output_tokens: 40,
      total_tokens: 49,
      input_token_details: { text_tokens: 9, audio_tokens: 0 },
    },
  } as never),
  failed: vllmEvent({
    type: 'speech.audio.error',
    error: { message: 'EngineCore died', type: 'server_error', param: null, code: 500 },
    partial_audio: true,
    action: 'discard',
  } as never),
});

const refuseVllm: Vendor['refuse'] = ({ model, voice, response_format, stream }, uploaded) => {
  if (model !== 'Qwen/Qwen3-TTS')
    return vllmError(404, 'NotFoundError', `The model \`${model}\` does not exist.`, 'model');
  if (stream && !['pcm', 'wav'].includes(response_format ?? 'wav'))
    return vllmError(400, 'BadRequestError', 'Streaming takes pcm or wav.', 'response_format');
  if (![...names, ...uploaded.map(({ name }) => name)].includes(voice ?? names[0]!))
    return vllmError(400, 'BadRequestError', `Invalid voice '${voice}'. Supported: ${names.join(', ')}`);
  return undefined;
};

const oneModel = (id: string, owner: string) => ({ object: 'list', data: [{ id, object: 'model', owned_by: owner }] });

const vllm: Vendor = {
  rateHz: 24_000,
  models: oneModel('Qwen/Qwen3-TTS', 'vllm'),
  voices: omniVoices,
  refuse: refuseVllm,
  async speak(speaking) {
    const { body, sound } = speaking;
    const { response_format: format = 'wav', stream, stream_format } = body;
    const tokens = { 'x-vllm-omni-input-tokens': '9', 'x-vllm-omni-output-tokens': '40' };
    if (!stream) return sendFile(speaking, vllm.rateHz, tokens);
    if (stream_format !== 'audio') return sendEvents(speaking, {}, vllmEvents(format));
    const head = format === 'wav' ? wavHead(vllm.rateHz, 0xffffffff) : undefined;
    return sendRaw({ ...speaking, sound }, { 'content-type': `audio/${format}` }, head);
  },
  upload: (voice) => ({ success: true, voice: { name: voice.name, consent: voice.consent } }),
};

/** `json.dumps` puts spaces after colons and commas. */
const dumps = (value: unknown): string =>
  JSON.stringify(value, null, 1).replace(/^\s+/gm, '').replace(/,\n/g, ', ').replace(/\n/g, '');
const sglangError = (status: number, message: string, param: string | null = null) =>
  [status, { error: { message, type: 'invalid_request_error', param, code: null } }] as [number, unknown];

const sglang: Vendor = {
  rateHz: 44_100,
  models: oneModel('fishaudio/s2-pro', 'sglang-omni'),
  voices: (_, uploaded) => [
    200,
    {
      voices: ['default', ...uploaded.map(({ name }) => name)],
      uploaded_voices: uploaded.map(({ name, consent, createdAt }) => ({ name, consent, created_at: createdAt })),
      cache_stats: { hits: 0 },
    },
  ],
  refuse({ model, voice, response_format, stream, input }) {
    if (!model) return sglangError(400, 'model is required', 'model');
    if (!voice) return sglangError(400, 'voice is required', 'voice');
    if (stream && response_format !== 'pcm') return sglangError(400, 'streaming supports pcm only', 'response_format');
    if (input.length > 4_096) return sglangError(400, 'input is too long', 'input');
    return undefined;
  },
  full: [503, {}, { error: { message: 'The request queue is full.', type: 'server_error', param: null, code: null } }],
  async speak(speaking) {
    const { body, trouble } = speaking;
    const stated = {
      'x-sample-rate': String(sglang.rateHz),
      'x-channels': '1',
      'x-bit-depth': '16',
      'x-request-id': 'speech-7',
      'x-sglang-omni-speech-id': 'speech-7',
    };
    if (!body.stream) return sendFile(speaking, sglang.rateHz);
    // This server sends the status only with the first sound.
    await sleep(trouble.firstSoundMs ?? 0);
    const now = { ...speaking, trouble: { ...trouble, firstSoundMs: 0 } };
    if (body.stream_format !== 'sse') return sendRaw(now, { 'content-type': 'audio/pcm', ...stated });
    return sendEvents(now, stated, {
      delta: (piece) => `data: ${dumps({ type: 'speech.audio.delta', audio: piece.toString('base64') })}\n\n`,
      done: `data: ${dumps({ type: 'speech.audio.done', usage: null, finish_reason: 'stop' })}\n\n`,
      failed: `data: ${dumps({ type: 'error', error: { message: 'worker died', type: 'server_error', param: null, code: null } })}\n\n`,
    });
  },
  upload: ({ name, consent, wav }) => ({ name, consent, created_at: 1, file_size: wav.length, mime_type: 'audio/wav' }),
};

const sglangOld: Vendor = {
  ...sglang,
  // This server's stream raises an HTTPException, after the status was sent.
  rateHz: 24_000,
  async speak(speaking) {
    if (!speaking.body.stream) return sendFile(speaking, 24_000);
    const audio = (piece: Buffer) => {
      return { data: piece.toString('base64'), format: 'pcm', mime_type: 'audio/pcm', sample_rate: 24_000 };
    };
    let index = 0;
    const chunk = (rest: object) => ({ id: 'speech-1', object: 'audio.speech.chunk', index: index++, ...rest });
    return sendEvents(
      speaking,
      {},
      {
        delta: (piece) => `data: ${dumps(chunk({ audio: audio(piece), finish_reason: null }))}\n\n`,
        done: `data: ${dumps(chunk({ audio: null, finish_reason: 'stop' }))}\n\ndata: [DONE]\n\n`,
      },
    );
  },
};

const sglangRouter: Vendor = {
  ...sglang,
  full: [503, { 'retry-after': '1' }, { error: { message: 'busy', type: 'overloaded_error', param: null, code: 503 } }],
};

const kokoro: Vendor = {
  rateHz: 24_000,
  models: { object: 'list', data: ['tts-1', 'tts-1-hd', 'kokoro'].map((id) => ({ id, object: 'model' })) },
  voices: () => [200, { voices: names.map((id) => ({ id, name: id })) }],
  refuse: ({ model }) =>
    ['tts-1', 'tts-1-hd', 'kokoro', 'gpt-4o-mini-tts'].includes(model ?? '')
      ? undefined
      : [
          400,
          { detail: { error: 'invalid_model', message: `Unsupported model: ${model}`, type: 'invalid_request_error' } },
        ],
  speak: (speaking) =>
    speaking.body.stream === false || speaking.body.response_format === 'wav'
      ? sendFile(speaking, 24_000)
      : sendRaw(speaking, { 'content-type': 'audio/pcm', 'x-accel-buffering': 'no', 'cache-control': 'no-cache' }),
};

const localAi: Vendor = {
  rateHz: 16_000,
  models: oneModel('piper-en', 'localai'),
  voices: () => [404, { error: { code: 404, message: 'Resource not found', type: '' } }],
  full: [503, { 'retry-after': '2' }, { error: { code: 503, message: 'admission_rejected', type: '' } }],
  speak: (speaking) => sendRaw(speaking, { 'content-type': 'audio/wav' }, wavHead(16_000, 0xffffffff)),
};

const orpheus: Vendor = {
  rateHz: 24_000,
  voices: () => [200, { status: 'ok', voices: names }],
  speak: (speaking) => sendFile(speaking, 24_000, { 'content-disposition': 'attachment; filename=tara.wav' }),
};

const openAi: Vendor = {
  rateHz: 24_000,
  models: { object: 'list', data: ['gpt-5', 'tts-1', 'whisper-1'].map((id) => ({ id, object: 'model' })) },
  voices: () => [404, { error: { message: 'Invalid URL (GET /v1/audio/voices)', type: 'invalid_request_error' } }],
  full: [
    429,
    { 'retry-after': '20' },
    { error: { message: 'Rate limit reached', type: 'requests', code: 'rate_limit_exceeded' } },
  ],
  speak: (speaking) =>
    speaking.body.response_format === 'wav'
      ? sendRaw(speaking, { 'content-type': 'audio/wav' }, wavHead(24_000, 0xffffffff))
      : sendRaw(speaking, { 'content-type': 'audio/pcm' }),
};

const speaches: Vendor = {
  rateHz: 22_050,
  models: { object: 'list', data: [{ id: 'speaches-ai/piper-en', object: 'model', task: 'text-to-speech' }] },
  voices: () => [200, { voices: names.map((id) => ({ name: id, language: 'en', id })), object: 'list' }],
  async speak(speaking) {
    const { response_format: format, stream_format } = speaking.body;
    if (format === 'wav') return sendFile(speaking, 22_050);
    if (stream_format !== 'sse') return sendRaw(speaking, { 'content-type': 'audio/pcm' });
    const zero = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
    return sendEvents(
      speaking,
      {},
      {
        delta: (piece) =>
          `data: ${JSON.stringify({ type: 'speech.audio.delta', audio: piece.toString('base64') })}\n\n`,
        done: `data: ${JSON.stringify({ type: 'speech.audio.done', token_usage: zero })}\n\n`,
      },
    );
  },
};

const openedai: Vendor = {
  rateHz: 22_050,
  models: oneModel('tts-1', 'openedai-speech'),
  voices: () => [404, { detail: 'Not Found' }],
  speak: (speaking) => sendRaw(speaking, { 'content-type': 'audio/pcm;rate=22050' }),
};

const mlx: Vendor = {
  rateHz: 24_000,
  models: oneModel('mlx-community/Kokoro-82M-bf16', 'mlx'),
  voices: (asked) =>
    asked.get('model')
      ? [200, { object: 'list', model: asked.get('model'), data: names.map((id) => ({ id, name: id })) }]
      : [400, { detail: 'Query parameter model is required' }],
  speak: (speaking) =>
    speaking.body.response_format === 'wav'
      ? sendFile(speaking, 24_000)
      : sendRaw(speaking, { 'content-type': 'audio/pcm' }),
};

const dynamo: Vendor = {
  rateHz: 16_000,
  models: oneModel('audex', 'nvidia'),
  voices: () => [404, 'Not Found'],
  speak: (speaking) =>
    sendRaw(
      { ...speaking, sound: stereo(speaking.sound) },
      { 'content-type': 'audio/wav' },
      wavHead(16_000, 0xffffffff, 2),
    ),
};

const chatterbox: Vendor = {
  rateHz: 24_000,
  voices: () => [200, { status: 'ok', voices: names }],
  refuse: ({ response_format: format = 'wav' }) =>
    ['wav', 'opus', 'mp3'].includes(format)
      ? undefined
      : [
          422,
          {
            detail: [
              {
                type: 'literal_error',
                loc: ['body', 'response_format'],
                msg: "Input should be 'wav', 'opus' or 'mp3'",
              },
            ],
          },
        ],
  speak: (speaking) => sendFile(speaking, 24_000),
};

export const vendors = {
  'vLLM-Omni': vllm,
  'SGLang-Omni': sglang,
  'SGLang-Omni before #655': sglangOld,
  'SGLang-Omni router': sglangRouter,
  'Kokoro-FastAPI': kokoro,
  LocalAI: localAi,
  'Orpheus-FastAPI': orpheus,
  OpenAI: openAi,
  speaches,
  'openedai-speech': openedai,
  'mlx-audio': mlx,
  Dynamo: dynamo,
  'Chatterbox-TTS-Server': chatterbox,
} as const;
export type VendorName = keyof typeof vendors;

export async function openVendor(vendorName: VendorName, change: Partial<Vendor> = {}) {
  const vendor: Vendor = { ...vendors[vendorName], ...change };
  const tone = openTone({ sampleRateHz: vendor.rateHz });
  const state = {
    trouble: {} as VendorTrouble,
    uploaded: [] as Uploaded[],
    /** Received requests as method and path, in order. */
    asked: [] as string[],
    bodies: [] as SpeechBody[],
    finishReason: 'stop',
    /** Number of queries for the result of a synthesis that are not answered. */
    outcomesLost: 0,
    /** Whether a name that is taken is refused. */
    isStrict: false,
    isReadOnly: false,
  };

  const soundOf = (input: string) => soundBytesOf(tone, input);

  const answerVoices = async (request: IncomingMessage, response: ServerResponse, { pathname, searchParams }: URL) => {
    const answer = (status: number, body: unknown) => void response.writeHead(status, json).end(JSON.stringify(body));
    if (request.method === 'GET') return answer(...vendor.voices(searchParams, state.uploaded));
    if (!vendor.upload) return answer(405, { detail: 'Method Not Allowed' });
    if (state.isReadOnly) return answer(...vllmError(500, 'InternalServerError', 'read-only file system'));
    if (request.method === 'DELETE') {
      const name = pathname.split('/').at(-1)!;
      const before = state.uploaded.length;
      state.uploaded = state.uploaded.filter((voice) => voice.name !== name);
      const isGone = state.uploaded.length < before;
      return answer(
        isGone ? 200 : 404,
        isGone ? { success: true } : { success: false, error: `Voice '${name}' not found` },
      );
    }
    const form = await new Response(await buffer(request), {
      headers: { 'content-type': request.headers['content-type']! },
    }).formData();
    const sample = form.get('audio_sample');
    const consent = form.get('consent');
    if (!(sample instanceof File) || typeof consent !== 'string' || consent === '')
      return answer(...vllmError(400, 'BadRequestError', 'audio_sample and consent are required'));
    const refText = form.get('ref_text');
    const voice: Uploaded = {
      name: String(form.get('name')).toLowerCase(),
      consent,
      ref_text: typeof refText === 'string' ? refText : undefined,
      wav: Buffer.from(await sample.arrayBuffer()),
      createdAt: Math.floor(Date.now() / 1000),
    };
    if ((voice.wav.length - 44) / 48_000 < 1)
      return answer(
        ...vllmError(400, 'BadRequestError', `audio_sample is too short for "${voice.ref_text}"`, 'audio_sample'),
      );
    if (state.isStrict && state.uploaded.some(({ name }) => name === voice.name))
      return answer(...vllmError(400, 'BadRequestError', `Voice '${voice.name}' already exists`));
    state.uploaded = [...state.uploaded.filter(({ name }) => name !== voice.name), voice];
    return answer(200, vendor.upload(voice));
  };

  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, 'http://localhost');
    const path = url.pathname.replace('/v1', '');
    state.asked.push(`${request.method} ${path}`);
    if (path.startsWith('/audio/voices')) return answerVoices(request, response, url);
    if (path.startsWith('/audio/speech/') && state.outcomesLost-- > 0) return void response.destroy();
    if (path.startsWith('/audio/speech/'))
      return void response
        .writeHead(200, json)
        .end(dumps({ request_id: 'speech-7', finish_reason: state.finishReason }));
    if (path === '/models' && vendor.models)
      return void response.writeHead(200, json).end(JSON.stringify(vendor.models));
    if (path !== '/audio/speech') return void response.writeHead(404, json).end('{"detail":"Not Found"}');
    const body = JSON.parse((await buffer(request)).toString()) as SpeechBody;
    state.bodies.push(body);
    const { trouble } = state;
    if (trouble.isFull && vendor.full) {
      const [status, headers, text] = vendor.full;
      return void response.writeHead(status, { ...json, ...headers }).end(JSON.stringify(text));
    }
    const refused = vendor.refuse?.(body, state.uploaded);
    if (refused) return void response.writeHead(refused[0], json).end(JSON.stringify(refused[1]));
    await vendor.speak({ body, sound: await soundOf(body.input), trouble, response });
  });
  const serverPort = await listen(server);
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await tone.close();
  });
  /** Restarts the server, which loses its uploaded voices because they were only in memory. */
  const restart = () => {
    state.uploaded = [];
  };
  return { url: `http://127.0.0.1:${serverPort}/v1`, vendor, state, soundOf, restart };
}
