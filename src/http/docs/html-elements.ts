// HTML building blocks of /docs. All text is escaped.

export const escaped = (text: unknown): string =>
  String(text).replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char]!);

/** Renders one line of Markdown with `code` spans and [links](#fragment). */
export const phrase = (text: unknown): string =>
  escaped(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\[([^\]]+)\]\((#[\w-]+)\)/g, '<a href="$2">$1</a>');

/** Renders Markdown paragraphs, separated by empty lines. */
export const prose = (text: string): string =>
  text
    .split('\n\n')
    .map((paragraph) => `<p>${phrase(paragraph)}</p>`)
    .join('\n');

interface FieldEntry {
  name: string;
  /** The type as HTML. */
  kind: string;
  isRequired?: boolean;
  more?: string;
  description: string;
}

export const fieldList = (fields: readonly FieldEntry[]): string =>
  fields.length === 0
    ? ''
    : `<dl class="fields">\n${fields
        .map(({ name, kind, isRequired, more, description }) => {
          const required = isRequired ? ' <b class="required">required</b>' : '';
          const limits = more ? `<p class="limits">${phrase(more)}</p>` : '';
          const text = description === '' ? '' : `<p>${phrase(description)}</p>`;
          return `<div><dt><code>${escaped(name)}</code> <span class="kind">${kind}</span>${required}</dt><dd>${text}${limits}</dd></div>`;
        })
        .join('\n')}\n</dl>`;

/** A code block; one click selects the entire block. */
export const code = (title: string, text: string): string =>
  `<figure class="code"><figcaption>${escaped(title)}</figcaption><pre tabindex="0"><code>${escaped(text)}</code></pre></figure>`;
