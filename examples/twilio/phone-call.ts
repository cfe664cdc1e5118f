// One call of Twilio's Media Streams, bidirectional: https://www.twilio.com/docs/voice/media-streams/websocket-messages
//     from Twilio  {"event":"connected"}  {"event":"start","start":{"streamSid","callSid",...}}  {"event":"stop"}
//                  {"event":"media","media":{"track":"inbound","payload"}}  {"event":"mark","mark":{"name"}}
//     to Twilio    {"event":"media","streamSid","media":{"payload"}}  {"event":"mark","streamSid","mark":{"name"}}
//                  {"event":"clear","streamSid"}
// Payloads are base64 of u-law at 8 kHz. Twilio plays what it is sent in order, and returns each mark when all before it has
// been played: so the marks tell what was heard. After `clear` it returns those that were waiting, too.
import type { WebSocket } from 'ws';
import { CallerVoice } from './caller-voice.ts';
import { LiveSpeech, type LiveSpeechOptions } from './live-speech.ts';

export interface Conversation {
  /** What is said first, in whatever pieces it is written. */
  greet(): AsyncIterable<string>;
  /** What is said when the caller has spoken. `heard` is as much of the last answer as the caller has heard. */
  answer(heard: string): AsyncIterable<string>;
}

export interface PhoneCallOptions extends Pick<LiveSpeechOptions, 'url' | 'apiKey' | 'voice'> {
  conversation: Conversation;
  log(line: string): void;
}

interface Mark {
  name: string;
  /** Its position in the turn. */
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
/** Marks tell what was heard as exactly as this. */
const framesPerMark = 5;
/** Twilio is sent so much in advance; Sonant need not speak more than that in vain. */
const marksAheadMax = 100;
const silence = 0xff;

export class PhoneCall {
  readonly #twilio: WebSocket;
  readonly #options: PhoneCallOptions;
  readonly #speech: LiveSpeech;
  readonly #caller = new CallerVoice();
  #streamSid = '';
  /** Of Sonant; each answer is one. */
  #turn = -1;
  /** Until it was heard to its end, or interrupted. */
  #isSpeaking = false;
  #text = '';
  /** What was heard of the last turn. */
  #textHeard = Promise.withResolvers<string>();
  /** Less than a frame. */
  #rest: Buffer = Buffer.alloc(0);
  #frames = 0;
  #markCount = 0;
  /** Those that have not come back, the oldest first. */
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
    // What was on its way when the caller began to speak.
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

  /** The caller speaks: nothing more of the turn is played. */
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
