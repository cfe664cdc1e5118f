// An output module of Speech Dispatcher, which speaks for screen readers. Speech Dispatcher starts the module once,
// sends commands on standard input, and plays the samples from standard output (speechd, src/modules):
//     SPEAK                          202 OK RECEIVING MESSAGE
//     <speak>Hello.</speak>
//     .                              200 OK SPEAKING
//                                    701 BEGIN
//                                    705-bits=16 ... 705-AUDIO (NUL, samples) 705 AUDIO
//                                    702 END
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { StreamSpeechRequestSchema } from '../../../gen/sonant/v1/speech_pb.ts';
import { Failure } from '../../platform/errors.ts';
import { isSpokenBy, toLanguageCode } from '../../platform/language-code.ts';
import { toXml } from '../../platform/xml.ts';
import { type OfferedVoice, readRequest, type SpeechEvent, type SpeechRequest } from '../../speech.ts';
import type { App } from '../command-line.ts';

const sampleRateHz = 24_000;
const caller = { callerId: 'speech-dispatcher', accountId: 'speech-dispatcher', usesAllVoices: true };
/** Size of an audio block. Blocks are short, so that little audio is left to play after STOP. */
const pieceBytes = 4800;
/** Maximum lead of the output over playback. Speech Dispatcher plays all samples that it has read. */
const leadMs = 200;

const openings: Readonly<Record<string, string>> = {
  SET: '207 OK RECEIVING SETTINGS',
  AUDIO: '207 OK RECEIVING AUDIO SETTINGS',
  LOGLEVEL: '207 OK RECEIVING LOGLEVEL SETTINGS',
  SPEAK: '202 OK RECEIVING MESSAGE',
  CHAR: '202 OK RECEIVING MESSAGE',
  KEY: '202 OK RECEIVING MESSAGE',
  SOUND_ICON: '202 OK RECEIVING MESSAGE',
};

/** Serves commands until QUIT or the end of the input. `write` must not block. */
export async function serveSpeechDispatcher(
  { voices, speech }: Pick<App, 'voices' | 'speech'>,
  input: NodeJS.ReadableStream,
  write: (data: string | Uint8Array) => void,
): Promise<void> {
  const settings: Record<string, string> = {};
  let speaking: AbortController | undefined;
  let received: { command: string; lines: string[] } | undefined;
  const answer = (line: string) => write(`${line}\n`);

  /** Stops the message that is being spoken. Nothing more is written for the message. */
  const stop = (event: string) => {
    if (!speaking) return;
    speaking.abort();
    speaking = undefined;
    answer(event);
  };

  const speak = async (command: string, text: string) => {
    const controller = new AbortController();
    const { signal } = controller;
    speaking = controller;
    answer('200 OK SPEAKING');
    answer('701 BEGIN');
    try {
      for await (const event of readEvents(command, text, signal)) {
        // A line break in a name would break the line-based protocol.
        if (event.type === 'mark' && event.kind === 'mark' && !/\p{Cc}/u.test(event.name))
          answer(`700-${event.name}\n700 INDEX MARK`);
        if (event.type === 'audio') await writeAudio(event.audio, signal);
      }
    } catch (error) {
      // The screen reader continues with its next message.
      if (!signal.aborted) process.stderr.write(`sonant: ${error instanceof Failure ? error.message : error}\n`);
    }
    if (signal.aborted) return;
    speaking = undefined;
    answer('702 END');
  };

  async function* readEvents(command: string, text: string, signal: AbortSignal): AsyncGenerator<SpeechEvent> {
    const { voice } = chooseVoice(voices.list(), settings);
    const language = toLanguageCode(settings.language ?? '');
    const fields = {
      voice_id: voice.voiceId,
      language_code: language && isSpokenBy(voice, language) ? language : voice.languageCodes[0],
      output_format: 'pcm',
      sample_rate: sampleRateHz,
      // Rates of -100 to 100 mean a quarter of the usual speed to four times the usual speed.
      speaking_rate: 2 ** (toNumber(settings.rate) / 50),
    };
    const read = (texts: object) => readRequest(StreamSpeechRequestSchema, { ...fields, ...texts }, unlimited).request;
    let request: SpeechRequest;
    try {
      request = read({ ssml: toSsml(command, text, settings) });
    } catch {
      request = read({ text: text.replace(/<[^>]*>/g, ' ') });
    }
    yield* speech.streamSpeech(request, caller, signal);
  }

  /** Loads the engine before the first message. A failure is reported when a message needs the engine. */
  const warmUp = async () => {
    try {
      for await (const _ of readEvents('SPEAK', 'ready', new AbortController().signal));
    } catch {}
  };

  let playedUntilMs = 0;
  const writeAudio = async (audio: Uint8Array, signal: AbortSignal) => {
    const gain = (toNumber(settings.volume ?? '100') + 100) / 200;
    for (let at = 0; at < audio.length; at += pieceBytes) {
      const piece = toVolume(audio.subarray(at, at + pieceBytes), gain);
      await sleep(Math.max(0, playedUntilMs - performance.now() - leadMs), undefined, { signal });
      playedUntilMs = Math.max(playedUntilMs, performance.now()) + (piece.length / 2 / sampleRateHz) * 1000;
      write(toAudioEvent(piece));
    }
  };

  const finish = ({ command, lines }: { command: string; lines: string[] }) => {
    if (command === 'SET') {
      for (const line of lines) settings[line.slice(0, line.indexOf('='))] = line.slice(line.indexOf('=') + 1);
      answer('203 OK SETTINGS RECEIVED');
    } else if (command === 'LOGLEVEL') answer('203 OK LOG LEVEL SET');
    else if (command === 'AUDIO') {
      // Speech Dispatcher tries output to the server first. The server plays the audio; this module has no player.
      const isServer = lines.includes('audio_output_method=server');
      answer(isServer ? '203 OK AUDIO INITIALIZED' : '300-Speech Dispatcher must play the audio\n300 MODULE ERROR');
    } else if (lines.join('').trim() === '' && command !== 'CHAR') answer('301 ERROR CANT SPEAK');
    else void speak(command, lines.join('\n'));
  };

  await warmUp();
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    const command = line.trim();
    if (received) {
      if (line !== '.') received.lines.push(line.startsWith('..') ? line.slice(1) : line);
      else {
        const whole = received;
        received = undefined;
        finish(whole);
      }
    } else if (openings[command] !== undefined) {
      received = { command, lines: [] };
      answer(openings[command]);
    } else if (command === 'INIT') answer('299-Sonant is ready\n299 OK LOADED SUCCESSFULLY');
    else if (command === 'STOP') {
      stop('703 STOP');
      playedUntilMs = 0;
    } else if (command === 'PAUSE') stop('704 PAUSE');
    else if (command.startsWith('LIST VOICES')) answer(`${listVoices(voices.list())}200 OK VOICE LIST SENT`);
    else if (command.startsWith('DEBUG')) answer('200 OK DEBUGGING');
    else if (command === 'QUIT') break;
    else answer('300 ERR UNKNOWN COMMAND');
  }
  speaking?.abort();
  answer('210 OK QUIT');
}

