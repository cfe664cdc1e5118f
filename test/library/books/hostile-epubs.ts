// Provides encrypted and mislabelled EPUBs: each with its name and its files.
import { chapterPage, type Files } from './epub-writer.ts';
import { good } from './good-epub.ts';

const encryption = (algorithm: string, uri: string) =>
  `<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:EncryptionMethod Algorithm="${algorithm}"/><enc:CipherData><enc:CipherReference URI="${uri}"/></enc:CipherData></enc:EncryptedData></encryption>`;

export const hostileEpubs: readonly (readonly [shape: string, files: () => Files])[] = [
  [
    'encrypted by DRM',
    () => ({
      ...good,
      'META-INF/encryption.xml': encryption('http://www.w3.org/2001/04/xmlenc#aes128-cbc', 'OEBPS/1.xhtml'),
      'META-INF/rights.xml': '<rights/>',
    }),
  ],
  [
    'an obfuscated font',
    () => ({
      ...good,
      'META-INF/encryption.xml': encryption('http://www.idpf.org/2008/embedding', 'OEBPS/font.otf'),
      'OEBPS/font.otf': Buffer.alloc(2_000, 9),
    }),
  ],
  ['an encrypted zip', () => ({ ...good, 'OEBPS/2.xhtml': { content: chapterPage(2), flags: 1 } })],
  ['a bomb in a chapter', () => ({ ...good, 'OEBPS/2.xhtml': Buffer.alloc(30 << 20, 0x61) })],
  ['a bomb larger than a chapter may be', () => ({ ...good, 'OEBPS/2.xhtml': Buffer.alloc(40 << 20, 0x61) })],
  [
    'a bomb that states another size',
    () => ({ ...good, 'OEBPS/2.xhtml': { content: Buffer.alloc(20 << 20, 0x61), bytes: 900_000 } }),
  ],
  [
    'a chapter that unpacks to other bytes',
    () => ({ ...good, 'OEBPS/2.xhtml': { content: chapterPage(2), bytes: 9 } }),
  ],
];
