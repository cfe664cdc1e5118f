// Quotes a word of a command that is shown to the user, for a POSIX shell.

export const shellWord = (word: string): string =>
  /^[\w./:@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
