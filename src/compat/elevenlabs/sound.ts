// What the requests over HTTP are answered with: audio, or audio in base64 with the times of its characters:
//     {"audio_base64","alignment":{"characters","character_start_times_seconds","character_end_times_seconds"},
//      "normalized_alignment":{the same}}
// as one object, or as a line for each piece of audio and of text. All times count from the beginning.
import type { LiveEvent } from '../../api/live-session.ts';
import { CharacterTimes, type TimedChar } from './alignment.ts';

export async function* soundOf(events: AsyncIterable<LiveEvent>): AsyncGenerator<Uint8Array> {
  for await (const event of events) if (event.type === 'audio') yield event.audio;
}

export async function* linesOf(events: AsyncIterable<LiveEvent>, text: string): AsyncGenerator<Uint8Array> {
  for await (const { audio, timed } of piecesOf(events, text)) {
    const line = { audio_base64: Buffer.from(audio).toString('base64'), ...toAlignments(timed) };
    yield Buffer.from(`${JSON.stringify(line)}\n`);
  }
}

/** One object, whose audio leaves as it is spoken. */
export async function* objectOf(events: AsyncIterable<LiveEvent>, text: string): AsyncGenerator<Uint8Array> {
  const all: TimedChar[] = [];
  let before = '{"audio_base64":"';
  let held: Uint8Array = new Uint8Array();
  for await (const { audio, timed } of piecesOf(events, text)) {
    all.push(...timed);
    const bytes = Buffer.concat([held, audio]);
    // Three bytes are four characters of base64.
    const whole = bytes.length - (bytes.length % 3);
    held = bytes.subarray(whole);
    if (whole > 0) yield Buffer.from(before + bytes.toString('base64', 0, whole));
    if (whole > 0) before = '';
  }
  const rest = JSON.stringify(toAlignments(all)).slice(1);
  yield Buffer.from(`${before}${Buffer.from(held).toString('base64')}",${rest}`);
}

async function* piecesOf(events: AsyncIterable<LiveEvent>, text: string) {
  const nothing = { audio: new Uint8Array(), timed: [] as TimedChar[] };
  const times = new CharacterTimes();
  times.addText(0, text);
  for await (const event of events) {
    if (event.type === 'audio') yield { ...nothing, audio: event.audio };
    else if (event.type === 'timestamps') yield { ...nothing, timed: times.takeWords(event.turn, event.words) };
    else if (event.type === 'flushed') yield { ...nothing, timed: times.endTurn(event.turn, event.seconds) };
  }
}

function toAlignments(timed: readonly TimedChar[]) {
  if (timed.length === 0) return { alignment: null, normalized_alignment: null };
  const alignment = {
    characters: timed.map(({ char }) => char),
    character_start_times_seconds: timed.map(({ startMs }) => startMs / 1000),
    character_end_times_seconds: timed.map(({ endMs }) => endMs / 1000),
  };
  return { alignment, normalized_alignment: alignment };
}
