// A connection of a Wyoming client. Events are answered in order, and one text is spoken at a time, as a call of live
// speech. A failure is sent as `error` and closes the connection, because clients wait for the end of the audio and do
// not read errors. If the client disconnects, its speech stops.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { DescMethod } from '@bufbuild/protobuf';
import { SpeechService } from '../../../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../../../gen/sonant/v1/voice_pb.ts';
import { type Api, type Call, callerLeft, type LiveEvent, type LiveInput, type RunningCall } from '../../../api.ts';
import { type Fields, isObject } from '../../../contract.ts';
import type { Voice } from '../../../engines.ts';
import { Failure, invalidField, toFailure } from '../../../platform/errors.ts';
import { isSpokenBy, toLanguageCode } from '../../../platform/language-code.ts';
import { farewellMs } from '../../../platform/net/request-limits.ts';
import { onAbort } from '../../../platform/runtime/abort.ts';
import { createId } from '../../../platform/runtime/id.ts';
import { PushQueue } from '../../../platform/runtime/push-queue.ts';
import { type SpeechRequest, speechFields } from '../../../speech.ts';
import { toMessage, type VendorNames } from '../../http/failure-sentences.ts';
import { readStart } from '../speech-contexts.ts';
import { FrameReader, toFrame, type WyomingEvent, wyomingIdleMs } from './frames.ts';

const wyomingRateHz = 24_000;

interface VoiceChoice {
  name: string | undefined;
  /** Language in canonical BCP-47. */
  languageCode: string | undefined;
  isSsml: boolean;
}

function textOf({ text }: Fields): string {
  if (typeof text === 'string') return text;
  throw invalidField('text', 'type', 'must be a string');
}

function choiceOf({ voice, text_format: format = null }: Fields): VoiceChoice {
  if (format !== null && format !== 'text' && format !== 'ssml')
    throw invalidField('text_format', 'enum', 'must be text or ssml');
  const { name = null, language = null } = isObject(voice) ? voice : {};
  if (name !== null && typeof name !== 'string') throw invalidField('voice.name', 'type', 'must be a string');
  const languageCode = language === null ? undefined : languageOf(language);
  return { name: name || undefined, languageCode, isSsml: format === 'ssml' };
}

/** Parses a language code. Home Assistant's codes have an underscore. */
function languageOf(given: unknown): string {
  const code = typeof given === 'string' ? toLanguageCode(given.replaceAll('_', '-')) : undefined;
  if (code !== undefined) return code;
  throw invalidField('voice.language', 'format', 'must be a BCP-47 language code such as en-US');
}

/** The start of live speech in the chosen voice. Throws a Failure if no voice matches. */
function toStart({ name, languageCode, isSsml }: VoiceChoice, voices: readonly Voice[]): SpeechRequest {
  const found = voices.filter((voice) => languageCode === undefined || isSpokenBy(voice, languageCode));
  // Every voice of "en" can speak en-GB, but only some voices have that accent.
  const native = found.find(({ languageCodes }) =>
    languageCodes.some((code) => `${code}-`.startsWith(`${languageCode}-`)),
  );
  const voiceId = name ?? (native ?? found[0])?.voiceId;
  if (voiceId === undefined) {
    const message = languageCode === undefined ? 'No voice is available.' : `No voice speaks ${languageCode}.`;
    throw new Failure('voice_not_found', { message });
  }
  return readStart({
    voice_id: voiceId,
    output_format: 'pcm',
    sample_rate: wyomingRateHz,
    language_code: name === undefined ? (languageCode ?? speechFields.ownLanguage) : speechFields.ownLanguage,
    markup: isSsml ? 'ssml' : undefined,
  });
}

export interface ConnectionOptions {
  api: Pick<Api, 'runner' | 'live' | 'voices'>;
  /** The API key used for all clients. */
  key: string;
}

const { liveSpeech } = SpeechService.method;
const { listVoices } = VoiceService.method;
const format = { rate: wyomingRateHz, width: 2, channels: 1 };
const bytesPerMs = (wyomingRateHz * 2) / 1000;

