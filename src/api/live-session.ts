// A session of live speech: receives text while it sends audio. Turns are spoken one after the other; a turn ends at a
// flush or an interrupt. Inputs are handled even if the client reads no output, so that an interrupt takes effect at
// once. After `interrupted`, no output of earlier turns is sent.
import type { FormatName } from '../audio.ts';
import { countChars } from '../platform/count-chars.ts';
import { Failure, invalidField } from '../platform/errors.ts';
import { onAbort } from '../platform/runtime/abort.ts';
import { atOnce, inSteps } from '../platform/runtime/steps.ts';
import { FileOfTurns, LiveTurn, type SpeechEvent, type SpeechFindings, type SpeechRequest } from '../speech.ts';
import type { Call } from './call.ts';
import {
  catchUpCheckMs,
  heardTurnsMax,
  liveIdleMs,
  liveNoticeCharsMax,
  liveReadMs,
  liveWaitingCharsMax,
  liveWaitingTurnsMax,
} from './call-limits.ts';

export type LiveInput =
  /** Starts the session. If one of the `voices` cannot be used, nothing is spoken. */
  | { type: 'start'; start: SpeechRequest; voices?: readonly string[] }
  /**
   * Adds text to the turn. If the text is a phrase and ends a sentence, that sentence is spoken at once. Text of another
   * voice begins a turn. Default: the voice of the start.
   */
  | { type: 'text'; text: string; isPhrase?: boolean; voiceId?: string }
  /** Ends the turn: its remaining text is spoken, even an incomplete sentence. */
  | { type: 'flush' }
  /** Ends the turn and stops its audio. `turn` is the turn being heard. Default: the first unfinished turn. */
  | { type: 'interrupt'; playedMs?: number | undefined; turn?: number | undefined }
  /** Ends the last turn. The session ends when everything is spoken. */
  | { type: 'end' };

export interface LiveInfo {
  type: 'info';
  turn: number;
  audioId: string;
  voice: { voiceId: string; name: string };
  format: FormatName;
  contentType: string;
  sampleRateHz: number;
  /** Warnings that are known when the audio begins. */
  warnings: readonly string[];
}

export type LiveEvent =
  | LiveInfo
  | { type: 'audio'; turn: number; audio: Uint8Array }
  | ({ type: 'timestamps'; turn: number } & Pick<SpeechEvent<'timestamps'>, 'words' | 'quality' | 'languageCode'>)
  | ({ turn: number } & Omit<SpeechEvent<'mark'>, 'chunkIndex'>)
  | ({ type: 'flushed'; turn: number; chars: number; seconds: number } & SpeechFindings)
  /** What a recognizer has heard of a turn. Other turns do not wait for it. */
  | ({ type: 'checked'; turn: number } & SpeechFindings)
  | { type: 'interrupted'; turn: number; playedMs: number; textSpoken: string; textRemaining: string }
  | { type: 'done'; chars: number; seconds: number };

interface LiveSessionOptions {
  call: Pick<Call, 'signal' | 'leaving'>;
  start: SpeechRequest;
  /** The language of a voice. It is used if the start of the session names no language. */
  languageOf(voiceId: string): string;
  speakTurn(turn: LiveTurn, file: FileOfTurns, signal: AbortSignal): AsyncIterable<SpeechEvent>;
}

/** Longer texts are read in steps between which other work runs. */
const charsAtOnce = 200;

export class LiveSession {
  readonly #options: LiveSessionOptions;
  /** Unfinished turns, oldest first. */
  readonly #turns: LiveTurn[] = [];
  /** The turn to which text is added. */
  #open: LiveTurn | undefined;
  /** Completely spoken turns, oldest first. Their audio may still be playing at the client. */
  #spoken: LiveTurn[] = [];
  #turnCount = 0;
  #file = this.#newFile();
  #waitingChars = 0;
  readonly #interrupted: { event: LiveEvent; chars: number }[] = [];
  /** Number of characters in `#interrupted`. */
  #noticeChars = 0;
  /** Number of turns that a recognizer is hearing, and the results that have not been sent. */
  #hearingCount = 0;
  readonly #checked: { turn: LiveTurn; event: LiveEvent }[] = [];
  readonly #total = { chars: 0, seconds: 0 };
  /** First half of a surrogate pair; the second half arrives with the next text. */
  #half = '';
  #isEnding = false;
  #failed: { error: unknown } | undefined;
  #wake = () => {};
  #pause: NodeJS.Timeout | undefined;
  readonly #idle: NodeJS.Timeout;

