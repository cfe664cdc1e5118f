// The Usage page: totals for the chosen period, charts by day, and tables by voice and by key.
/** @import { ApiKey, GetUsageResponse, UsageTotal, Voice } from '../../../../gen/openapi.ts' */
/** @import { Page, PageContext } from './page.d.ts' */
import { dayChart } from './day-chart.js';
import { element, fill } from './element.js';
import { toCount, toDuration } from './formatting.js';
import { loading } from './notices.js';
import { pageHead, tabs } from './page-elements.js';
import { toVoiceAddress } from './voice-elements.js';

const ranges = [7, 30, 90];
const defaultRange = 30;
const dayMs = 86_400_000;

/** @type {Page} */
export const usagePage = {
  name: 'usage',
  title: 'Usage',
  scope: 'usage:read',
  async show(pageContext) {
    const { root, pathSegments, showError } = pageContext;
    const first = ranges.find((days) => String(days) === pathSegments[0]) ?? defaultRange;
    const content = element('div', { class: 'content' }, loading('Loading the usage …'));
    const status = element('p', { class: 'sr-only', role: 'status' });
    let current = first;
    const show = async (/** @type {number} */ days) => {
      current = days;
      content.setAttribute('aria-busy', 'true');
      try {
        const shown = await toContent(pageContext, days, await names);
        // The user may have chosen another range in the meantime.
        if (current !== days) return;
        fill(content, ...shown);
        fill(status, `${days} days: ${content.querySelector('strong')?.textContent} characters.`);
      } finally {
        if (current === days) content.removeAttribute('aria-busy');
      }
    };
    const choose = (/** @type {number} */ days) => {
      history.replaceState(null, '', `#/usage/${days}`);
      show(days).catch(showError);
    };
    fill(root, head(first, choose), status, content);
    const names = readNames(pageContext);
    await show(first);
  },
};

/**
 * @param {number} chosen
 * @param {(days: number) => void} onChoose
 */
const head = (chosen, onChoose) =>
  pageHead({
    title: 'Usage',
    lead: 'Usage of this key and of the keys created with it. Days begin at midnight UTC.',
    actions: [
      tabs({
        name: 'range',
        legend: 'Number of days',
        values: ranges.map((days) => [String(days), `${days} days`]),
        chosen: String(chosen),
        onChoose: (days) => onChoose(Number(days)),
      }),
    ],
  });

/** @typedef {Awaited<ReturnType<typeof readNames>>} Names */

/** @param {PageContext} pageContext */
async function readNames({ api, key, hasScope, signal }) {
  const [voices, keys] = await Promise.all([
    hasScope('voices:read') ? /** @type {Promise<Voice[]>} */ (api.list('/api/voices', 'voices', { signal })) : [],
    hasScope('keys:read')
      ? /** @type {Promise<ApiKey[]>} */ (api.list('/api/auth/api-keys', 'api_keys', { signal }))
      : [key],
  ]);
  return {
    voices: new Map(voices.map(({ voice_id, name }) => [voice_id, name])),
    keys: new Map([...keys, key].map(({ id, name }) => [id, name])),
  };
}

/**
 * @param {PageContext} pageContext
 * @param {number} count
 * @param {Names} names
 */
async function toContent({ api, signal }, count, names) {
  const days = Array.from({ length: count }, (_, i) =>
    new Date(Date.now() - (count - 1 - i) * dayMs).toISOString().slice(0, 10),
  );
  /** @type {(group_by: string) => Promise<GetUsageResponse>} */
  const readUsage = (group_by) =>
    api.requestJson('/api/usage', { query: { from: days[0], to: days.at(-1), group_by }, signal });
  const [byDay, byVoice, byKey] = await Promise.all(['day', 'voice', 'key'].map(readUsage));
  if (!byDay || !byVoice || !byKey || byDay.total.requests === 0) return [totals(byDay?.total, count), noUsageCard()];
  const sums = new Map(byDay.groups.map((sum) => [sum.group, sum]));
  /** @param {keyof UsageTotal} member */
  const valuesOf = (member) => days.map((day) => ({ day, value: sums.get(day)?.[member] ?? 0 }));
  const seconds = valuesOf('audio_seconds');
  return [
    totals(byDay.total, count),
    element(
      'div',
      { class: 'pair' },
      card(
        dayChart({
          title: 'Characters',
          days: valuesOf('characters'),
          toText: (value) => `${toCount(value)} characters`,
          unit: { divisor: 1, name: 'per day' },
        }),
      ),
      card(dayChart({ title: 'Audio', days: seconds, toText: toDuration, unit: durationUnit(seconds) })),
    ),
    element(
      'div',
      { class: 'pair' },
      usageTable({
        title: 'By voice',
        column: 'Voice',
        usage: byVoice,
        toName: (id) => ({
          name: names.voices.get(id) ?? id,
          address: names.voices.has(id) ? toVoiceAddress(id) : undefined,
        }),
      }),
      usageTable({
        title: 'By key',
        column: 'Key',
        usage: byKey,
        toName: (id) => ({ name: names.keys.get(id) ?? id }),
      }),
    ),
  ];
}

/** @param {HTMLElement} content */
const card = (content) => element('section', { class: 'card' }, content);

const noUsageCard = () =>
  element(
    'section',
    { class: 'card no-usage' },
    element('h2', {}, 'No usage in this period'),
    element('p', {}, 'Synthesized speech is counted here by day, voice and key.'),
    element('a', { class: 'button main', href: '#/speak' }, 'Speak'),
  );

/**
 * @param {UsageTotal} [total]
 * @param {number} [days]
 */
function totals({ characters, audio_seconds, requests } = { characters: 0, audio_seconds: 0, requests: 0 }, days = 1) {
  const figures = /** @type {const} */ ([
    ['Characters', toCount(characters), `${toCount(Math.round(characters / days))} per day`],
    ['Audio', toDuration(audio_seconds), `${toDuration(Math.round(audio_seconds / days))} per day`],
    ['Requests', toCount(requests), `${toCount(Math.round(requests / days))} per day`],
  ]);
  return element(
    'dl',
    { class: 'totals' },
    ...figures.map(([term, figure, daily]) =>
      element(
        'div',
        { class: 'card' },
        element('dt', {}, term),
        element('dd', {}, element('strong', {}, figure), element('small', {}, daily)),
      ),
    ),
  );
}

/** @param {readonly { value: number }[]} seconds */
function durationUnit(seconds) {
  const max = Math.max(...seconds.map(({ value }) => value));
  if (max < 120) return { divisor: 1, name: 'seconds per day' };
  return max < 7_200 ? { divisor: 60, name: 'minutes per day' } : { divisor: 3_600, name: 'hours per day' };
}

const rowsShown = 10;

/**
 * @typedef {object} UsageTableOptions
 * @property {string} title
 * @property {string} column The heading of the first column.
 * @property {GetUsageResponse} usage
 * @property {(group: string) => { name: string, address?: string | undefined }} toName
 */

/** Sets explicit ARIA roles, because CSS for phones removes the roles of rows. @param {UsageTableOptions} options */
function usageTable({ title, column, usage, toName }) {
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
