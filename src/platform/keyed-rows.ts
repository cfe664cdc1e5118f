// Tables in source code, written as rows of a key and its words.

/** Parses rows of "key = words", separated by semicolons or line ends; the words may be empty. */
export const toRows = (rows: string): (readonly [key: string, words: string])[] =>
  rows
    .split(/[;\n]/)
    .map((row) => row.trim().split(/ =(?: |$)/))
    .filter(([key]) => key !== '')
    .map(([key, words = '']) => [key!, words.trim()] as const);

/** Like `toRows`, but a row may have several keys, separated by spaces. Returns one row per key, with the same words. */
export const toRowsByKey = (rows: string): (readonly [key: string, words: string])[] =>
  toRows(rows).flatMap(([keys, words]) => keys.split(' ').map((key) => [key, words] as const));
