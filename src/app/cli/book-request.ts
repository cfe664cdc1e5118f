// Builds the job request of `sonant book` from a book and the flags: chapters, voices, speakers and the other fields.
import type { FormatName } from '../../audio.ts';
import { readingPausesMs, toJobFields } from '../../clips.ts';
import { type Book, type BookChapter, bookParts } from '../../library.ts';
import { countChars } from '../../platform/count-chars.ts';
import { isSpokenBy, toLanguageCode } from '../../platform/language-code.ts';
import { toXml } from '../../platform/xml.ts';
import { speechFields, type Voices } from '../../speech.ts';
import { pausesMsMax } from '../../text.ts';
import { type FlagsOf, flag, formatTable, option, UsageError, withSpeechFlags } from './command.ts';
import { flagOfField, speechFieldsOf, speechFlags } from './speech-flags.ts';

const formatNames = speechFields.formatNames.filter((name) => name !== 'flac');

export const bookOptions = {
  output: option('FILE', 'the audio file; its extension sets the format', { short: 'o' }),
  list: flag('print the chapters with their numbers; speak nothing'),
  chapters: option('NUMBERS', 'only these chapters, such as 3-7,9 or 4-'),
  skip: option('PARTS', 'omit these parts: front, notes, back, separated by commas'),
  voice: option('VOICE', 'the voice; 3=VOICE or 5-7=VOICE for some chapters; may be repeated', {
    short: 'v',
    multiple: true,
  }),
  speaker: option('NAME=VOICE', 'the voice of lines that begin with "NAME:"; may be repeated', {
    multiple: true,
  }),
  language: option('CODE', 'the language; default: the language of the book, if the voice speaks it', { short: 'l' }),
  format: option('FORMAT', `${formatNames.join(', ')}; default: by the extension of FILE`, { short: 'f' }),
  'sample-rate': option('HZ', speechFields.outputSampleRatesHz.join(', ')),
  'speaking-rate': option('RATE', 'the speed; 2 is twice as fast; default: 1'),
  instructions: option('TEXT', speechFlags.instructions.help),
  seed: option('N', speechFlags.seed.help),
  gap: option('SECONDS', 'silence between two chapters'),
  captions: option(
    'KIND',
    `also write captions next to the file: ${speechFields.captionKinds.join(', ')}, or both separated by a comma`,
    { multiple: true },
  ),
  code: flag('speak blocks of code, which are omitted by default'),
  json: flag('print the result, or the list, as JSON'),
};

export type BookFlags = Omit<FlagsOf<typeof bookOptions>, 'output'> & { output: string };

/** The fields of the job request, under their JSON names. */
export function toFields(
  book: Book,
  chosen: readonly ChosenChapter[],
  { flags, format, voices }: { flags: BookFlags; format: FormatName; voices: Voices },
): Readonly<Record<string, unknown>> {
  const { metadata, cover } = toJobFields(book);
  const { ofBook, ofChapter } = parseVoices(flags.voice ?? [], book.chapters.length);
  const speakers = parseSpeakers(flags.speaker ?? []);
  const texts = chosen.map(({ text }) => text);
  for (const name of silentSpeakers(texts, speakers))
    process.stderr.write(`sonant: warning: --speaker ${name}: no line of the chapters begins with "${name}:"\n`);
  const { voiceId, languageCode } = chooseSpeech(voices, {
    voice: ofBook,
    language: flags.language,
    bookLanguage: book.language,
  });
  const chapters = chosen.flatMap(({ title, text, number }) =>
    withSpeakers(text, speakers).map((said, n) => ({
      title: n === 0 ? title : `${title} (${n + 1})`,
      text: said,
      ...(ofChapter.has(number) && { voice_id: ofChapter.get(number) }),
    })),
  );
  return {
    ...speechFieldsOf(flags),
    voice_id: voiceId,
    language_code: languageCode,
    markup: speakers.size > 0 ? 'ssml' : undefined,
    output_format: format,
    chapter_gap_seconds: flags.gap === undefined ? undefined : Number(flags.gap),
    captions: flags.captions?.flatMap((kinds) => kinds.split(',')),
    metadata,
    cover: cover && Buffer.from(cover).toString('base64'),
    chapters,
  };
}

/** Uses the book's language only if the given voice speaks it or, without a given voice, if any voice speaks it. */
function chooseSpeech(
  voices: Voices,
  { voice, language, bookLanguage }: { voice: string | undefined; language: string | undefined; bookLanguage: string },
): { voiceId: string; languageCode: string | undefined } {
  if (voice !== undefined && language !== undefined) return { voiceId: voice, languageCode: language };
  const listReady = () => voices.list().filter(({ status, bindings }) => status === 'ready' && bindings.length > 0);
  const found = voice === undefined ? listReady() : [voices.usableBy({ usesAllVoices: true }).find(voice)];
  const able = found.map((each) => each.voice);
  const isWanted = bookLanguage !== '' && able.some((each) => isSpokenBy(each, bookLanguage));
  const wanted = language ?? (isWanted ? bookLanguage : undefined);
  const code = wanted === undefined || wanted === speechFields.autoLanguage ? undefined : toLanguageCode(wanted);
  const chosen = able.find((each) => voice !== undefined || code === undefined || isSpokenBy(each, code));
  if (!chosen) throw new UsageError(`no voice speaks ${language}; sonant voice list prints the languages`);
  return { voiceId: voice ?? chosen.voiceId, languageCode: wanted ?? chosen.languageCodes[0] };
}