const unlimited = { limits: { charsMax: Infinity } };
const toNumber = (given = '0') => Math.max(-100, Math.min(100, Number(given) || 0));

const readyOf = (offered: readonly OfferedVoice[]) =>
  offered.filter(({ status, bindings }) => status === 'ready' && bindings.length > 0);

const listVoices = (offered: readonly OfferedVoice[]): string =>
  readyOf(offered)
    .map(({ voice }) => `200-${voice.voiceId}\t${voice.languageCodes[0]}\tnone\n`)
    .join('');

/** Returns the voice that the client names, or else the first voice of the language and, if possible, of the gender. */
function chooseVoice(
  offered: readonly OfferedVoice[],
  { synthesis_voice: named, language, voice }: Record<string, string>,
) {
  const ready = readyOf(offered);
  const code = toLanguageCode(language ?? '');
  const speakers = ready.filter((each) => code !== undefined && isSpokenBy(each.voice, code));
  const gender = /^(child_)?female/i.test(voice ?? '') ? 'female' : 'male';
  const chosen =
    ready.find((each) => each.voice.voiceId === named) ??
    (voice === undefined || /male1$/i.test(voice)
      ? undefined
      : speakers.find((each) => each.voice.labels.gender === gender)) ??
    speakers[0] ??
    ready[0];
  if (!chosen) throw new Failure('voice_not_found');
  return chosen;
}

/** Converts a message to an SSML document. Texts arrive as SSML; characters, keys and icon names do not. */
function toSsml(command: string, text: string, { pitch, spelling_mode }: Record<string, string>): string {
  const isSsml = command === 'SPEAK' && /^\s*<speak/.test(text);
  const inner = isSsml ? text.replace(/^\s*<speak[^>]*>|<\/speak>\s*$/g, '') : toXml(text);
  const isSpelled = command === 'CHAR' || spelling_mode === 'on';
  const words = command === 'KEY' ? inner.replaceAll('_', ' ') : inner;
  const said = isSpelled ? (text === ' ' ? 'space' : `<say-as interpret-as="characters">${words}</say-as>`) : words;
  const percent = Math.round((2 ** (toNumber(pitch) / 100) - 1) * 100);
  const change = `${percent < 0 ? '-' : '+'}${Math.abs(percent)}%`;
  return `<speak>${percent === 0 ? said : `<prosody pitch="${change}">${said}</prosody>`}</speak>`;
}

/** Lowers the volume of 16-bit samples. */
function toVolume(audio: Uint8Array, gain: number): Buffer {
  const samples = Buffer.from(audio);
  if (gain < 1)
    for (let at = 0; at + 1 < samples.length; at += 2)
      samples.writeInt16LE(Math.round(samples.readInt16LE(at) * gain), at);
  return samples;
}

const escapeByte = 0x7d;
const newLine = 0x0a;

/** Escapes the samples as HDLC does: 0x7d, then the byte with bit 5 inverted. */
function toAudioEvent(samples: Buffer): Buffer {
  const head = `705-bits=16\n705-num_channels=1\n705-sample_rate=${sampleRateHz}\n705-num_samples=${samples.length / 2}\n705-big_endian=0\n705-AUDIO\0`;
  const escaped: number[] = [];
  for (const byte of samples) {
    if (byte === escapeByte || byte === newLine) escaped.push(escapeByte, byte ^ 0x20);
    else escaped.push(byte);
  }
  return Buffer.concat([Buffer.from(head), Buffer.from(escaped), Buffer.from('\n705 AUDIO\n')]);
}
