// The voices that use a lexicon for every request.
/** @import { PageContext } from './page.d.ts' */
/** @import { Lexicon, Voice } from '../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { toVoicePath } from './voice-elements.js';

/**
 * @param {PageContext} pageContext
 * @param {Lexicon} lexicon
 * @param {readonly Voice[]} all
 */
export function boundVoicesCard({ api, signal, hasScope, notify, showError }, lexicon, all) {
  const { lexicon_id: lexiconId } = lexicon;
  const voices = new Map(all.map((voice) => [voice.voice_id, voice]));
  const list = element('ul', { class: 'lexicon-voices' });
  const select = element('select', { 'aria-label': 'Voice' });
  const bind = element('button', { type: 'button' }, 'Use it for this voice');
  /**
   * @param {Voice} voice
   * @param {string[]} lexicon_ids
   * @param {string} message
   */
  const change = async (voice, lexicon_ids, message) => {
    try {
      const request = { method: 'PATCH', body: { lexicon_ids }, signal };
      voices.set(voice.voice_id, await api.requestJson(toVoicePath(voice.voice_id), request));
      show();
      notify(message);
    } catch (error) {
      showError(error);
    }
  };
  /** @param {Voice} voice */
  const toItem = (voice) => {
    const rest = voice.lexicon_ids.filter((each) => each !== lexiconId);
    const onclick = () => change(voice, rest, `${voice.name} speaks without ${lexicon.name}.`);
    const label = `Do not use it for ${voice.name}`;
    return element(
      'li',
      {},
      voice.name,
      ' ',
      mayWrite && element('button', { type: 'button', class: 'quiet', 'aria-label': label, onclick }, 'Remove'),
    );
  };
  const mayWrite = hasScope('voices:write');
  const show = () => {
    const bound = [...voices.values()].filter(({ lexicon_ids }) => lexicon_ids.includes(lexiconId));
    const free = [...voices.values()].filter((voice) => !bound.includes(voice));
    fill(list, bound.length > 0 ? bound.map(toItem) : element('li', { class: 'hint' }, 'None.'));
    fill(
      select,
      free.map(({ voice_id, name }) => element('option', { value: voice_id }, name)),
    );
  };
  bind.addEventListener('click', () => {
    const voice = voices.get(select.value);
    if (voice) void change(voice, [...voice.lexicon_ids, lexiconId], `${voice.name} speaks with ${lexicon.name}.`);
  });
  show();
  return element(
    'section',
    { class: 'card' },
    element('h2', {}, 'Voices that always use it'),
    list,
    mayWrite && element('div', { class: 'row' }, select, bind),
  );
}
