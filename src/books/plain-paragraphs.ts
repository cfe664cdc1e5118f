// Splits a plain text into paragraphs: at empty lines, or, in a text without them, at the end of each line. Lines that were
// broken at a column are joined; those of verse are kept.

export interface PlainParagraph {
  /** Without indents. */
  lines: string[];
  /** Empty lines before it. */
  blankBefore: number;
}

/** A text is wrapped at 60 to 80 columns. */
const wrappedCharsMin = 45;
const wrappedCharsMax = 100;

export function readPlainParagraphs(source: string): PlainParagraph[] {
  const lines = source.split(/\r\n?|[\n\f\u0085\u2028\u2029]/);
  const isSpaced = hasBlankLines(lines);
  const paragraphs: PlainParagraph[] = [];
  let blankBefore = 0;
  let isOpen = false;
  for (const line of lines) {
    const text = line.replace(/\s+/g, ' ').trim();
    if (text === '') {
      blankBefore++;
      isOpen = false;
    } else if (isOpen && isSpaced) paragraphs.at(-1)!.lines.push(text);
    else {
      paragraphs.push({ lines: [text], blankBefore });
      blankBefore = 0;
      isOpen = true;
    }
  }
  return paragraphs;
}

/** Whether empty lines separate paragraphs: elsewhere each line is one, with an empty line at most between chapters. */
function hasBlankLines(lines: readonly string[]): boolean {
  const blank = lines.filter((line) => line.trim() === '').length;
  const long = lines.filter((line) => line.length > wrappedCharsMax).length;
  return blank > 0 && (blank * 20 > lines.length || long * 10 < lines.length);
}

export function joinLines({ lines }: PlainParagraph): string {
  const isWrapped = lines.slice(0, -1).every(({ length }) => length >= wrappedCharsMin);
  return lines.join(isWrapped ? ' ' : '\n');
}
