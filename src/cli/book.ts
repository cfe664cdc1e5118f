// `sonant book`: speaks a book into one file with chapter marks, cover and metadata. Finished segments are kept beside
// the file until the file is complete, so that the same command can resume after an interruption.
import { bookOptions, chooseChapters, listChapters, listChaptersAsJson } from './book-request.ts';
import { type Command, type CommandLine, onlyArgument, parseCommandArgs, UsageError } from './command.ts';
import { readLocalBook, speakLocally } from './local-book.ts';
import { toDuration } from './progress.ts';
import { readBookFile, readServedBook, type Served, speakAtService } from './served-book.ts';
import { createServiceClient, findServiceKey, parseServiceUrl } from './service-client.ts';

const usage = 'sonant book FILE -o FILE';

export const bookCommand: Command = {
  name: 'book',
  summary: 'speak a book into one file with chapter marks',
  beforeVoice: ['--voice', '-v'],
  examples: [
    'sonant book story.epub --list',
    'sonant book story.epub -o story.mp3 --voice clara --skip front,notes',
    'sonant book play.md -o play.opus --speaker ANNA=clara --captions srt',
  ],
  options: bookOptions,
  usage: () => `Usage: sonant book FILE -o FILE [options]
       sonant book FILE --list
       sonant book FILE -o FILE --server URL [--key KEY] [options]

Speaks a book (plain text, Markdown, HTML or EPUB) into one audio file with chapter marks, cover, title and author. Finished
chapters are stored in FILE.work until the file is complete: after an interruption, run the same command to resume. With
--server, a running service speaks the book as a job, which continues if the command is interrupted.`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({ args: line.args, options: bookOptions, allowPositionals: true });
    const path = onlyArgument(positionals, usage);
    const { server, key, list, json, ...flags } = values;
    if (key !== undefined && server === undefined) throw new UsageError('--key needs --server URL');
    if (!list && !flags.output) throw new UsageError(`name an audio file: ${usage}`);
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
    const { length: count } = made.chapters;
    if (json) line.print(JSON.stringify(made, null, 2));
    else line.print(`${output}: ${toDuration(made.seconds)}, ${count} ${count === 1 ? 'chapter' : 'chapters'}`);
    return 0;
  },
};

async function openService(server: string, key: string | undefined, line: CommandLine): Promise<Served> {
  const url = parseServiceUrl(server);
  const { signal } = line;
  return { client: createServiceClient(url, await findServiceKey(key, url, line), signal), signal };
}