  constructor(options: LiveSessionOptions) {
    this.#options = options;
    const message = `No message and no audio was sent for ${liveIdleMs / 60_000} minutes.`;
    this.#idle = setTimeout(() => this.fail(new Failure('engine_timeout', { message })), liveIdleMs).unref();
  }

  /** Handles an input. Await it before the next input. Rejects with a Failure if the input is not allowed now. */
  async handle(input: LiveInput): Promise<void> {
    this.#idle.refresh();
    if (this.#isEnding) throw invalid('No message may follow end.');
    if (input.type === 'start') throw invalid('Send start once, before all other messages.');
    if (input.type === 'text') await this.#addText(input);
    else if (input.type === 'interrupt') this.#interrupt(input);
    else {
      if (input.type === 'flush') this.#openTurn();
      this.#endTurn();
      this.#isEnding = input.type === 'end';
    }
    this.#wake();
  }

  /** Called when no more input will arrive. */
  async end(): Promise<void> {
    if (!this.#isEnding) await this.handle({ type: 'end' });
  }

  /** Ends the session with an error at once. */
  fail(error: unknown): void {
    this.#failed ??= { error };
    for (const turn of this.#turns) turn.stop.abort(error);
    this.#wake();
  }

  async *events(): AsyncGenerator<LiveEvent, void> {
    const { signal, leaving } = this.#options.call;
    using _aborted = onAbort(signal, () => this.fail(signal.reason));
    using _leaving = onAbort(leaving, () => this.#wake());
    try {
      for (;;) {
        const notice = this.#interrupted.shift();
        const turn = this.#turns[0];
        const isOver = !turn && this.#hearingCount === 0;
        if (this.#failed) throw this.#failed.error;
        if (notice) {
          this.#noticeChars -= notice.chars;
          yield notice.event;
        } else if (this.#checked.length > 0) yield* this.#takeChecked();
        else if (turn?.text.hasPart(0)) {
          // The events of a turn are sent from here, because each generator in between costs waits.
          try {
            for await (const event of this.#speak(turn)) {
              if (turn.isInterrupted) break;
              const told = this.#toLive(turn, event);
              if (told) yield told;
              if (this.#checked.length > 0) yield* this.#takeChecked();
            }
          } catch (error) {
            this.#throwUnlessInterrupted(turn, error);
          }
        } else if (this.#isEnding && isOver) return yield* this.#done();
        else if (leaving.aborted && isOver) throw leaving.reason;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      // A recognizer may still hear turns of a session that failed.
      for (const { stop } of [...this.#spoken, ...this.#turns]) stop.abort();
      this.#file.close();
      clearTimeout(this.#idle);
      clearTimeout(this.#pause);
    }
  }

  #throwUnlessInterrupted({ isInterrupted }: LiveTurn, error: unknown): void {
    if (this.#failed) throw this.#failed.error;
    if (!isInterrupted) throw error;
  }

  #speak(turn: LiveTurn): AsyncIterable<SpeechEvent> | Iterable<SpeechEvent> {
    const signal = AbortSignal.any([this.#options.call.signal, turn.stop.signal]);
    if (!turn.isBlank) return this.#options.speakTurn(turn, this.#file, signal);
    this.#waitingChars -= turn.text.chars;
    return [{ type: 'done', chars: 0, seconds: 0, byteCount: 0 }];
  }

  #toLive(turn: LiveTurn, event: SpeechEvent): LiveEvent | undefined {
    const { index } = turn;
    turn.note(event);
    this.#idle.refresh();
    switch (event.type) {
      case 'info':
        return toInfo(index, event);
      case 'audio':
        return { type: 'audio', turn: index, audio: event.audio };
      case 'chunk_done':
        this.#waitingChars -= turn.text.partAt(event.chunkIndex).chars;
        return undefined;
      case 'mark':
        return toMark(index, event);
      case 'done':
        if (event.later) this.#tellLater(turn, event.later);
        return this.#flushed(turn, event);
      case 'timestamps': {
        const { quality, languageCode } = event;
        const words = turn.locate(event);
        return this.#options.start.timestamps
          ? { type: 'timestamps', turn: index, words, quality, languageCode }
          : undefined;
      }
    }
  }

  #tellLater(turn: LiveTurn, later: Promise<SpeechEvent<'done'>>): void {
    this.#hearingCount++;
    void later.then(({ suspects, unchecked }) => {
      this.#hearingCount--;
      this.#checked.push({ turn, event: { type: 'checked', turn: turn.index, suspects, unchecked } });
      this.#wake();
    });
  }

  *#takeChecked(): Generator<LiveEvent, void> {
    for (const { turn, event } of this.#checked.splice(0)) if (!turn.isInterrupted) yield event;
  }

  *#done(): Generator<LiveEvent, void> {
    const audio = this.#file.end();
    if (audio.length > 0) yield { type: 'audio', turn: this.#turnCount - 1, audio };
    yield { type: 'done', ...this.#total };
  }

  #newFile(): FileOfTurns {
    return new FileOfTurns(() => this.#isEnding && this.#turns.length === 1);
  }

  #flushed(turn: LiveTurn, { seconds, suspects, unchecked }: SpeechEvent<'done'>): LiveEvent {
    const { index, spokenChars: chars } = turn;
    this.#turns.shift();
    this.#spoken = [...this.#spoken, turn].slice(-heardTurnsMax);
    this.#count(chars, seconds);
    return { type: 'flushed', turn: index, chars, seconds, suspects, unchecked };
  }

  #count(chars: number, seconds: number): void {
    this.#total.chars += chars;
    this.#total.seconds += seconds;
  }

  #openTurn(voiceId?: string): LiveTurn {
    if (!this.#open) {
      this.#open = this.#newTurn(voiceId);
      this.#turns.push(this.#open);
    }
    return this.#open;
  }

  #newTurn(voiceId = this.#options.start.voiceId): LiveTurn {
    const [waiting, limit] = [this.#turns.length + this.#interrupted.length, liveWaitingTurnsMax];
    if (waiting >= limit) {
      const message = `${waiting} turns are waiting to be spoken or read, which is the limit. Read the audio that was sent.`;
      const facts = { message, limit, actual: waiting, limitReason: 'requests' } as const;
      throw new Failure('rate_limit_exceeded', facts);
    }
    const { start, languageOf } = this.#options;
    return new LiveTurn(this.#turnCount++, voiceId, { start, languageCode: languageOf(voiceId) });
  }

  #endTurn(): void {
    clearTimeout(this.#pause);
    if (this.#half !== '')
      throw invalidField('text', 'encoding', 'ends with an unpaired surrogate; send valid Unicode');
    this.#open?.text.end();
    this.#open = undefined;
  }

  async #addText({ text: given, isPhrase = false, voiceId }: Extract<LiveInput, { type: 'text' }>): Promise<void> {
    if (this.#open && this.#open.voiceId !== (voiceId ?? this.#options.start.voiceId)) this.#endTurn();
    const text = this.#half + given;
    this.#half = /[\uD800-\uDBFF]$/.exec(text)?.[0] ?? '';
    const whole = text.slice(0, text.length - this.#half.length);
    if (!whole.isWellFormed())
      throw invalidField('text', 'encoding', 'contains an unpaired surrogate; send valid Unicode');
    if (whole.includes('\0')) throw invalidField('text', 'encoding', 'contains a NUL character');
    if (whole === '') return;
    if (this.#noticeChars > liveNoticeCharsMax) {
      const [limit, actual] = [liveNoticeCharsMax, this.#noticeChars];
      const message = `${actual} characters of interrupted turns are waiting to be read; the limit is ${limit}. Read the messages that were sent.`;
      throw new Failure('rate_limit_exceeded', { message, limit, actual, limitReason: 'characters' });
    }
    const waiting = this.#waitingChars + countChars(whole);
    if (waiting > liveWaitingCharsMax) {
      const message = `${waiting} characters are waiting to be spoken; the limit is ${liveWaitingCharsMax}. Send text as it is spoken.`;
      const facts = { message, limit: liveWaitingCharsMax, actual: waiting, limitReason: 'characters' } as const;
      throw new Failure('rate_limit_exceeded', facts);
    }
    this.#waitingChars = waiting;
    const turn = this.#openTurn(voiceId);
    clearTimeout(this.#pause);
    const steps = turn.text.append(whole);
    if (whole.length > charsAtOnce) await inSteps(steps);
    else atOnce(steps);
    if (isPhrase) turn.text.endPhrase();
    this.#pauseLater(turn);
  }

  /** Speaks an incomplete text if no more text arrives within `inMs` and all earlier text has been spoken. */
  #pauseLater(turn: LiveTurn, inMs = this.#options.start.bufferMs): void {
    const pause = () => {
      if (!turn.isCaughtUp) return this.#pauseLater(turn, Math.max(inMs, catchUpCheckMs));
      turn.text.pause();
      this.#wake();
    };
    const lastMs = Math.min(inMs, liveReadMs);
    const wait = () => {
      this.#pause = setTimeout(pause, lastMs).unref();
    };
    // If the process was busy, text that has arrived is read during the last part of the wait.
    if (inMs === lastMs) wait();
    else this.#pause = setTimeout(wait, inMs - lastMs).unref();
  }

  #interrupt({ playedMs, turn: heard }: { playedMs?: number | undefined; turn?: number | undefined }): void {
    if (heard !== undefined && heard >= this.#turnCount)
      throw invalidField('turn', 'unknown', 'must be a turn that has started');
    const known = [...this.#spoken, ...this.#turns];
    // Ignores a turn that has already been interrupted or played, because a client may send an interrupt twice.
    if (heard !== undefined && !known.some(({ index }) => index === heard)) return;
    clearTimeout(this.#pause);
    this.#half = '';
    const unfinished = this.#turns.splice(0);
    const spoken = this.#spoken;
    const isAhead = heard === undefined && !unfinished[0]?.hasSound;
    const played = isAhead ? spoken.slice(-1) : spoken.filter(({ index }) => heard !== undefined && index >= heard);
    const turns = [...played, ...unfinished];
    if (turns.length === 0) turns.push(this.#newTurn());
    for (const [i, turn] of turns.entries()) {
      if (!spoken.includes(turn)) this.#count(turn.spokenChars, turn.sentSeconds);
      turn.isInterrupted = true;
      turn.stop.abort(new Error('the turn was interrupted'));
      const isHeard = heard === undefined ? i === 0 : turn.index === heard;
      // The turns before the one being heard have been played completely.
      const at = isHeard ? playedMs : heard !== undefined && turn.index < heard ? Infinity : 0;
      const { chars } = turn.text;
      this.#interrupted.push({ event: { type: 'interrupted', turn: turn.index, ...turn.heardAt(at) }, chars });
      this.#noticeChars += chars;
    }
    this.#file.close();
    this.#file = this.#newFile();
    this.#open = undefined;
    this.#spoken = [];
    this.#waitingChars = 0;
  }
}

const toInfo = (turn: number, info: SpeechEvent<'info'>): LiveInfo => {
  const { audioId, voice, format, contentType, sampleRateHz, warnings } = info;
  return { type: 'info', turn, audioId, voice, format, contentType, sampleRateHz, warnings };
};

const toMark = (turn: number, { type, kind, name, seconds }: SpeechEvent<'mark'>): LiveEvent => ({
  type,
  turn,
  kind,
  name,
  seconds,
});

const invalid = (message: string) => new Failure('invalid_request', { message });
