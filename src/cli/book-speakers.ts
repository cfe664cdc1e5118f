// Dialogue in several voices: lines that begin with the name of a speaker, "ANNA: Who is there?", become SSML in which that
// speaker's voice says them. What stands between is the narrator's.
import { readingPausesMs } from '../jobs/limits.ts';
import { pausesMsMax } from '../text/pause-tags.ts';
import { UsageError } from './command.ts';

/** By the name in capitals. */
export type Speakers = ReadonlyMap<string, string>;

/** Each is NAME=voice. */
export function parseSpeakers(given: readonly string[]): Speakers {
  return new Map(
    given.map((each) => {
      const at = each.indexOf('=');
      if (at < 1 || at === each.length - 1) throw new UsageError(`--speaker ${each}: give NAME=VOICE`);
      return [each.slice(0, at).trim().toUpperCase(), each.slice(at + 1).trim()];
    }),
  );
}

/** Of one document in code points; a longer chapter becomes several. */
const documentCharsMax = 45_000;

/** The documents of a chapter, with the pauses of a reader; the text itself where nobody of them speaks. */
export function withSpeakers(text: string, speakers: Speakers): string[] {
  const paragraphs = text
    .split(/\n{2,}/)
    .map((paragraph) => paragraph.split('\n').map((line) => toLine(line, speakers)));
  if (!paragraphs.flat().some(({ voice }) => voice !== undefined)) return [text];
  const documents: string[] = [];
  let body = '';
  let pausesMs = 0;
  let place: keyof typeof readingPausesMs = 'paragraph';
  for (const lines of paragraphs) {
    if (!lines.some((line) => /[\p{L}\p{N}]/u.test(line.text))) {
      place = 'scene';
      continue;
    }
    const said = `<p>${lines.map(toMarkup).join('\n')}</p>\n`;
    const pauseMs = readingPausesMs[place];
    const isFull = body.length + said.length > documentCharsMax || pausesMs + pauseMs > pausesMsMax;
    if (body !== '' && isFull) {
      documents.push(`<speak>${body}</speak>`);
      [body, pausesMs] = ['', 0];
    }
    if (body !== '') {
      body += `<break time="${pauseMs}ms"/>`;
      pausesMs += pauseMs;
    }
    body += said;
    const isHeading = documents.length === 0 && pausesMs === 0 && /[\p{L}\p{N}]$/u.test(lines.at(-1)!.text);
    place = isHeading ? 'heading' : 'paragraph';
  }
  return [...documents, `<speak>${body}</speak>`];
}

/** The names that no line begins with. */
export function silentSpeakers(texts: readonly string[], speakers: Speakers): string[] {
  const lines = texts.flatMap((text) => text.split('\n').map((line) => nameOf(line).name));
  return [...speakers.keys()].filter((name) => !lines.includes(name));
}

interface SpokenLine {
  voice: string | undefined;
  text: string;
}

function toLine(line: string, speakers: Speakers): SpokenLine {
  const { whole, name } = nameOf(line);
  const voice = speakers.get(name);
  return voice === undefined ? { voice, text: line } : { voice, text: line.slice(whole.length) };
}

/** The name that a line may begin with, in capitals. */
function nameOf(line: string): { whole: string; name: string } {
  const [whole = '', name = ''] = /^\s*([\p{L}\p{N}][\p{L}\p{N} .'’-]{0,60}?)\s*:\s+/u.exec(line) ?? [];
  return { whole, name: name.toUpperCase() };
}

const toMarkup = ({ voice, text }: SpokenLine): string =>
  voice === undefined ? escapeMarkup(text) : `<voice name="${escapeMarkup(voice)}">${escapeMarkup(text)}</voice>`;

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeMarkup = (text: string): string => text.replace(/[&<>"]/g, (sign) => entities[sign]!);