export class WyomingConnection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #address: string;
  readonly #frames = new FrameReader();
  readonly #gone = new AbortController();
  /** Text that arrives in pieces, from `synthesize-start` to `synthesize-stop`. */
  #streamed: PushQueue<LiveInput> | undefined;
  /** Resolves when the current speech has ended. */
  #speech: Promise<void> | undefined;
  #call: RunningCall | undefined;
  #isEnded = false;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#address = socket.remoteAddress ?? '';
  }

  /** Serves the client until it disconnects or the connection is ended. */
  async serve(): Promise<void> {
    const { leaving } = this.#options.api.runner;
    using _ = onAbort(leaving, () => {
      if (!this.#speech) this.#close();
    });
    this.#socket.setTimeout(wyomingIdleMs, () => {
      if (!this.#speech || this.#isEnded) this.#socket.destroy();
    });
    this.#socket.once('close', () => this.#leave());
    try {
      for await (const bytes of this.#socket.iterator({ destroyOnReturn: false })) await this.#take(bytes as Buffer);
      // A client that has closed its sending side may still receive audio. A lost client is noticed only when data is
      // sent to it.
      if (!this.#streamed) await this.#speech;
    } finally {
      this.#leave();
    }
  }

  /**
   * Parses received bytes as events. Once this side has ended the connection, bytes are read but not parsed, so that
   * the last answer is not lost.
   */
  async #take(bytes: Buffer): Promise<void> {
    try {
      if (this.#isEnded) return;
      for (const event of this.#frames.push(bytes)) await this.#handle(event);
    } catch (error) {
      this.#fail(error);
    }
  }

  #handle({ type, data }: WyomingEvent): Promise<void> | undefined {
    switch (type) {
      case 'describe':
        return this.#describe();
      case 'ping':
        return this.#send('pong', { text: data.text ?? null });
      case 'synthesize':
        // While a text arrives in pieces, this event is ignored: Home Assistant sends the whole text again for servers
        // that do not support pieces.
        return this.#streamed ? undefined : this.#speakWhole(data);
      case 'synthesize-start':
        if (this.#streamed) throw invalid('synthesize-start arrived before the synthesize-stop of the previous text.');
        return this.#speakStreamed(data);
      case 'synthesize-chunk':
        this.#streamedBy(type).push({ type: 'text', text: textOf(data) });
        return undefined;
      case 'synthesize-stop':
        this.#streamedBy(type).end();
        this.#streamed = undefined;
        return undefined;
      default:
        // Events of services that Sonant does not provide, such as speech recognition, are ignored.
        return undefined;
    }
  }

  #streamedBy(type: string): PushQueue<LiveInput> {
    if (this.#streamed) return this.#streamed;
    throw invalid(`${type} arrived without a synthesize-start.`);
  }

  async #describe(): Promise<void> {
    const call = await this.#begin(listVoices);
    const ready = await call.run(listVoices, (begun) => this.#options.api.voices.listReadyVoices(begun));
    await this.#send('info', toInfo(ready.map(({ voice }) => voice)));
  }

  async #speakWhole(data: Fields): Promise<void> {
    const choice = choiceOf(data);
    const inputs = new PushQueue<LiveInput>();
    inputs.push({ type: 'text', text: textOf(data) });
    inputs.end();
    await this.#speak(choice, inputs);
  }

  async #speakStreamed(data: Fields): Promise<void> {
    const choice = choiceOf(data);
    const inputs = new PushQueue<LiveInput>();
    this.#streamed = inputs;
    await this.#speak(choice, inputs, () => this.#send('synthesize-stopped'));
  }

  /** Waits for earlier speech to end. Nothing more is read until the call has begun. */
  async #speak(choice: VoiceChoice, inputs: PushQueue<LiveInput>, onSpoken?: () => Promise<void>): Promise<void> {
    await this.#speech;
    if (this.#isEnded) return;
    const call = await this.#begin(liveSpeech);
    this.#call = call;
    if (this.#isEnded) call.abort(callerLeft);
    const work = async () => {
      try {
        await this.#speakNow(call, choice, inputs);
        await onSpoken?.();
      } catch (error) {
        this.#fail(error);
      }
      inputs.end();
      this.#speech = undefined;
      if (this.#options.api.runner.leaving.aborted) this.#close();
    };
    this.#speech = work();
  }

  async #speakNow(call: RunningCall, choice: VoiceChoice, inputs: PushQueue<LiveInput>): Promise<void> {
    let bytes = 0;
    let isStarted = false;
    let signal = this.#gone.signal;
    const timestamp = () => Math.round(bytes / bytesPerMs);
    const begin = async () => {
      if (!isStarted) await this.#send('audio-start', { ...format, timestamp: 0 }, undefined, signal);
      isStarted = true;
    };
    const events = call.stream(liveSpeech, (begun) => {
      signal = begun.signal;
      return this.#liveSpeech(begun, choice, inputs);
    });
    for await (const event of events) {
      if (event.type !== 'audio') continue;
      await begin();
      await this.#send('audio-chunk', { ...format, timestamp: timestamp() }, event.audio, signal);
      bytes += event.audio.length;
    }
    await begin();
    await this.#send('audio-stop', { timestamp: timestamp() });
  }

  async *#liveSpeech(call: Call, choice: VoiceChoice, inputs: PushQueue<LiveInput>): AsyncGenerator<LiveEvent> {
    const ready = await this.#options.api.voices.listReadyVoices(call);
    const start = toStart(
      choice,
      ready.map(({ voice }) => voice),
    );
    yield* this.#options.api.live.liveSpeech(call, following({ type: 'start', start }, inputs.pull()));
  }

  /** Admits a call with the operator's key. Throws a Failure if it is refused. */
  async #begin(method: DescMethod): Promise<RunningCall> {
    const { api, key } = this.#options;
    const incoming = { api: 'wyoming', requestId: createId('req'), address: this.#address, reportLimits() {} };
    const call = api.runner.begin(incoming);
    try {
      await call.admit({ key }, method);
      return call;
    } catch (error) {
      throw call.fail(error, method);
    }
  }

  /** Resolves when the client's socket accepts more data. */
  async #send(type: string, data?: object, payload?: Uint8Array, signal = this.#gone.signal): Promise<void> {
    if (this.#isEnded || this.#socket.write(toFrame(type, data, payload))) return;
    await untilDrained(this.#socket, signal);
  }

  /** Reports the failure to the client, and ends the connection. */
  #fail(error: unknown): void {
    if (this.#isEnded) return;
    if (error !== callerLeft) this.#socket.write(toFrame('error', toError(toFailure(error))));
    this.#call?.abort(error);
    this.#close();
  }

  #leave(): void {
    this.#gone.abort();
    this.#call?.abort(callerLeft);
    this.#close();
  }

  #close(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#streamed?.end();
    this.#socket.end();
    const late = setTimeout(() => this.#socket.destroy(), farewellMs);
    this.#socket.once('close', () => clearTimeout(late));
  }
}

