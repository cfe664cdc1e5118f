// A table of usage by voice or by key, largest first, with the share of each in all characters. Its roles are explicit,
// because a phone shows its rows as blocks, which browsers do not expose as a table.
/** @import { GetUsageResponse } from '../../../gen/openapi.ts' */
import { element } from './element.js';
import { toCount, toDuration } from './formatting.js';

const rowsShown = 10;

/**
 * @typedef {object} UsageTableOptions
 * @property {string} title
 * @property {string} column The heading of the first column.
 * @property {GetUsageResponse} usage
 * @property {(group: string) => { name: string, address?: string | undefined }} toName
 */

/** @param {UsageTableOptions} options */
export function usageTable({ title, column, usage, toName }) {
  const rows = usage.groups.map((sum) => {
    const { name, address } = toName(sum.group);
    const share = element('span', { class: 'share' });
    share.style.width = `${(100 * sum.characters) / Math.max(1, usage.total.characters)}%`;
    return element(
      'tr',
      { role: 'row' },
      element(
        'th',
        { scope: 'row', role: 'rowheader' },
        address ? element('a', { href: address }, name) : name,
        element('span', { class: 'shares' }, share),
      ),
      ...[toCount(sum.characters), toDuration(sum.audio_seconds), toCount(sum.requests)].map((text) =>
        element('td', { class: 'figure', role: 'cell' }, text),
      ),
    );
  });
  const heads = [column, 'Characters', 'Audio', 'Requests'];
  const body = element('tbody', { role: 'rowgroup' }, ...rows.slice(0, rowsShown));
  const onclick = () => {
    body.append(...rows.slice(rowsShown));
    more.remove();
  };
  const more = element('button', { type: 'button', class: 'quiet', onclick }, `Show all ${rows.length}`);
  return element(
    'section',
    { class: 'card' },
    element('h2', {}, title),
    element(
      'div',
      { class: 'scroll by-group', tabindex: 0, role: 'region', 'aria-label': title },
      element(
        'table',
        { role: 'table' },
        element(
          'thead',
          { role: 'rowgroup' },
          element(
            'tr',
            { role: 'row' },
            ...heads.map((text, i) =>
              element('th', { scope: 'col', role: 'columnheader', class: i > 0 ? 'figure' : '' }, text),
            ),
          ),
        ),
        body,
      ),
    ),
    rows.length > rowsShown && more,
  );
}