const flagOf = (field: string): string => {
  const own = { chapter_gap_seconds: '--gap', captions: '--captions' }[field.replace(/\[.*/, '')];
  return own ?? flagOfField(field) ?? field;
};

/** Reports invalid fields of the job under the names of their flags. */
export const checkFlags = <T>(check: () => Promise<T>): Promise<T> => withSpeechFlags(flagOf, check);

/** A chapter with its number in the book. Numbers start at 1. */
interface ChosenChapter extends BookChapter {
  number: number;
}

/** Chooses chapters by the flags `--skip` (parts) and `--chapters` (numbers and ranges). */
export function chooseChapters(
  chapters: readonly BookChapter[],
  { skip, numbers }: { skip: string | undefined; numbers: string | undefined },
): ChosenChapter[] {
  const skipped = parseParts(skip);
  const wanted = numbers === undefined ? undefined : parseNumbers('--chapters', numbers, chapters.length);
  const chosen = chapters
    .map((chapter, n) => ({ ...chapter, number: n + 1 }))
    .filter(({ part, number }) => !skipped.includes(part) && (wanted === undefined || wanted.has(number)));
  if (chosen.length === 0) throw new UsageError('no chapter is left to speak; --list prints the chapters');
  return chosen;
}

function parseParts(given: string | undefined) {
  return (given ?? '').split(',').flatMap((name) => {
    const part = bookParts.find((each) => each === name.trim());
    if (!part && name.trim() !== '') throw new UsageError(`--skip ${name}: must be one of ${bookParts.join(', ')}`);
    return part ?? [];
  });
}

/** Parses numbers and ranges such as "3-7,9". */
function parseNumbers(flag: string, given: string, count: number): Set<number> {
  const numbers = new Set<number>();
  for (const range of given.split(',')) {
    const [, from, dash, to] = /^\s*(\d{1,5})?\s*(-)?\s*(\d{1,5})?\s*$/.exec(range) ?? [];
    if (from === undefined && to === undefined)
      throw new UsageError(`${flag} ${given}: must be numbers of chapters, such as 3-7,9`);
    const first = Number(from ?? 1);
    const last = dash ? Number(to ?? count) : first;
    if (first < 1 || last > count || first > last)
      throw new UsageError(`${flag} ${range}: the book has chapters 1 to ${count}; --list prints them`);
    for (let number = first; number <= last; number++) numbers.add(number);
  }
  return numbers;
}

/** `--voice amy` is the voice of the book, `--voice 3=bob` and `--voice 5-7=bob` are voices of single chapters. */
export function parseVoices(given: readonly string[], count: number) {
  const ofChapter = new Map<number, string>();
  let ofBook: string | undefined;
  for (const each of given) {
    const [, numbers, voice] = /^([\d\s,-]+)=(.+)$/.exec(each) ?? [];
    if (voice === undefined) ofBook = each;
    else for (const number of parseNumbers('--voice', numbers!, count)) ofChapter.set(number, voice);
  }
  return { ofBook, ofChapter };
}

const toListed = ({ number, part, text, title }: ChosenChapter) => ({ number, part, chars: countChars(text), title });

export const listChaptersAsJson = (chapters: readonly ChosenChapter[]): string =>
  JSON.stringify(chapters.map(toListed), null, 2);

export function listChapters(chapters: readonly ChosenChapter[]): string {
  const rows = chapters.map(toListed).map(({ number, part, chars, title }) => [`${number}`, part, `${chars}`, title]);
  return formatTable([['NUMBER', 'PART', 'CHARACTERS', 'TITLE'], ...rows]);
}

/** Voices by the speaker's name in upper case. */
type Speakers = ReadonlyMap<string, string>;

/** Parses NAME=VOICE. */
export function parseSpeakers(given: readonly string[]): Speakers {
  return new Map(
    given.map((each) => {
      const at = each.indexOf('=');
      if (at < 1 || at === each.length - 1) throw new UsageError(`--speaker ${each}: must be NAME=VOICE`);
      return [each.slice(0, at).trim().toUpperCase(), each.slice(at + 1).trim()];
    }),
  );
}

/** Maximum number of characters in an SSML document. A longer chapter becomes several documents. */
const documentCharsMax = 45_000;

/**
 * Converts a chapter to SSML: a line that begins with a speaker's name ("ANNA: Who is there?") gets that speaker's
 * voice, and paragraphs are separated by pauses. Returns the text unchanged if no speaker has a line.
 */
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

/** The speakers who have no line in the texts. */
export function silentSpeakers(texts: readonly string[], speakers: Speakers): string[] {
  const lines = texts.flatMap((text) => text.split('\n').map((line) => nameOf(line).name));
  return [...speakers.keys()].filter((name) => !lines.includes(name));
}

function toLine(line: string, speakers: Speakers) {
  const { whole, name } = nameOf(line);
  const voice = speakers.get(name);
  return voice === undefined ? { voice, text: line } : { voice, text: line.slice(whole.length) };
}

/** The speaker's name at the start of a line, in upper case, and the text up to and including the colon. */
function nameOf(line: string): { whole: string; name: string } {
  const [whole = '', name = ''] = /^\s*([\p{L}\p{N}][\p{L}\p{N} .'’-]{0,60}?)\s*:\s+/u.exec(line) ?? [];
  return { whole, name: name.toUpperCase() };
}

const toMarkup = ({ voice, text }: ReturnType<typeof toLine>): string =>
  voice === undefined ? toXml(text) : `<voice name="${toXml(voice)}">${toXml(text)}</voice>`;
