// Imitates Google Cloud Text-to-Speech on loopback, from Google's protos, with the tone engine as its voice. It uses
// @grpc/grpc-js, which shares no code with the client. It refuses what Google refuses (google-rules.ts), and misbehaves on demand. gRPC and REST share a port.
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { json as readJson } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary, toJson } from '@bufbuild/protobuf';
import {
  status as code,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { SsmlVoiceGender, TextToSpeech } from '../../gen/google/cloud/texttospeech/v1/cloud_tts_pb.ts';
import { type GoogleOptions, openGoogle } from '../../src/engines/google/google.ts';
import { wavOfBytes } from '../audio/recording-files.ts';
import { listen } from '../free-port.ts';
import {
  type AudioRequest,
  checkAudio,
  checkStream,
  checkText,
  checkVoice,
  findFault,
  googleVoice,
  type ListedGoogleVoice,
  Refusal,
  toStatus,
  type VoiceRequest,
} from './google-rules.ts';
import { openTone, soundBytesOf } from './tone-engine.ts';

export interface GoogleTrouble {
  /** Accepts no connections. */
  isDown?: boolean;
  /** Refuses this many calls first. */
  failures?: { count: number; code: number; retrySeconds?: number; logged?: string };
  /** Answers this over REST instead. */
  rest?: { status: number; body: unknown };
  /** Delays before the first audio message, and before each message. */
  firstDelayMs?: number;
  messageDelayMs?: number;
  messageBytes?: number;
  /** After this many bytes of a stream: stalls, ends cleanly, breaks with this code, or loses the connection. */
  after?: { bytes: number; what: 'stall' | 'end' | 'break' | 'lose'; code?: number };
  /** Replaces the audio. */
  sound?: Buffer | ((text: string) => Buffer);
  /** The rate in the WAV header. */
  wavRateHz?: number;
  sentenceBytesMax?: number;
  idleMs?: number;
  voices?: ListedGoogleVoice[];
}

/** The content of one call. */
export interface GoogleCall {
  method: 'stream' | 'batch' | 'list' | 'key';
  texts: string[];
  voice?: VoiceRequest;
  audio?: AudioRequest;
  body?: Record<string, unknown>;
}

/** Options of an engine for the server at this endpoint. */
export const googleOptions = (endpoint: string, voices: readonly string[] = []): GoogleOptions => ({
  ...{ credentials: '', endpoint, voices, segmentsPerMinute: 200, cloneSegmentsPerMinute: 30, segmentsSpokenMax: 100 },
});

const rateHz = 24_000;
const usualVoices = [
  googleVoice('en-US-Chirp3-HD-Charon', 'en-US', 'MALE'),
  googleVoice('en-US-Chirp3-HD-Kore', 'en-US', 'FEMALE'),
  googleVoice('cmn-CN-Chirp3-HD-Kore', 'cmn-CN', 'FEMALE'),
  googleVoice('en-GB-Neural2-A', 'en-GB', 'FEMALE'),
  googleVoice('en-US-Journey-D', 'en-US', 'MALE'),
  googleVoice('Achernar', 'en-US', 'FEMALE'),
];

interface BatchRequest {
  input: { text: string };
  voice: VoiceRequest;
  audioConfig: AudioRequest;
}
interface StreamRequest {
  streamingConfig?: { voice: VoiceRequest; streamingAudioConfig: AudioRequest };
  input?: { text: string };
}

export async function openGoogleServer(
  trouble: GoogleTrouble = {},
  onClose: (close: () => Promise<void>) => void = onTestFinished,
) {
  const tone = openTone({ sampleRateHz: rateHz });
  const calls: GoogleCall[] = [];
  const keys = new Set<string>();
  const state = { trouble, cancelled: 0, running: new Set<object>() };
  const server = new Server();
  const rest = createHttpServer();

  /** A call runs until it finishes or is cancelled. */
  const begin = (call: { on(event: 'cancelled', heard: () => void): unknown }) => {
    const leaving = new AbortController();
    const end = () => state.running.delete(leaving);
    state.running.add(leaving);
    call.on('cancelled', () => {
      state.cancelled++;
      leaving.abort();
      end();
    });
    return { leaving, end };
  };
  const failAsConfigured = () => {
    const { failures } = state.trouble;
    if (!failures || failures.count-- <= 0) return;
    throw new Refusal(failures.logged ?? 'as the test wants it', failures.code, failures.retrySeconds);
  };
  const checkVoiceFields = (voice: VoiceRequest, audio: AudioRequest, streams: boolean) => {
    failAsConfigured();
    checkVoice(voice, state.trouble.voices ?? usualVoices, keys);
    if (streams) checkStream(voice);
    checkAudio(audio, streams, Boolean(voice.voiceClone));
  };
  const soundOf = async (text: string, { voiceClone, name }: VoiceRequest, { speakingRate }: AudioRequest) => {
    checkText(text, state.trouble.sentenceBytesMax ?? 1_000);
    const { sound } = state.trouble;
    if (sound) return typeof sound === 'function' ? sound(text) : sound;
    const voiceId = voiceClone || /[A-M]$/.test(name) ? 'tone-high' : 'tone-low';
    const parts = text.match(/.{1,1500}(?=\s|$)|.{1,1500}/gs) ?? [];
    const sounds: Buffer[] = [];
    for (const part of parts) sounds.push(await soundBytesOf(tone, part, voiceId, speakingRate || 1));
    return Buffer.concat(sounds);
  };

  async function* stream(call: ServerDuplexStream<StreamRequest, unknown>, requests: GoogleCall) {
    let sent = 0;
    for await (const { streamingConfig, input } of readInputs(call, state.trouble.idleMs ?? 5_000)) {
      if (streamingConfig) {
        if (requests.voice) throw new Refusal('Received a streaming_config where only input may follow.');
        requests.voice = streamingConfig.voice;
        requests.audio = streamingConfig.streamingAudioConfig;
        checkVoiceFields(requests.voice, requests.audio, true);
        continue;
      }
      if (!requests.voice || !requests.audio) throw new Refusal('The first message must contain a streaming_config.');
      requests.texts.push(input!.text);
      const sound = await soundOf(input!.text, requests.voice, requests.audio);
      const { messageBytes = 9_601, messageDelayMs = 0, firstDelayMs = 0, after } = state.trouble;
      if (sent === 0) await sleep(firstDelayMs);
      for (let from = 0; from < sound.length; from += messageBytes) {
        if (after && sent >= after.bytes) {
          if (after.what === 'end') return;
          if (after.what === 'break') throw new Refusal('as the test wants it', after.code);
          if (after.what === 'lose') {
            // Data already sent should arrive before the break, however busy the machine is.
            for (let turns = 0; turns < 20; turns++) await sleep(2);
            lose();
          }
          return void (await once(call, 'cancelled'));
        }
        if (messageDelayMs > 0) await sleep(messageDelayMs);
        const audioContent = sound.subarray(from, from + messageBytes);
        sent += audioContent.length;
        yield { audioContent };
      }
    }
    if (!requests.voice) throw new Refusal('The first message must contain a streaming_config.');
  }

  const service = TextToSpeech.methods.map(({ name, localName, input, output, methodKind }) => {
    const isStream = methodKind === 'bidi_streaming';
    const method = {
      path: `/${TextToSpeech.typeName}/${name}`,
      requestStream: isStream,
      responseStream: isStream,
      requestDeserialize: (bytes: Buffer) => toJson(input, fromBinary(input, bytes), { alwaysEmitImplicit: true }),
      responseSerialize: (answer: MessageInitShape<DescMessage>) =>
        Buffer.from(toBinary(output, create(output, answer))),
      // The server does not use them.
      requestSerialize: () => Buffer.alloc(0),
      responseDeserialize: () => ({}),
    };
    return [localName, method] as const;
  });
  server.addService(Object.fromEntries(service), {
    listVoices(_call: unknown, answer: sendUnaryData<unknown>) {
      calls.push({ method: 'list', texts: [] });
      try {
        failAsConfigured();
        const voices = (state.trouble.voices ?? usualVoices).map((voice) => {
          return { ...voice, ssmlGender: SsmlVoiceGender[voice.ssmlGender] };
        });
        answer(null, { voices });
      } catch (error) {
        answer(toStatus(error));
      }
    },
    async synthesizeSpeech(call: ServerUnaryCall<BatchRequest, unknown>, answer: sendUnaryData<unknown>) {
      const { input, voice, audioConfig: audio } = call.request;
      const { end } = begin(call);
      calls.push({ method: 'batch', texts: [input.text], voice, audio });
      try {
        checkVoiceFields(voice, audio, false);
        const sound = await soundOf(input.text, voice, audio);
        await sleep(state.trouble.firstDelayMs ?? 0);
        const { wavRateHz = rateHz } = state.trouble;
        const isWhole = Buffer.isBuffer(state.trouble.sound);
        answer(null, { audioContent: isWhole ? sound : wavOfBytes(wavRateHz, sound) });
      } catch (error) {
        answer(toStatus(error));
      }
      end();
    },
    async streamingSynthesize(call: ServerDuplexStream<StreamRequest, unknown>) {
      const requests: GoogleCall = { method: 'stream', texts: [] };
      calls.push(requests);
      const { leaving, end } = begin(call);
      try {
        for await (const message of stream(call, requests)) {
          if (!call.write(message)) await once(call, 'drain', leaving);
        }
        call.end();
      } catch (error) {
        if (!call.cancelled) call.emit('error', toStatus(error));
      }
      end();
    },
  });

  rest.on('request', async (request, response) => {
    const body = (await readJson(request)) as Record<string, unknown>;
    calls.push({ method: 'key', texts: [], body });
    const isKnown = request.url === '/v1beta1/voices:generateVoiceCloningKey' && request.method === 'POST';
    const fault = findFault(body);
    const refused = { error: { code: 400, status: 'INVALID_ARGUMENT', message: fault } };
    const voiceCloningKey = Buffer.from(`${Math.random()} of somebody `.repeat(20)).toString('base64');
    const usual = fault ? { status: 400, body: refused } : { status: 200, body: { voiceCloningKey } };
    const { status, body: answer } = isKnown ? (state.trouble.rest ?? usual) : { status: 404, body: '' };
    if (status === 200) keys.add(voiceCloningKey);
    await sleep(state.trouble.firstDelayMs ?? 0);
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
  });

  const grpcPort = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    ),
  );
  const restPort = await listen(rest);
  // HTTP/2 begins with "PRI", REST with "POST".
  const sockets = new Set<Socket>();
  const lose = () => {
    for (const socket of sockets) socket.destroy();
  };
  const listener = createServer({ noDelay: true }, (socket) => {
    if (state.trouble.isDown) return void socket.destroy();
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.once('data', (first) => {
      const inner = connect(first.toString('latin1', 0, 3) === 'PRI' ? grpcPort : restPort, '127.0.0.1');
      inner.on('error', () => undefined).on('close', () => socket.destroy());
      socket.on('close', () => inner.destroy());
      inner.setNoDelay().write(first);
      socket.pipe(inner).pipe(socket);
    });
  });
  const listenerPort = await listen(listener);
  const close = async () => {
    listener.close();
    lose();
    server.forceShutdown();
    rest.closeAllConnections();
    rest.close();
    await tone.close();
  };
  onClose(close);
  return { endpoint: `http://127.0.0.1:${listenerPort}`, calls, keys, state, lose, close };
}

/** Opens an engine for a new server, which forgets that its voices were listed. */
export async function openAtGoogle(trouble: GoogleTrouble = {}, more: Partial<GoogleOptions> = {}) {
  const server = await openGoogleServer();
  const engine = await openGoogle({ ...googleOptions(server.endpoint), ...more });
  onTestFinished(() => engine.close());
  server.calls.length = 0;
  server.state.trouble = trouble;
  return { ...server, engine };
}

/** The inputs of a stream as they arrive; Google gives up if the next one is late. */
async function* readInputs(call: ServerDuplexStream<StreamRequest, unknown>, idleMs: number) {
  const inputs = call[Symbol.asyncIterator]() as AsyncIterator<StreamRequest>;
  for (;;) {
    const idle = new AbortController();
    const given = sleep(idleMs, undefined, { signal: idle.signal }).then(() => {
      const idleMessage =
        'Stream aborted due to long duration elapsed without input sent. Input must be sent continuously.';
      throw new Refusal(idleMessage, code.ABORTED);
    });
    given.catch(() => undefined);
    const next = await Promise.race([inputs.next(), given]);
    idle.abort();
    if (next.done) return;
    yield next.value;
  }
}
