// Provides 200 texts as language models write them, from model-texts.txt: lists, code, numbers, URLs, abbreviations,
// quotes, emoji and CJK. Also splits them into random pieces, which may end inside a word or a surrogate pair.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ModelText {
  /** Language of the text, for choosing a voice. */
  languageCode: string;
  text: string;
}

const pieceUnitsMax = 40;

const file = readFileSync(join(import.meta.dirname, 'model-texts.txt'), 'utf8');

export const modelTexts: readonly ModelText[] = [...file.matchAll(/^%% (\w+)\n([\s\S]*?)\n(?=%%|$(?![\s\S]))/gm)].map(
  ([, languageCode, text]) => ({ languageCode: languageCode!, text: text! }),
);

/** The text in pieces of 1 to 40 UTF-16 units. */
export function toPieces(text: string, random: () => number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += pieces.at(-1)!.length) {
    pieces.push(text.slice(at, at + 1 + Math.floor(random() * pieceUnitsMax)));
  }
  return pieces;
}
