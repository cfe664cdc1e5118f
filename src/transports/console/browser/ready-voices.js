// Loads the voices that are ready to speak. If there are none, shows the reason.
/** @import { PageContext } from './page.d.ts' */
/** @import { Voice } from '../../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { loading } from './notices.js';

/**
 * @param {PageContext} context
 * @param {string} title The title of the page.
 * @param {(context: PageContext, voices: readonly Voice[]) => void} show
 */
export async function showWithVoices(context, title, show) {
  const { root, api, hasScope, signal } = context;
  const mayListVoices = hasScope('voices:read');
  fill(root, loading('Loading the voices …'));
  const all = mayListVoices ? /** @type {Voice[]} */ (await api.list('/api/voices', 'voices', { signal })) : [];
  const voices = all.filter(({ status }) => status === 'ready');
  if (voices.length > 0) return show(context, voices);
  const reason = mayListVoices
    ? 'No voice is ready to speak.'
    : 'This key can speak but cannot list the voices. It lacks the scope voices:read.';
  fill(root, element('h1', {}, title), element('p', { class: 'lead' }, reason));
}
