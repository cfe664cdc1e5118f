// Calls Sonant over gRPC: saves a text's audio to a file, reads a stream, speaks live, and makes calls that fail on
// purpose.
//
// The API key comes from SONANT_API_KEY, the address from the first argument; it begins with https:// for TLS.
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import {
  type LiveSpeechRequestSchema,
  OutputFormat,
  ReturnFormat,
  SpeechService,
} from '../../gen/sonant/v1/speech_pb.ts';

const address = process.argv[2] ?? '127.0.0.1:50051';

const withKey: Interceptor = (next) => (request) => {
  request.header.set('x-api-key', process.env.SONANT_API_KEY ?? '');
  return next(request);
};

// All calls of a program share one transport. Every call has a deadline, without which a call to an unreachable machine
// may wait forever.
const transport = createGrpcTransport({
  baseUrl: address.startsWith('https://') ? address : `http://${address}`,
  interceptors: [withKey],
  defaultTimeoutMs: 30_000,
});
const speech = createClient(SpeechService, transport);

/** Requests the complete audio of a text. Inline audio is limited to 4 MB, so longer texts should be streamed. */
async function synthesizeToFile(): Promise<void> {
  const { audio, duration } = await speech.synthesizeSpeech({
    voiceId: 'clara',
    text: 'Hello from Sonant.',
    outputFormat: OutputFormat.MP3,
    returnFormat: ReturnFormat.BUFFER,
  });
  if (audio.case !== 'audioBytes') throw new Error('a link has come where bytes were asked for');
  await writeFile('hello.mp3', audio.value);
  console.log(`hello.mp3: ${audio.value.length} bytes, ${Math.floor(durationMs(duration!))} ms of speech`);
}

/** Streams raw samples, which a player could play from the first piece on. */
async function stream(): Promise<void> {
  const sentAt = performance.now();
  const events = speech.streamSpeech({
    voiceId: 'clara',
    textChunks: ['Dear reader, it cost $19.99.', 'Yours, Clara.'],
    outputFormat: OutputFormat.PCM,
    sampleRate: 24_000,
  });
  let size = 0;
  const hash = createHash('sha256');
  // If the loop ends without an exception, all audio has arrived.
  for await (const { event } of events) {
    if (event.case !== 'audio') continue;
    if (size === 0) console.log(`first sound after ${Math.round(performance.now() - sentAt)} ms`);
    size += event.value.audio.length;
    hash.update(event.value.audio);
  }
  console.log(`streamed ${size} bytes, SHA-256 ${hash.digest('hex')}`);
}

/** Speaks two turns as they are written. The listener hangs up in the second, which cancels the call. */
async function speakLive(): Promise<void> {
  async function* requests(): AsyncGenerator<MessageInitShape<typeof LiveSpeechRequestSchema>> {
    yield { request: { case: 'start', value: { voiceId: 'clara' } } };
    for (const text of ['Good morning. It is late.', 'This takes a while. '.repeat(200)]) {
      yield { request: { case: 'text', value: { text } } };
      yield { request: { case: 'flush', value: {} } };
    }
  }
  const hangUp = new AbortController();
  let size = 0;
  try {
    for await (const { event } of speech.liveSpeech(requests(), { signal: hangUp.signal })) {
      if (event.case === 'audio') size += event.value.audio.length;
      if (event.case !== 'flushed') continue;
      console.log(`turn 0: ${event.value.chars} characters, ${size} bytes`);
      hangUp.abort();
    }
  } catch (error) {
    if (ConnectError.from(error).code !== Code.Canceled) throw error;
    console.log('cancelled in turn 1');
  }
}

async function askForAnUnknownVoice(): Promise<void> {
  try {
    await speech.synthesizeSpeech({ voiceId: 'nobody', text: 'Hello.' });
  } catch (error) {
    console.log(`refused: ${explain(error)}`);
  }
}

/** Requests a long text with a deadline of ten milliseconds. Sonant stops speaking as soon as the caller gives up. */
async function giveUpEarly(): Promise<void> {
  try {
    await speech.synthesizeSpeech({ voiceId: 'clara', text: 'This takes a while. '.repeat(200) }, { timeoutMs: 10 });
  } catch (error) {
    if (ConnectError.from(error).code !== Code.DeadlineExceeded) throw error;
    console.log('gave up after 10 ms, as told');
  }
}

/** Returns the stable name of a failure from its google.rpc.ErrorInfo; for errors of gRPC itself, the status. */
function explain(error: unknown): string {
  const failure = ConnectError.from(error);
  const [info] = failure.findDetails(ErrorInfoSchema);
  return `${info?.reason ?? Code[failure.code]}: ${failure.rawMessage}`;
}

try {
  await synthesizeToFile();
  await stream();
  await speakLive();
  await askForAnUnknownVoice();
  await giveUpEarly();
} catch (error) {
  console.error(explain(error));
  process.exitCode = 1;
}
