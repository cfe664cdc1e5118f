// References from one file of an EPUB to another: a path, resolved in the folder of the file that has it, and a fragment.
import { decodePercent } from './epub-archive.ts';

export interface EpubReference {
  path: string;
  fragment: string;
}

/** `from` is the path of the file that refers. Undefined where it leads out of the book. */
export function resolveReference(from: string, href: string): EpubReference | undefined {
  const [, target = '', fragment = ''] = /^([^#]*)(?:#(.*))?$/s.exec(href.trim()) ?? [];
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return undefined;
  const plain = target.replace(/\?.*$/, '').replaceAll('\\', '/');
  const folder = plain.startsWith('/') ? [] : from.split('/').slice(0, -1);
  if (plain === '') return { path: from, fragment: decodePercent(fragment) };
  const parts = [...folder];
  for (const part of plain.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return { path: parts.join('/'), fragment: decodePercent(fragment) };
}
