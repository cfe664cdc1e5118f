// Finds code blocks in Markdown. The text after the three backticks decides how a block is run:
//     sh                        run in the order of the page, in one shell, so variables last until its end
//     python hello.py           saved under that name and run
//     sh serve                  started in another shell, and must report that it is serving; once for all pages
//     sh restart                the same, in place of the service that runs
//     sh needs ffmpeg           run if that program is installed (test/programs.ts lists missing ones)
//     sh not-run: needs Docker  shown only, for that reason; test/docs.test.ts counts them
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Program } from './programs.ts';

export const root = join(import.meta.dirname, '..');

export interface Block {
  /** Position of the block: "docs/streaming.md:17". */
  place: string;
  language: string;
  text: string;
  /** Name of the file that the block is saved as. */
  name: string | undefined;
  /** Whether the block starts the service, starts it again, or starts the site of an example. */
  serves: 'serve' | 'restart' | 'site' | undefined;
  needs: Program | undefined;
  /** Reason why the block is not run. */
  notRun: string | undefined;
}

/** The README first, then sorted by name. */
export const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: root }).sort(), 'CONTRIBUTING.md'];

export const readPage = (page: string): string => readFileSync(join(root, page), 'utf8');

export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  const lines = readPage(page).split('\n');
  for (let i = 0; i < lines.length; i++) {
    const [, fence, info] = /^(`{3,})(.*)$/.exec(lines[i]!) ?? [];
    if (fence === undefined) continue;
    const end = lines.indexOf(fence, i + 1);
    if (end < 0) throw new Error(`${page}:${i + 1} begins a block that does not end`);
    blocks.push({ place: `${page}:${i + 1}`, text: lines.slice(i + 1, end).join('\n'), ...wishOf(info!) });
    i = end;
  }
  return blocks;
}

function wishOf(info: string): Pick<Block, 'language' | 'name' | 'serves' | 'needs' | 'notRun'> {
  const [told, notRun] = info.split(/ not-run: /);
  const [language = '', ...words] = told!.split(' ');
  const needed = words.indexOf('needs');
  return {
    language,
    name: words.find((word) => word.includes('.')),
    serves: (['serve', 'restart'] as const).find((word) => words.includes(word)),
    needs: needed < 0 ? undefined : (words[needed + 1] as Program),
    notRun,
  };
}
