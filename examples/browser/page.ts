// A page that calls Sonant over Connect-Web: plays the audio of a text as it arrives, and shows the name of a failure.
//
// Every user of a page can read a key that is in it. Here the user types the key. A real site keeps its key on its
// server, or gives each user a key with few permissions.
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { OutputFormat, SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { openPlayer } from './player.ts';

const sampleRateHz = 24_000;
const form = document.querySelector('form')!;
const output = document.querySelector('output')!;
const tell = (line: string) => output.append(`${line}\n`);
let speaking = new AbortController();

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  speaking.abort();
  speaking = new AbortController();
  const { signal } = speaking;
  output.textContent = '';
  try {
    await speak(new FormData(form), signal);
  } catch (error) {
    if (!signal.aborted) tell(`failed: ${explain(error)}`);
  }
});
// Sonant stops speaking as soon as the caller disconnects.
form.querySelector('[name=stop]')!.addEventListener('click', () => speaking.abort());

async function speak(fields: FormData, signal: AbortSignal): Promise<void> {
  const [service, key, voiceId, text] = ['service', 'key', 'voice', 'text'].map((name) => String(fields.get(name)));
  // Messages are binary, because JSON makes audio a third larger. A call without a deadline may wait forever.
  const transport = createConnectTransport({ baseUrl: service!, useBinaryFormat: true, defaultTimeoutMs: 60_000 });
  const speech = createClient(SpeechService, transport);
  const player = openPlayer(sampleRateHz, signal);

  const sentAt = performance.now();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const textChunks = text!.split('\n').filter((line) => line.trim());
  const request = { voiceId: voiceId!, textChunks, outputFormat: OutputFormat.PCM, sampleRate: sampleRateHz };
  // If the loop ends without an exception, all audio has arrived.
  for await (const { event } of speech.streamSpeech(request, { headers: { 'x-api-key': key! }, signal })) {
    if (event.case !== 'audio') continue;
    if (pieces.length === 0) tell(`first sound after ${Math.round(performance.now() - sentAt)} ms`);
    const piece = new Uint8Array(event.value.audio);
    pieces.push(piece);
    player.play(piece);
  }
  const sound = await new Blob(pieces).arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', sound));
  const hex = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  tell(`streamed ${sound.byteLength} bytes, SHA-256 ${hex}`);
}

/** Returns the stable name of a failure from its google.rpc.ErrorInfo; for errors of Connect itself, the code. */
function explain(error: unknown): string {
  const failure = ConnectError.from(error);
  const [info] = failure.findDetails(ErrorInfoSchema);
  return `${info?.reason ?? Code[failure.code]}: ${failure.rawMessage}`;
}
