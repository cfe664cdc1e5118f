// The text that eSpeak NG is given, without what it would execute instead of speaking, and the way back from its positions
// to those of the segment.

/**
 * Removes what eSpeak NG would execute: control characters (\1 starts a command, \0 ends the text) and phonemes in double
 * brackets.
 */
export const toPlainText = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .replace(/\[(?=\[)/g, '[ ')
    .trim();

const isControl = (char: string): boolean => /[\u0000-\u001f\u007f-\u009f]/.test(char);

/** For each code point of the plain text, the index in the text where it comes from. */
export function toSourceIndices(text: string, plain: string): number[] {
  const source = text.toWellFormed();
  const indices: number[] = [];
  let at = 0;
  while (at < source.length && (isControl(source[at]!) || source[at]!.trim() === '')) at++;
  for (const char of plain) {
    indices.push(at);
    if (source.startsWith(char, at)) at += char.length;
    // A space is in place of all control characters in a row, or was put between two brackets.
    else while (at < source.length && isControl(source[at]!)) at++;
  }
  return indices;
}
