// A text as the chunks of a stream, none longer than the service takes: whole paragraphs together where they fit, else cut
// at sentences, at spaces, or where it must be. Lengths are Unicode code points, places are indices of the text.

/** What the service takes: of one chunk, and of all together. */
export const chunkCharsMax = 5_000;
export const textCharsMax = 50_000;

/** Where one sentence ends: at the space behind it, or, in scripts that put none there, right behind its stop. */
const sentenceEnd = /(?<=[.!?…。！？]["'”’)]*)\s+|(?<=[。！？][”’」』）]?)(?![\s。！？”’」』）])/g;

/** @typedef {{ text: string, from: number }} Chunk */

/** @param {string} text */
export function countChars(text) {
  let count = text.length;
  for (let i = 0; i < text.length; i++) if (isPair(text, i)) count--;
  return count;
}

/**
 * @param {string} text
 * @param {number} at
 */
const isPair = (text, at) => {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
};

/**
 * @param {string} text
 * @returns {Chunk[]}
 */
export function toChunks(text) {
  if (countChars(text) <= chunkCharsMax) return text.trim() === '' ? [] : [{ text, from: 0 }];
  const pieces = cut(text, [/\n\s*\n/g, sentenceEnd, /\s+/g]);
  /** @type {Chunk[]} */
  const chunks = [];
  let from = 0;
  let length = 0;
  let at = 0;
  const close = () => {
    const chunk = text.slice(from, at);
    if (chunk.trim() !== '') chunks.push({ text: chunk, from });
    from = at;
    length = 0;
  };
  for (const piece of pieces) {
    const chars = countChars(piece);
    if (length + chars > chunkCharsMax) close();
    length += chars;
    at += piece.length;
  }
  close();
  return chunks;
}

/**
 * Pieces that make up the text and fit into a chunk: cut at the first of the marks, and at the next where that is not enough.
 * @param {string} text
 * @param {readonly RegExp[]} marks
 * @returns {string[]}
 */
function cut(text, [mark, ...finer]) {
  if (countChars(text) <= chunkCharsMax) return [text];
  if (!mark) return cutHard(text);
  const ends = [...text.matchAll(mark)].map(({ 0: found, index }) => index + found.length);
  const pieces = [...ends, text.length].map((end, i) => text.slice(ends[i - 1] ?? 0, end));
  return pieces.flatMap((piece) => cut(piece, finer));
}

/** @param {string} text */
function cutHard(text) {
  const pieces = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + chunkCharsMax, text.length);
    if (isPair(text, to - 1)) to--;
    pieces.push(text.slice(from, to));
    from = to;
  }
  return pieces;
}

/**
 * Finds the index of a place that is told in code points. Places are best asked for in their order.
 * @param {string} text
 */
export function createIndexOf(text) {
  let index = 0;
  let passed = 0;
  /** @param {number} chars */
  return (chars) => {
    if (chars < passed) index = passed = 0;
    for (; passed < chars && index < text.length; passed++) index += isPair(text, index) ? 2 : 1;
    return index;
  };
}
