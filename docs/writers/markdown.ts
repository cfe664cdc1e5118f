// Pieces of Markdown, as GitHub reads it.

export const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ').replaceAll('<', '&lt;');

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  if (rows.length === 0) return 'It has no members.';
  const line = (cells: readonly string[]) => `| ${cells.map((text) => text.replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
};

export const fence = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;

/** Where GitHub puts a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
