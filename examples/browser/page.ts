// A page that speaks with Sonant by Connect-Web: what is typed is heard as it is made, and a failure is told by its name.
//
// A key in a page is known to whoever uses the page. Here it is typed in; a site of yours keeps its key on its server, or
// gives each person one that is held to little.
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
// The service stops to speak as soon as the caller leaves.
form.querySelector('[name=stop]')!.addEventListener('click', () => speaking.abort());

async function speak(fields: FormData, signal: AbortSignal): Promise<void> {
  const [service, key, voiceId, text] = ['service', 'key', 'voice', 'text'].map((name) => String(fields.get(name)));
  // Binary messages: as JSON, sound would be a third longer. A call without a deadline may wait for ever.
  const transport = createConnectTransport({ baseUrl: service!, useBinaryFormat: true, defaultTimeoutMs: 60_000 });
  const speech = createClient(SpeechService, transport);
  const player = openPlayer(sampleRateHz, signal);

  const sentAt = performance.now();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const textChunks = text!.split('\n').filter((line) => line.trim());
  const request = { voiceId: voiceId!, textChunks, outputFormat: OutputFormat.PCM, sampleRate: sampleRateHz };
  // A loop that ends without an exception has had all the audio.
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

/** The stable name of a failure, from its google.rpc.ErrorInfo; of what is not Sonant's own, Connect's code. */
function explain(error: unknown): string {
  const failure = ConnectError.from(error);
  const [info] = failure.findDetails(ErrorInfoSchema);
  return `${info?.reason ?? Code[failure.code]}: ${failure.rawMessage}`;
}
