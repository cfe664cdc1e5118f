// A turn of live speech: its text, and what of it has been sent and heard. When a turn is interrupted, it tells the text up
// to the word that was being heard: by the times of the words, or where these are not known yet, by the pace of those before.
import { audioFormats } from '../audio/formats.ts';
import { charsPerSecond } from '../speech/estimate.ts';
import type { LiveStart } from '../speech/live-request.ts';
import { LiveText } from '../speech/live-text.ts';
import type { SpeechAudio, SpeechEvent, SpeechInfo, SpeechTimestamps } from '../speech/speech-events.ts';
import { createWordAt } from '../speech/word-timing.ts';
import { countChars } from '../text/count-chars.ts';

/** Where in the text and in the sound a segment begins whose words have no times yet. */
interface Untimed {
  fromChars: number;
  toChars: number;
  startSeconds: number;
  /** Those that have times already, though not all of the segment's have. */
  wordsSoFar(): readonly { end: number; startSeconds: number }[];
}

export interface Heard {
  playedMs: number;
  textSpoken: string;
  textRemaining: string;
}

export class LiveTurn {
  readonly index: number;
  readonly text: LiveText;
  /** Aborts when the turn is interrupted or its speech has failed. */
  readonly stop = new AbortController();
  isInterrupted = false;
  #info: SpeechInfo | undefined;
  #firstAudioMs: number | undefined;
  /** What has been sent of it: characters whose speaking has begun, and sound. */
  begunChars = 0;
  /** Characters that are said whose speaking has begun: what is charged. */
  spokenChars = 0;
  #spokenCharsDone = 0;
  sentSeconds = 0;
  #partsDone = 0;
  #untimed: Untimed | undefined;
  /** The words that have been timed, by their offsets in the turn. */
  readonly #words: { end: number; startSeconds: number; endSeconds: number }[] = [];

  constructor(index: number, { languageCode, start }: { languageCode: string; start: Pick<LiveStart, 'markup'> }) {
    this.index = index;
    this.text = new LiveText(languageCode, start.markup);
  }

  /** Whether there is nothing to say in it. */
  get isBlank(): boolean {
    return this.text.received.trim() === '';
  }

  get hasSound(): boolean {
    return this.#firstAudioMs !== undefined;
  }

  /** Whether all parts of its text that are complete have been spoken. */
  get isCaughtUp(): boolean {
    return !this.text.hasPart(this.#partsDone);
  }

  /** Takes note of what is sent. */
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

  /** The event with the offsets of its words in the turn. */
  locate({ chunkIndex, words }: SpeechTimestamps) {
    const { offset: before } = this.text.partAt(chunkIndex);
    return words.map((word) => ({ ...word, offset: before + word.offset }));
  }

  /** What was heard when so much had been played; without that, as if it was played as soon as it was sent. */
  heardAt(playedMs?: number): Heard {
    const sinceFirstMs = this.#firstAudioMs === undefined ? 0 : performance.now() - this.#firstAudioMs;
    const heardMs = Math.round(Math.min(playedMs ?? sinceFirstMs, this.sentSeconds * 1000));
    const { received } = this.text;
    const textSpoken = createWordAt(received)(0, this.#charsHeardAt(heardMs / 1000));
    return { playedMs: heardMs, textSpoken, textRemaining: received.slice(textSpoken.length) };
  }

  #noteAudio({ chunkIndex, chunkCharsBegun, charsBegun, wordsSoFar, audio }: SpeechAudio): void {
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

  #noteWords(event: SpeechTimestamps): void {
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

  /** The end of the word that has this character in it, or else of the last one before it. */
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
