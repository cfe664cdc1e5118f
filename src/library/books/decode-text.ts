// Decodes the text of a book. The charset comes from a byte order mark, else from the sender, else from the document
// itself. Without any of these, the text is UTF-8, or Windows-1252 if it is not valid UTF-8.

const searchedBytes = 1_024;

/** Decodes bytes. `stated` is the charset of a Content-Type. */
export function decodeText(bytes: Uint8Array, stated?: string): string {
  const label = markedCharset(bytes) ?? known(stated) ?? known(declaredCharset(bytes)) ?? 'utf-8';
  const decoder = new TextDecoder(label, { fatal: label === 'utf-8' });
  try {
    return decoder.decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

/** Whether a charset of this name exists. */
export const isCharset = (label: string): boolean => known(label) !== undefined;

/** The charset that the first bytes show; undefined if they show none. */
export function markedCharset(bytes: Uint8Array): string | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  // A UTF-16 document without a byte order mark begins with "<", as in "<?xml" or "<html".
  if (first === 0x3c && second === 0) return 'utf-16le';
  if (first === 0 && second === 0x3c) return 'utf-16be';
  return undefined;
}

/** Reads the charset from the XML declaration or a `meta` element. */
function declaredCharset(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, searchedBytes)).toString('latin1');
  const declared =
    /^\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]{1,40})["']/i.exec(head)?.[1] ??
    /<meta[^>]{0,200}?\bcharset\s*=\s*["']?([\w.:-]{1,40})/i.exec(head)?.[1];
  // The declaration is readable as single bytes, so the text cannot be UTF-16.
  return declared && /^utf-?16/i.test(declared) ? 'utf-8' : declared;
}

/** The encoding's standard name; undefined if there is no such encoding. */
function known(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}
