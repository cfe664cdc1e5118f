// `sonant book`: speaks a book into one file with chapter marks, cover and metadata. What is spoken is kept beside the file
// until it is whole, so that an interrupted command goes on where it was when it is given again.
import { formatNames, outputSampleRatesHz } from '../audio/formats.ts';
import { captionKinds } from '../speech/fields.ts';
import { chooseChapters, listChapters, listChaptersAsJson } from './book-chapters.ts';
import { type Command, type CommandLine, onlyArgument, parseCommandArgs, UsageError } from './command.ts';
import { readLocalBook, speakLocally } from './local-book.ts';
import { readBookFile, readServedBook, type Served, speakAtService } from './served-book.ts';
import { findServiceKey, parseServiceUrl } from './service-address.ts';
import { createServiceClient } from './service-client.ts';

const options = {
  output: { type: 'string', short: 'o' },
  chapters: { type: 'string' },
  skip: { type: 'string' },
  list: { type: 'boolean' },
  voice: { type: 'string', short: 'v', multiple: true },
  speaker: { type: 'string', multiple: true },
  language: { type: 'string', short: 'l' },
  format: { type: 'string', short: 'f' },
  'sample-rate': { type: 'string' },
  'speaking-rate': { type: 'string' },
  gap: { type: 'string' },
  captions: { type: 'string', multiple: true },
  code: { type: 'boolean' },
  server: { type: 'string' },
  key: { type: 'string' },
  json: { type: 'boolean' },
} as const;

const usage = 'sonant book FILE -o FILE';

export const bookCommand: Command = {
  name: 'book',
  summary: 'speak a book into one file with chapter marks',
  options,
  choices: { format: formatNames, 'sample-rate': outputSampleRatesHz.map(String), captions: captionKinds },
  help: () => `Usage: sonant book FILE -o FILE [options]
       sonant book FILE --list
       sonant book FILE -o FILE --server URL [--key KEY] [options]

Speaks a book, which is plain text, Markdown, HTML or EPUB, into one file with chapter marks, its cover, its title and its
author. What is spoken is kept in FILE.work until the file is whole: the same command goes on where it was interrupted.
With --server, a running service speaks the book as a job, which goes on when the command is interrupted.

  -o, --output FILE          the sound file; its extension tells the format
      --list                 print the chapters with their numbers, and speak nothing
      --chapters NUMBERS     only these, such as 3-7,9 or 4-
      --skip PARTS           leave these out: front, notes, back, or several with commas between
  -v, --voice VOICE          the voice; 3=VOICE or 5-7=VOICE for some chapters, several times
      --speaker NAME=VOICE   lines that begin with "NAME:" are said by this voice, several times
  -l, --language CODE        the language; default: that of the book, if the voice speaks it
  -f, --format FORMAT        ${formatNames.join(', ')}; default: by the extension
      --sample-rate HZ       ${outputSampleRatesHz.join(', ')}
      --speaking-rate RATE   the tempo
      --gap SECONDS          silence between two chapters
      --captions KIND        also write captions beside the file: ${captionKinds.join(', ')}, or both with a comma between
      --code                 read blocks of code, which are left out otherwise
      --server URL           the service that speaks it, such as http://127.0.0.1:8080; its voices and its limits count
      --key KEY              its key; default: SONANT_API_KEY, else, for a service on this machine, the one in first-key
      --json                 print what was made, or the list, as JSON
`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({ args: line.args, options, allowPositionals: true });
    const path = onlyArgument(positionals, usage);
    const { server, key, list, json, ...flags } = values;
    if (key !== undefined && server === undefined) throw new UsageError('--key is for the service of --server URL');
    if (!list && !flags.output) throw new UsageError(`name a file for the sound: ${usage}`);
    const served = server === undefined ? undefined : await openService(server, key, line);
    if (list) {
      const readsCode = flags.code ?? false;
      const { chapters } = served
        ? await readServedBook(path, await readBookFile(path), { ...served, readsCode })
        : await readLocalBook(path, { readsCode, signal: line.signal });
      const chosen = chooseChapters(chapters, { skip: flags.skip, numbers: flags.chapters });
      line.print(json ? listChaptersAsJson(chosen) : listChapters(chosen));
      return 0;
    }
    const { output = '' } = flags;
    const made = served
      ? await speakAtService(path, { ...flags, output }, served)
      : await speakLocally(path, { ...flags, output }, line);
    if (json) line.print(JSON.stringify(made, null, 2));
    return 0;
  },
};

async function openService(server: string, key: string | undefined, line: CommandLine): Promise<Served> {
  const url = parseServiceUrl(server);
  const { signal } = line;
  return { client: createServiceClient(url, await findServiceKey(key, url, line), signal), signal };
}
