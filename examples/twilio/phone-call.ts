// One call of Twilio's bidirectional Media Streams: https://www.twilio.com/docs/voice/media-streams/websocket-messages
//     from Twilio  {"event":"connected"}  {"event":"start","start":{"streamSid","callSid",...}}  {"event":"stop"}
//                  {"event":"media","media":{"track":"inbound","payload"}}  {"event":"mark","mark":{"name"}}
//     to Twilio    {"event":"media","streamSid","media":{"payload"}}  {"event":"mark","streamSid","mark":{"name"}}
//                  {"event":"clear","streamSid"}
// Payloads are u-law at 8 kHz in base64. Twilio plays audio in order, and returns each mark when all audio before it
// was played, so marks show the audio that was heard. After `clear`, it also returns the remaining marks.
import type { WebSocket } from 'ws';
import { CallerVoice } from './caller-voice.ts';
import { LiveSpeech, type LiveSpeechOptions } from './live-speech.ts';

export interface Conversation {
  /** Yields the greeting in pieces of any size. */
  greet(): AsyncIterable<string>;
  /** Yields the answer to the caller in pieces. `heard` is the part of the last answer that the caller has heard. */
  answer(heard: string): AsyncIterable<string>;
}

export interface PhoneCallOptions extends Pick<LiveSpeechOptions, 'url' | 'apiKey' | 'voice'> {
  conversation: Conversation;
  log(line: string): void;
}

interface Mark {
  name: string;
  /** Position of the mark in its turn, in milliseconds. */
  ms: number;
  isEnd: boolean;
}

interface Message {
  event: string;
  start?: { streamSid: string };
  media?: { payload: string };
  mark?: { name: string };
}

const frameBytes = 160;
const frameMs = 20;
/** Number of frames between two marks, which limits how exactly the heard text is known. */
const framesPerMark = 5;
/** Above this number of unreturned marks, no audio is read from Sonant, so that it speaks little in vain. */
const marksAheadMax = 100;
const silence = 0xff;

export class PhoneCall {
  readonly #twilio: WebSocket;
  readonly #options: PhoneCallOptions;
  readonly #speech: LiveSpeech;
  readonly #caller = new CallerVoice();
  #streamSid = '';
  /** Number of Sonant's current turn; each answer is one turn. */
  #turn = -1;
  /** True until the current turn has been played to its end, or was interrupted. */
  #isSpeaking = false;
  #text = '';
  /** Resolves with the part of the last turn's text that the caller heard. */
  #textHeard = Promise.withResolvers<string>();
  /** The end of the received audio, if it is shorter than a frame. */
  #rest: Buffer = Buffer.alloc(0);
  #frames = 0;
  #markCount = 0;
  /** Marks that Twilio has not returned yet, oldest first. */
  #marks: Mark[] = [];
  #heardMs = 0;

  constructor(twilio: WebSocket, options: PhoneCallOptions) {
    this.#twilio = twilio;
    this.#options = options;
    this.#speech = new LiveSpeech({
      ...options,
      onAudio: (audio) => this.#play(audio),
      onFlushed: () => this.#endTurn(),
      onInterrupted: (spoken) => {
        options.log(`interrupted after ${this.#heardMs} ms; heard: ${spoken}`);
        this.#textHeard.resolve(spoken);
      },
      onClosed: (error) => {
        if (error) options.log(`the speech has ended: ${error.message}`);
        twilio.close();
      },
    });
    twilio.on('message', (data) => this.#take(JSON.parse(data.toString())));
    twilio.on('close', () => this.#speech.close());
    twilio.on('error', (error) => options.log(`Twilio: ${error.message}`));
  }

  #take({ event, start, media, mark }: Message): void {
    if (start) {
      this.#streamSid = start.streamSid;
      this.#say(this.#options.conversation.greet()).catch((error) => this.#fail(error));
    } else if (media) this.#listen(Buffer.from(media.payload, 'base64'));
    else if (mark) this.#noteMark(mark.name);
    else if (event === 'stop') this.#twilio.close();
  }

  #listen(audio: Buffer): void {
    const change = this.#caller.hear(audio);
    if (change === 'begins' && this.#isSpeaking) this.#interrupt();
    if (change === 'ends') this.#answer().catch((error) => this.#fail(error));
  }

  async #answer(): Promise<void> {
    const heard = await this.#textHeard.promise;
    if (!this.#isSpeaking) await this.#say(this.#options.conversation.answer(heard));
  }

  async #say(pieces: AsyncIterable<string>): Promise<void> {
    const turn = ++this.#turn;
    this.#isSpeaking = true;
    this.#text = '';
    this.#textHeard = Promise.withResolvers();
    this.#frames = this.#heardMs = 0;
    const isOver = () => turn !== this.#turn || !this.#isSpeaking;
    for await (const text of pieces) {
      if (isOver()) return;
      this.#text += text;
      this.#speech.addText(text);
    }
    if (!isOver()) this.#speech.endTurn();
  }

  #play(audio: Buffer): void {
    // Drops audio that was in transit when the caller interrupted.
    if (!this.#isSpeaking) return;
    const bytes = Buffer.concat([this.#rest, audio]);
    let at = 0;
    for (; at + frameBytes <= bytes.length; at += frameBytes) this.#sendFrame(bytes.subarray(at, at + frameBytes));
    this.#rest = bytes.subarray(at);
    this.#speech.setPaused(this.#marks.length > marksAheadMax);
  }

  #endTurn(): void {
    if (!this.#isSpeaking) return;
    const last = Buffer.concat([this.#rest, Buffer.alloc(frameBytes, silence)]).subarray(0, frameBytes);
    if (this.#rest.length > 0) this.#sendFrame(last);
    this.#rest = Buffer.alloc(0);
    this.#sendMark(true);
  }

  #sendFrame(frame: Buffer): void {
    this.#send('media', { media: { payload: frame.toString('base64') } });
    if (++this.#frames % framesPerMark === 0) this.#sendMark(false);
  }

  #sendMark(isEnd: boolean): void {
    const mark = { name: String(++this.#markCount), ms: this.#frames * frameMs, isEnd };
    this.#marks.push(mark);
    this.#send('mark', { mark: { name: mark.name } });
  }

  #noteMark(name: string): void {
    const at = this.#marks.findIndex((mark) => mark.name === name);
    if (at < 0) return;
    const { ms, isEnd } = this.#marks[at]!;
    this.#marks = this.#marks.slice(at + 1);
    this.#heardMs = ms;
    this.#speech.setPaused(this.#marks.length > marksAheadMax);
    if (!isEnd) return;
    this.#isSpeaking = false;
    this.#textHeard.resolve(this.#text);
  }

  /** Stops the playback of the turn, because the caller speaks. */
  #interrupt(): void {
    this.#isSpeaking = false;
    this.#marks = [];
    this.#rest = Buffer.alloc(0);
    this.#send('clear', {});
    this.#speech.interrupt(this.#turn, this.#heardMs);
  }

  #fail(error: unknown): void {
    this.#options.log(`the conversation has failed: ${error}`);
    this.#twilio.close();
  }

  #send(event: string, members: object): void {
    this.#twilio.send(JSON.stringify({ event, streamSid: this.#streamSid, ...members }));
  }
}