async function* following(first: LiveInput, rest: AsyncIterable<LiveInput>): AsyncGenerator<LiveInput> {
  yield first;
  yield* rest;
}

const untilDrained = (socket: Socket, signal: AbortSignal): Promise<unknown> =>
  once(socket, 'drain', { signal }).catch(() => {});

const names: VendorNames = {
  fields: { voice_id: 'voice.name', language_code: 'voice.language' },
  listVoices: 'the event describe',
};

/** Converts a failure to the data of an `error` event. `code` is the reason in the failure table. */
const toError = (failure: Failure): object => ({ text: toMessage(failure, names), code: failure.reason });

const invalid = (message: string) => new Failure('invalid_request', { message });

const toInfo = (voices: readonly Voice[]) => ({
  tts: [
    {
      name: 'Sonant',
      description: 'Text-to-speech',
      attribution: { name: 'Sonant', url: '' },
      installed: true,
      version: null,
      voices: voices.map(({ voiceId, name, engine, languageCodes }) => ({
        name: voiceId,
        description: name,
        attribution: { name: engine, url: '' },
        installed: true,
        version: null,
        languages: languageCodes,
        speakers: null,
      })),
      supports_synthesize_streaming: true,
    },
  ],
  asr: [],
  handle: [],
  intent: [],
  wake: [],
  mic: [],
  snd: [],
});
