// Sticky patterns: they match at one index of a text only.

export const sticky = (source: string, flags = ''): RegExp => new RegExp(source, `yu${flags}`);

/** The match of a sticky pattern at `at`. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** The source of a pattern that matches a text as it is. */
export const toSource = (text: string): string => text.replace(/[.*+?^$()|[\]{}/\\]/g, String.raw`\$&`);
