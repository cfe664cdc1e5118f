// The page of what was spoken: in all, day by day, and by voice and key, over the last days.
/** @import { Desk, Page } from './page.d.ts' */
/** @import { ApiKey, Usage, UsageSum, Voice } from './wire.d.ts' */
import { dayChart } from './day-chart.js';
import { element, fill } from './element.js';
import { loading } from './notices.js';
import { usageTable } from './usage-table.js';
import { toVoiceAddress } from './voice-words.js';
import { toCount, toLength } from './wording.js';

const ranges = [7, 30, 90];
const usualRange = 30;
const dayMs = 86_400_000;

/** @type {Page} */
export const usagePage = {
  name: 'usage',
  title: 'Usage',
  scope: 'usage:read',
  async show(desk) {
    const { room, rest, complain } = desk;
    const first = ranges.find((days) => String(days) === rest[0]) ?? usualRange;
    const content = element('div', { class: 'content' }, loading('Adding it up …'));
    const told = element('p', { class: 'sr-only', role: 'status' });
    let asked = first;
    const show = async (/** @type {number} */ days) => {
      asked = days;
      content.setAttribute('aria-busy', 'true');
      try {
        const shown = await toContent(desk, days, await names);
        // Another range may have been asked for meanwhile.
        if (asked !== days) return;
        fill(content, ...shown);
        fill(told, `${days} days: ${content.querySelector('strong')?.textContent} characters.`);
      } finally {
        if (asked === days) content.removeAttribute('aria-busy');
      }
    };
    const choose = (/** @type {number} */ days) => {
      history.replaceState(null, '', `#/usage/${days}`);
      show(days).catch(complain);
    };
    fill(room, head(first, choose), told, content);
    const names = readNames(desk);
    await show(first);
  },
};

/**
 * @param {number} chosen
 * @param {(days: number) => void} onChoose
 */
const head = (chosen, onChoose) =>
  element(
    'div',
    { class: 'page-head' },
    element(
      'div',
      {},
      element('h1', {}, 'Usage'),
      element(
        'p',
        { class: 'lead' },
        'What this key has had spoken, and the keys that it has made. Days begin at midnight UTC.',
      ),
    ),
    element(
      'fieldset',
      { class: 'tabs' },
      element('legend', { class: 'sr-only' }, 'Over how many days'),
      ...ranges.map((days) =>
        element(
          'label',
          {},
          element('input', {
            type: 'radio',
            name: 'range',
            value: days,
            checked: days === chosen,
            onchange: () => onChoose(days),
          }),
          element('span', {}, `${days} days`),
        ),
      ),
    ),
  );

/** @typedef {Awaited<ReturnType<typeof readNames>>} Names */

/** @param {Desk} desk */
async function readNames({ api, key, may, signal }) {
  const [voices, keys] = await Promise.all([
    may('voices:read') ? /** @type {Promise<Voice[]>} */ (api.list('/api/voices', 'voices', { signal })) : [],
    may('keys:read')
      ? /** @type {Promise<ApiKey[]>} */ (api.list('/api/auth/api-keys', 'api_keys', { signal }))
      : [key],
  ]);
  return {
    voices: new Map(voices.map(({ voice_id, name }) => [voice_id, name])),
    keys: new Map([...keys, key].map(({ id, name }) => [id, name])),
  };
}

/**
 * @param {Desk} desk
 * @param {number} count
 * @param {Names} names
 */
async function toContent({ api, signal }, count, names) {
  const days = Array.from({ length: count }, (_, i) =>
    new Date(Date.now() - (count - 1 - i) * dayMs).toISOString().slice(0, 10),
  );
  /** @type {(group_by: string) => Promise<Usage>} */
  const ask = (group_by) => api.ask('/api/usage', { query: { from: days[0], to: days.at(-1), group_by }, signal });
  const [byDay, byVoice, byKey] = await Promise.all(['day', 'voice', 'key'].map(ask));
  if (!byDay || !byVoice || !byKey || byDay.total.requests === 0) return [totals(byDay?.total, count), nothing()];
  const sums = new Map(byDay.groups.map((sum) => [sum.group, sum]));
  /** @param {keyof UsageSum} member */
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
          unit: { divisor: 1, name: 'a day' },
        }),
      ),
      card(dayChart({ title: 'Sound', days: seconds, toText: toLength, unit: unitFor(seconds) })),
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

const nothing = () =>
  element(
    'section',
    { class: 'card nothing' },
    element('h2', {}, 'Nothing was spoken in these days'),
    element('p', {}, 'As soon as something is, it is counted here, by day, voice and key.'),
    element('a', { class: 'button main', href: '#/speak' }, 'Speak'),
  );

/**
 * @param {UsageSum} [total]
 * @param {number} [days]
 */
function totals({ characters, audio_seconds, requests } = { characters: 0, audio_seconds: 0, requests: 0 }, days = 1) {
  const figures = /** @type {const} */ ([
    ['Characters', toCount(characters), `${toCount(Math.round(characters / days))} a day`],
    ['Sound', toLength(audio_seconds), `${toLength(Math.round(audio_seconds / days))} a day`],
    ['Requests', toCount(requests), `${toCount(Math.round(requests / days))} a day`],
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
function unitFor(seconds) {
  const most = Math.max(...seconds.map(({ value }) => value));
  if (most < 120) return { divisor: 1, name: 'seconds a day' };
  return most < 7_200 ? { divisor: 60, name: 'minutes a day' } : { divisor: 3_600, name: 'hours a day' };
}
