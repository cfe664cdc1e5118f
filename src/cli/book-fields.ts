// The request for a job that a book and the flags of `sonant book` make.
import { toJobFields } from '../api/books.ts';
import type { FormatName } from '../audio/formats.ts';
import type { Book, BookChapter } from '../books/book.ts';
import { autoLanguage } from '../speech/fields.ts';
import { isSpokenBy, type Voices, voicesFor } from '../speech/voice.ts';
import { toLanguageCode } from '../text/language-code.ts';
import { type ChosenChapter, parseVoices } from './book-chapters.ts';
import { parseSpeakers, silentSpeakers, withSpeakers } from './book-speakers.ts';
import { UsageError, withSpeechFlags } from './command.ts';

/** A book as a job takes it, read here or by a service. */
export interface JobBook {
  language: string;
  chapters: readonly BookChapter[];
  metadata: Readonly<Record<string, string>>;
  /** In base64. */
  cover: string | undefined;
}

export const toJobBook = (book: Book): JobBook => ({
  language: book.language,
  chapters: book.chapters,
  ...toJobFields(book),
});

export interface SpeakingVoice {
  voiceId: string;
  languageCodes: readonly string[];
}

/** The voices that may speak the book. */
export interface BookVoices {
  /** Those that can, the default one first. */
  list(): Promise<readonly SpeakingVoice[]>;
  /** By id or alias. */
  find(voiceId: string): Promise<SpeakingVoice>;
}

export const voicesHere = (voices: Voices): BookVoices => ({
  list: async () =>
    voices
      .list()
      .filter(({ status, bindings }) => status === 'ready' && bindings.length > 0)
      .map(({ voice }) => voice),
  find: async (voiceId) => voicesFor(voices, { usesAllVoices: true }).find(voiceId).voice,
});

export interface BookFlags {
  voice?: string[] | undefined;
  speaker?: string[] | undefined;
  language?: string | undefined;
  'sample-rate'?: string | undefined;
  'speaking-rate'?: string | undefined;
  gap?: string | undefined;
  captions?: string[] | undefined;
}

interface Choices {
  flags: BookFlags;
  format: FormatName;
  voices: BookVoices;
}

/** The fields of the job, under their JSON names. */
export async function toFields(
  book: JobBook,
  chosen: readonly ChosenChapter[],
  { flags, format, voices }: Choices,
): Promise<Readonly<Record<string, unknown>>> {
  const toNumber = (given: string | undefined) => (given === undefined ? undefined : Number(given));
  const { usual, ofChapter } = parseVoices(flags.voice ?? [], book.chapters.length);
  const speakers = parseSpeakers(flags.speaker ?? []);
  const texts = chosen.map(({ text }) => text);
  for (const name of silentSpeakers(texts, speakers))
    process.stderr.write(`sonant: --speaker ${name}: no line of the chapters begins with "${name}:"\n`);
  const { voiceId, languageCode } = await chooseSpeech(voices, {
    voice: usual,
    language: flags.language,
    ofBook: book.language,
  });
  const chapters = chosen.flatMap(({ title, text, number }) =>
    withSpeakers(text, speakers).map((said, n) => ({
      title: n === 0 ? title : `${title} (${n + 1})`,
      text: said,
      ...(ofChapter.has(number) && { voice_id: ofChapter.get(number) }),
    })),
  );
  return {
    voice_id: voiceId,
    language_code: languageCode,
    markup: speakers.size > 0 ? 'ssml' : undefined,
    output_format: format,
    sample_rate: toNumber(flags['sample-rate']),
    speaking_rate: toNumber(flags['speaking-rate']),
    chapter_gap_seconds: toNumber(flags.gap),
    captions: flags.captions?.flatMap((kinds) => kinds.split(',')),
    metadata: book.metadata,
    cover: book.cover,
    chapters,
  };
}

/** The language of the book counts where some voice, or the one that is named, speaks it. */
async function chooseSpeech(
  voices: BookVoices,
  { voice, language, ofBook }: { voice: string | undefined; language: string | undefined; ofBook: string },
): Promise<{ voiceId: string; languageCode: string | undefined }> {
  if (voice !== undefined && language !== undefined) return { voiceId: voice, languageCode: language };
  const able = voice === undefined ? await voices.list() : [await voices.find(voice)];
  const isWanted = ofBook !== '' && able.some((each) => isSpokenBy(each, ofBook));
  const wanted = language ?? (isWanted ? ofBook : undefined);
  const code = wanted === undefined || wanted === autoLanguage ? undefined : toLanguageCode(wanted);
  const chosen = able.find((each) => voice !== undefined || code === undefined || isSpokenBy(each, code));
  if (!chosen) throw new UsageError(`no voice speaks ${language}; sonant voice list prints the languages`);
  return { voiceId: voice ?? chosen.voiceId, languageCode: wanted ?? chosen.languageCodes[0] };
}

const flagOf = (field: string): string =>
  ({
    voice_id: '--voice',
    language_code: '--language',
    output_format: '--format',
    sample_rate: '--sample-rate',
    speaking_rate: '--speaking-rate',
    chapter_gap_seconds: '--gap',
    captions: '--captions',
  })[field] ?? field;

/** Reports faults of the job under the names of the flags that it was made from. */
export const checkFlags = <T>(check: () => Promise<T>): Promise<T> => withSpeechFlags(flagOf, check);
