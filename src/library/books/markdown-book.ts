// Reads Markdown as a book: CommonMark and GitHub's tables. The library `marked` converts the text to HTML, which is
// read like other HTML. A YAML block before the text contains metadata, and footnotes become notes.
import { marked } from 'marked';
import { parse as parseYaml } from 'yaml';
import type { Book, BookMetadata } from './book.ts';
import { type ChapterOptions, toTitle } from './chapters.ts';
import { readDocument } from './document-reader.ts';
import { toBook } from './html-book.ts';

const frontMatterPattern = /^\ufeff?---[ \t]*\r?\n([\s\S]{0,65536}?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/;

export function readMarkdownBook(source: string, options: ChapterOptions): Book {
  const front = frontMatterPattern.exec(source);
  const stated = front ? readFrontMatter(front[1]!) : undefined;
  const body = stated ? source.slice(front![0].length) : source;
  const { text, notes } = takeFootnotes(body);
  const toHtml = (markdown: string): string => marked.parse(markdown, { async: false, gfm: true });
  const noted = notes.map((note) => `<div role="doc-footnote">${toHtml(note)}</div>`).join('\n');
  const book = toBook(readDocument(`${toHtml(text)}\n${noted}`, 'chapter'), options);
  if (!stated) return book;
  return {
    ...book,
    title: stated.title || book.title,
    author: stated.author || book.author,
    language: stated.language || book.language,
    metadata: { ...book.metadata, ...stated.metadata },
  };
}

/** Reads the metadata. Undefined if the lines are not a YAML mapping, but text between two horizontal rules. */
function readFrontMatter(yaml: string): Pick<Book, 'title' | 'author' | 'language' | 'metadata'> | undefined {
  const fields = parseMapping(yaml);
  if (!fields) return undefined;
  const value = (...names: string[]) => toTitle(names.map((name) => toText(fields[name])).find((text) => text) ?? '');
  const metadata: BookMetadata = {};
  for (const name of ['publisher', 'date', 'description', 'identifier', 'rights', 'series'] as const)
    if (value(name)) metadata[name] = value(name);
  return {
    title: value('title'),
    author: value('author', 'authors', 'creator'),
    language: value('language', 'lang'),
    metadata,
  };
}

function parseMapping(yaml: string): Readonly<Record<string, unknown>> | undefined {
  let parsed: unknown;
  try {
    parsed = parseYaml(yaml, { schema: 'failsafe', maxAliasCount: 0, logLevel: 'silent' });
  } catch {
    return undefined;
  }
  return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
    ? (parsed as Record<string, unknown>)
    : undefined;
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(toText).filter(Boolean).join(', ');
  if (typeof value === 'object' && value !== null) return toText((value as { name?: unknown }).name);
  return '';
}

const fencePattern = /^ {0,3}(`{3,}|~{3,})/;
const definitionPattern = /^ {0,3}\[\^([^\]\s]{1,80})\]:[ \t]*(.*)$/;

/** Extracts the footnotes: `[^1]` in the text and `[^1]: ...` below it. Fenced code is left unchanged. */
function takeFootnotes(source: string): { text: string; notes: string[] } {
  const kept: string[] = [];
  const notes: string[] = [];
  let fence = '';
  let isInNote = false;
  for (const line of source.split(/\r?\n/)) {
    const mark = fencePattern.exec(line)?.[1];
    if (fence === '') fence = mark ?? '';
    else if (mark?.startsWith(fence)) fence = '';
    const definition = fence === '' ? definitionPattern.exec(line) : null;
    if (definition) notes.push(definition[2]!);
    else if (isInNote && /^(?: {2,}|\t)\S/.test(line)) notes[notes.length - 1] += `\n${line.trim()}`;
    else kept.push(fence === '' ? line.replace(/(\S)\[\^[^\]\s]{1,80}\]/g, '$1') : line);
    isInNote = definition !== null || (isInNote && /^(?: {2,}|\t|\s*$)/.test(line));
  }
  return { text: kept.join('\n'), notes };
}
