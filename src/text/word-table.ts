// Word lists and tables as text. A list has its words separated by white space; a table has rows "key words", separated
// by semicolons or line ends.

export const wordSet = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/));

export const wordTable = (rows: string): ReadonlyMap<string, string> =>
  new Map(rows.matchAll(/([^\s;]+) ([^;\n]+)/g).map(([, key, words]) => [key!, words!]));
