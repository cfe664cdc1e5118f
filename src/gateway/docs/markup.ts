// Pieces of HTML that the pages of the reference are made of. Whatever comes in as text is escaped.

export const escaped = (text: unknown): string =>
  String(text).replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char]!);

/** A line of text, with `code` in backticks and [links](#to-here). */
export const phrase = (text: unknown): string =>
  escaped(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\[([^\]]+)\]\((#[\w-]+)\)/g, '<a href="$2">$1</a>');

/** Paragraphs, with empty lines between them. */
export const prose = (text: string): string =>
  text
    .split('\n\n')
    .map((paragraph) => `<p>${phrase(paragraph)}</p>`)
    .join('\n');

export interface MarkedField {
  name: string;
  /** Already marked up. */
  kind: string;
  isRequired?: boolean;
  more?: string;
  description: string;
}

export const fieldList = (fields: readonly MarkedField[]): string =>
  fields.length === 0
    ? ''
    : `<dl class="fields">\n${fields
        .map(({ name, kind, isRequired, more, description }) => {
          const needed = isRequired ? ' <b class="required">required</b>' : '';
          const limits = more ? `<p class="limits">${phrase(more)}</p>` : '';
          const told = description === '' ? '' : `<p>${phrase(description)}</p>`;
          return `<div><dt><code>${escaped(name)}</code> <span class="kind">${kind}</span>${needed}</dt><dd>${told}${limits}</dd></div>`;
        })
        .join('\n')}\n</dl>`;

/** Code to be copied: one click marks all of it. */
export const code = (title: string, text: string): string =>
  `<figure class="code"><figcaption>${escaped(title)}</figcaption><pre tabindex="0"><code>${escaped(text)}</code></pre></figure>`;
