// Writes EPUBs for tests, file by file, so that every fault of real books can be reproduced. All text is generated.
import { crc32, deflateSync } from 'node:zlib';
import { writeZip, type ZipEntry } from '../../platform/archives/archive-writer.ts';

export const container = (path = 'OEBPS/content.opf'): string =>
  `<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="${path}" media-type="application/oebps-package+xml"/></rootfiles></container>`;

export interface PackageParts {
  metadata?: string;
  /** Items as id=href. The prefix "*" marks an item outside the spine, "-" an item that is not linear. */
  items: readonly string[];
  /** Further items of the manifest, and attributes of the spine. */
  manifest?: string;
  spine?: string;
  hasSpine?: boolean;
  guide?: string;
  version?: string;
}

const mediaTypeOf = (href: string): string => {
  if (/\.(png|jpg)$/.test(href)) return href.endsWith('png') ? 'image/png' : 'image/jpeg';
  return href.endsWith('.ncx') ? 'application/x-dtbncx+xml' : 'application/xhtml+xml';
};

export function opf({
  metadata = '',
  items,
  manifest = '',
  spine = '',
  hasSpine = true,
  guide = '',
  version = '3.0',
}: PackageParts) {
  const rows = items.map((item) => {
    const [, sign = '', id = '', href = ''] = /^([*-]?)([^=]+)=(.*)$/.exec(item)!;
    return { sign, id, href };
  });
  const listed = rows.map(({ id, href }) => `<item id="${id}" href="${href}" media-type="${mediaTypeOf(href)}"/>`);
  const ordered = rows
    .filter(({ sign }) => sign !== '*')
    .map(({ sign, id }) => `<itemref idref="${id}"${sign === '-' ? ' linear="no"' : ''}/>`);
  return `<?xml version="1.0" encoding="utf-8"?><package xmlns="http://www.idpf.org/2007/opf" version="${version}" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:opf="http://www.idpf.org/2007/opf"><dc:title>The Lighthouse Ledger</dc:title><dc:creator>Mara Quill</dc:creator><dc:language>en-GB</dc:language>${metadata}</metadata>
<manifest>${listed.join('')}${manifest}</manifest>
${hasSpine ? `<spine ${spine}>${ordered.join('')}</spine>` : ''}${guide && `<guide>${guide}</guide>`}</package>`;
}

export const page = (body: string, attributes = ''): string =>
  `<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>The Lighthouse Ledger</title></head><body ${attributes}>${body}</body></html>`;

/** Title, target and nested entries, as lists. */
export type Entry = readonly [title: string, href: string, children?: readonly Entry[]];

const navList = (entries: readonly Entry[]): string =>
  `<ol>${entries
    .map(
      ([title, href, below]) =>
        `<li>${href ? `<a href="${href}">${title}</a>` : `<span>${title}</span>`}${below ? navList(below) : ''}</li>`,
    )
    .join('')}</ol>`;

export const nav = (
  entries: readonly Entry[],
  landmarks: readonly (readonly [type: string, href: string])[] = [],
): string =>
  page(
    `<nav epub:type="toc"><h1>Contents</h1>${navList(entries)}</nav>${
      landmarks.length > 0
        ? `<nav epub:type="landmarks" hidden=""><ol>${landmarks.map(([type, href]) => `<li><a epub:type="${type}" href="${href}">${type}</a></li>`).join('')}</ol></nav>`
        : ''
    }`,
  );

export const ncx = (entries: readonly Entry[]): string => {
  const points = (below: readonly Entry[]): string =>
    below
      .map(
        ([title, href, children = []]) =>
          `<navPoint><navLabel><text>${title}</text></navLabel><content src="${href}"/>${points(children)}</navPoint>`,
      )
      .join('');
  return `<?xml version="1.0"?><ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1"><navMap>${points(entries)}</navMap></ncx>`;
};

const things = ['lamp', 'ledger', 'harbour', 'keeper', 'gull', 'storm', 'letter', 'boat', 'stair', 'window'];
const deeds = ['waited for', 'remembered', 'turned towards', 'wrote about', 'lost', 'mended'];

/** Meaningless sentences, the same for the same seed. */
export function prose(seed: number, sentences = 6): string {
  return Array.from({ length: sentences }, (_, n) => {
    const at = seed * 7 + n * 3;
    return `The ${things[at % 10]} ${deeds[at % 6]} the ${things[(at + 4) % 10]} on day ${seed * 100 + n}.`;
  }).join(' ');
}

export const chapterPage = (n: number, title = `Chapter ${n}`, attributes = ''): string =>
  page(`<h2 id="c${n}">${title}</h2><p>${prose(n)}</p><p>${prose(n + 50)}</p>`, attributes);

export type Files = Readonly<Record<string, string | Uint8Array | Partial<ZipEntry>>>;

/** Adds the mandatory first file of an EPUB, unless it is given. */
export function writeEpub(files: Files): Buffer {
  const entries = Object.entries(files).map(([name, content]): ZipEntry => {
    if (typeof content === 'string' || content instanceof Uint8Array) return { name, content };
    return { name, ...content };
  });
  const mimetype: ZipEntry = { name: 'mimetype', content: 'application/epub+zip', isStored: true };
  return writeZip(files.mimetype === undefined ? [mimetype, ...entries] : entries);
}

/** A grey picture of one pixel. */
export function pngOf(): Buffer {
  const chunk = (type: string, content: Uint8Array) => {
    const named = Buffer.concat([Buffer.from(type, 'latin1'), content]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(content.length);
    sum.writeUInt32BE(crc32(named));
    return Buffer.concat([length, named, sum]);
  };
  const header = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
  const start = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  const pixels = deflateSync(Buffer.from([0, 128]));
  return Buffer.concat([start, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))]);
}
