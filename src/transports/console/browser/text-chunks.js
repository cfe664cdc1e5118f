// Splits a text into chunks within the API's limit: at paragraphs if possible, else at sentences, spaces, or the limit.
// Lengths are in Unicode code points, offsets are string indices (UTF-16).

import { markupOf } from './markup-kind.js';

/** API limits in code points, for one chunk and for all chunks together. */
const chunkCharsMax = 5_000;
export const textCharsMax = 50_000;

/** Matches the space after a sentence or, in scripts without spaces, the position after its full stop. */
const sentenceEnd = /(?<=[.!?…。！？]["'”’)]*)\s+|(?<=[。！？][”’」』）]?)(?![\s。！？”’」』）])/g;

/** @typedef {{ text: string, from: number }} Chunk */

/** @param {string} text */
export function countChars(text) {
  let count = text.length;
  for (let i = 0; i < text.length; i++) if (isSurrogatePair(text, i)) count--;
  return count;
}

/**
 * @param {string} text
 * @param {number} at
 */
const isSurrogatePair = (text, at) => {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
};

/**
 * @param {string} text
 * @returns {Chunk[]}
 */
export function toChunks(text) {
  // An SSML document is never split.
  if (countChars(text) <= chunkCharsMax || markupOf(text) === 'ssml')
    return text.trim() === '' ? [] : [{ text, from: 0 }];
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
 * Cuts the text at the first separator. Cuts pieces that are still too long for a chunk at the next separators, and
 * finally at the limit.
 * @param {string} text
 * @param {readonly RegExp[]} separators
 * @returns {string[]}
 */
function cut(text, [separator, ...finer]) {
  if (countChars(text) <= chunkCharsMax) return [text];
  if (!separator) return cutAtLimit(text);
  const ends = [...text.matchAll(separator)].map(({ 0: found, index }) => index + found.length);
  const pieces = [...ends, text.length].map((end, i) => text.slice(ends[i - 1] ?? 0, end));
  return pieces.flatMap((piece) => cut(piece, finer));
}

/** @param {string} text */
function cutAtLimit(text) {
  const pieces = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + chunkCharsMax, text.length);
    if (isSurrogatePair(text, to - 1)) to--;
    pieces.push(text.slice(from, to));
    from = to;
  }
  return pieces;
}

/**
 * Returns a function that converts an offset in code points to a string index. Ascending offsets are fastest.
 * @param {string} text
 */
export function createIndexOf(text) {
  let index = 0;
  let passed = 0;
  /** @param {number} chars */
  return (chars) => {
    if (chars < passed) index = passed = 0;
    for (; passed < chars && index < text.length; passed++) index += isSurrogatePair(text, index) ? 2 : 1;
    return index;
  };
}
