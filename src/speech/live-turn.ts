// Tracks a turn of live speech: its text, and how much of the text has been sent and heard. After an interrupt, which
// api/live-session.ts handles, `heardAt` returns the text up to the word being heard. If the words have no times yet,
// they are estimated from the pace of earlier words. FileOfTurns keeps the encoder of a file with several turns open.
import { type AudioPipeline, audioFormats } from '../audio.ts';
import { countChars } from '../platform/count-chars.ts';
import { LiveText } from './live-text.ts';
import { charsPerSecond } from './plan.ts';
import type { SpeechRequest } from './request.ts';
import type { SpeechEvent, SpeechInfo } from './speech-events.ts';
import { createWordAt } from './word-timing.ts';

/** A segment without word times: its position in the text and in the audio. */
interface Untimed {
  fromChars: number;
  toChars: number;
  startSeconds: number;
  /** Returns the words of the segment that already have times. */
  wordsSoFar(): readonly { end: number; startSeconds: number }[];
}

interface Heard {
  playedMs: number;
  textSpoken: string;
  textRemaining: string;
}

export class LiveTurn {
  readonly index: number;
  readonly voiceId: string;
  readonly text: LiveText;
  /** Aborts when the turn is interrupted or its speech has failed. */
  readonly stop = new AbortController();
  isInterrupted = false;
  #info: SpeechInfo | undefined;
  #firstAudioMs: number | undefined;
  /** Number of characters whose audio has been sent at least in part. */
  begunChars = 0;
  /** Number of characters whose speech has started. These characters are charged. */
  spokenChars = 0;
  #spokenCharsDone = 0;
  sentSeconds = 0;
  #partsDone = 0;
  #untimed: Untimed | undefined;
  /** Words with times; offsets are relative to the turn. */
  readonly #words: { end: number; startSeconds: number; endSeconds: number }[] = [];

  constructor(
    index: number,
    voiceId: string,
    { languageCode, start }: { languageCode: string; start: Pick<SpeechRequest, 'markup'> },
  ) {
    this.index = index;
    this.voiceId = voiceId;
    this.text = new LiveText(languageCode, start.markup);
  }

  /** Whether the turn has no text to speak. */
  get isBlank(): boolean {
    return this.text.received.trim() === '';
  }

  get hasSound(): boolean {
    return this.#firstAudioMs !== undefined;
  }

  /** Whether all complete parts of the text have been spoken. */
  get isCaughtUp(): boolean {
    return !this.text.hasPart(this.#partsDone);
  }

  /** Updates the state of the turn with an event that is being sent. */
  note(event: SpeechEvent): void {
    if (event.type === 'info') this.#info = event;
    else if (event.type === 'audio') this.#noteAudio(event);
    else if (event.type === 'timestamps') this.#noteWords(event);
    else if (event.type === 'chunk_done') {
      this.#partsDone++;
      this.#spokenCharsDone += event.chars;
      this.spokenChars = this.#spokenCharsDone;
      this.sentSeconds = event.endSeconds;
    } else if (event.type === 'done') this.sentSeconds = event.seconds;
  }

  /** The words of the event, with offsets relative to the turn. */
  locate({ chunkIndex, words }: SpeechEvent<'timestamps'>) {
    const { offset: before } = this.text.partAt(chunkIndex);
    return words.map((word) => ({ ...word, offset: before + word.offset }));
  }

  /**
   * Returns the text that was heard after `playedMs` of audio. Without `playedMs`, assumes that audio is played as soon
   * as it is sent.
   */
  heardAt(playedMs?: number): Heard {
    const sinceFirstMs = this.#firstAudioMs === undefined ? 0 : performance.now() - this.#firstAudioMs;
    const heardMs = Math.round(Math.min(playedMs ?? sinceFirstMs, this.sentSeconds * 1000));
    const { received } = this.text;
    const textSpoken = createWordAt(received)(0, this.#charsHeardAt(heardMs / 1000));
    return { playedMs: heardMs, textSpoken, textRemaining: received.slice(textSpoken.length) };
  }

  #noteAudio({ chunkIndex, chunkCharsBegun, charsBegun, wordsSoFar, audio }: SpeechEvent<'audio'>): void {
    this.spokenChars = Math.max(this.spokenChars, this.#spokenCharsDone + charsBegun);
    this.#firstAudioMs ??= performance.now();
    const before = this.text.partAt(chunkIndex).offset;
    const begun = before + chunkCharsBegun;
    if (begun > this.begunChars) {
      this.#untimed = {
        fromChars: this.begunChars,
        toChars: begun,
        startSeconds: this.sentSeconds,
        wordsSoFar: () =>
          (wordsSoFar?.() ?? []).map(({ offset, length, startSeconds }) => ({
            end: before + offset + length,
            startSeconds,
          })),
      };
      this.begunChars = begun;
    }
    const { format, sampleRateHz } = this.#info!;
    this.sentSeconds += audio.length / audioFormats[format].bytesPerSecond(sampleRateHz);
  }

  #noteWords(event: SpeechEvent<'timestamps'>): void {
    for (const { offset, length, startSeconds, endSeconds } of this.locate(event)) {
      this.#words.push({ end: offset + length, startSeconds, endSeconds });
    }
    this.#untimed = undefined;
  }

