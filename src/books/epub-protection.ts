// Finds out whether the text of an EPUB is encrypted, as copy protection does (https://www.w3.org/TR/epub-33/#sec-encryption.xml).
// Fonts that are only obfuscated are no obstacle: they are not read.
import { BookFault } from './book-fault.ts';
import { decodeText } from './decode-text.ts';
import type { BookArchive } from './epub-archive.ts';
import { findAll, parseMarkup } from './markup-tree.ts';

const obfuscations = new Set(['http://www.idpf.org/2008/embedding', 'http://ns.adobe.com/pdf/enc#RC']);
const protectedFile = /\.(x?html?|xml|opf|ncx|css)$/i;

export async function checkUnprotected(archive: BookArchive): Promise<void> {
  const path = archive.find('META-INF/encryption.xml');
  if (path === undefined) return;
  const root = parseMarkup(decodeText(await archive.read(path)), 'xml');
  for (const data of findAll(root, 'encrypteddata')) {
    const algorithm = [...findAll(data, 'encryptionmethod')][0]?.attributes.algorithm ?? '';
    if (obfuscations.has(algorithm)) continue;
    const targets = [...findAll(data, 'cipherreference')].map(({ attributes }) => attributes.uri ?? '');
    if (targets.length === 0 || targets.some((target) => protectedFile.test(target)))
      throw new BookFault(
        'encrypted',
        `is protected against copying (DRM)${nameProtection(archive)}: its text cannot be read`,
      );
  }
}

function nameProtection(archive: BookArchive): string {
  const has = (path: string) => archive.paths.includes(`META-INF/${path}`);
  if (has('license.lcpl')) return ' by Readium LCP';
  if (has('sinf.xml')) return ' by Apple FairPlay';
  return has('rights.xml') ? ' by Adobe ADEPT' : '';
}