  #charsHeardAt(seconds: number): number {
    if (seconds <= 0) return 0;
    const last = this.#words.findLast(({ startSeconds }) => startSeconds < seconds);
    const untimed = this.#untimed;
    if (!untimed || untimed.startSeconds >= seconds) return last?.end ?? 0;
    const soFar = untimed.wordsSoFar();
    if (soFar.length > 0) return soFar.findLast(({ startSeconds }) => startSeconds < seconds)?.end ?? last?.end ?? 0;
    const timed = this.#words.at(-1);
    const pace = timed && timed.endSeconds > 0 ? timed.end / timed.endSeconds : charsPerSecond;
    const chars = Math.min(untimed.fromChars + (seconds - untimed.startSeconds) * pace, untimed.toChars);
    return this.#wordEndAfter(chars, untimed.fromChars);
  }

  /** The end of the word that contains this character, or of the last word before it. */
  #wordEndAfter(chars: number, fromChars: number): number {
    const rest = createWordAt(this.text.received)(fromChars, this.text.chars - fromChars);
    let end = fromChars;
    for (const { 0: word, index } of rest.matchAll(/[\p{L}\p{N}]\S*/gu)) {
      const start = fromChars + countChars(rest.slice(0, index));
      if (start >= chars) break;
      end = start + countChars(word);
    }
    return end;
  }
}

/**
 * The file that the turns of a session form. A turn takes the file while it is spoken, and gives it back when it is
 * complete. A turn that was interrupted or has failed keeps it, and the next turn begins another file.
 */
export class FileOfTurns {
  /** Whether the turn being spoken is the last one, so that it ends the file. */
  readonly isLastTurn: () => boolean;
  #pipeline: AudioPipeline | undefined;
  #isClosed = false;

  constructor(isLastTurn: () => boolean) {
    this.isLastTurn = isLastTurn;
  }

  /** Returns the file that earlier turns began, if any. The caller must give it back, or close it. */
  take(): AudioPipeline | undefined {
    const pipeline = this.#pipeline;
    this.#pipeline = undefined;
    return pipeline;
  }

  giveBack(pipeline: AudioPipeline): void {
    if (this.#isClosed) pipeline.close();
    else this.#pipeline = pipeline;
  }

  /** Ends the file. Returns its last bytes. */
  end(): Uint8Array {
    return this.take()?.end() ?? new Uint8Array();
  }

  /** Drops the file. */
  close(): void {
    this.#isClosed = true;
    this.take()?.close();
  }
}
