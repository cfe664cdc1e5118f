// The form that creates a voice: a name, an id, an engine voice, and fallback voices.
/** @import { PageContext } from './page.d.ts' */
/** @import { Voice } from '../../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { field, onSubmit } from './field.js';
import { icon } from './icon.js';
import { loading } from './notices.js';
import { missingScope, pageHead } from './page-elements.js';
import { accessField, toVoiceAddress } from './voice-elements.js';

const bindingsMax = 8;

/** @param {PageContext} pageContext */
export async function showVoiceForm({ root, api, hasScope, signal, notify, showError }) {
  const head = pageHead({
    back: ['#/voices', 'Voices'],
    title: 'New voice',
    lead: 'Give a voice of an engine your own name and id, so that callers do not depend on the engine.',
  });
  if (!hasScope('voices:write')) return fill(root, head, missingScope('create voices', 'voices:write'));
  fill(root, head, loading('Loading the voices …'));
  const engineVoices = toEngineVoices(await api.list('/api/voices', 'voices', { signal }));
  const name = element('input', { name: 'name', maxlength: 200, required: true, autocomplete: 'off' });
  const voiceId = element('input', { name: 'voice_id', class: 'mono', maxlength: 128, autocomplete: 'off' });
  const description = element('textarea', { name: 'description', rows: 2, maxlength: 1000 });
  const bindings = createBindings(engineVoices);
  const access = accessField(hasScope('admin') ? 'everyone' : 'private');
  const send = element('button', { type: 'submit', class: 'main' }, 'Create the voice');
  const form = element(
    'form',
    { class: 'card narrow', novalidate: true },
    field({ name: 'name', label: 'Name', control: name }),
    bindings.root,
    field({
      name: 'voice_id',
      label: 'Id',
      control: voiceId,
      hint: 'The id that programs use, such as news-en. If the field is empty, an id is generated.',
    }),
    field({ name: 'description', label: 'Description', control: description }),
    access.root,
    send,
  );
  onSubmit(form, showError, async () => {
    const id = voiceId.value.trim();
    const about = description.value.trim();
    const body = {
      name: name.value.trim(),
      bindings: bindings.chosen(),
      access: access.select.value,
      ...(id && { voice_id: id }),
      ...(about && { description: about }),
    };
    const created = await api.requestJson('/api/voices', { body, signal });
    location.hash = toVoiceAddress(created.voice_id);
    notify(`${created.name} can speak.`);
  });
  fill(root, head, form);
  name.focus();
}

/**
 * Lists the engine voices that a new voice can use. An engine voice has the name of a voice that uses no other engine
 * voice, or else its own id.
 * @param {readonly Voice[]} voices
 */
function toEngineVoices(voices) {
  const engineVoices = new Map();
  for (const { name, bindings } of voices) {
    for (const { engine, voice_id } of bindings) {
      if (voice_id === null || engineVoices.has(`${engine} ${voice_id}`)) continue;
      engineVoices.set(`${engine} ${voice_id}`, { engine, voice_id, text: bindings.length === 1 ? name : voice_id });
    }
  }
  return /** @type {{ engine: string, voice_id: string, text: string }[]} */ ([...engineVoices.values()]);
}

/** @param {ReturnType<typeof toEngineVoices>} engineVoices */
function createBindings(engineVoices) {
  const list = element('ol', { class: 'bindings' });
  const more = element('button', { type: 'button', class: 'quiet', onclick: () => add() }, 'Add a fallback');
  const renumber = () => {
    for (const [i, select] of list.querySelectorAll('select').entries())
      select.setAttribute('aria-label', i === 0 ? 'Spoken by' : `Fallback ${i}`);
    for (const remove of list.querySelectorAll('button')) remove.hidden = list.children.length === 1;
    more.hidden = list.children.length >= Math.min(bindingsMax, engineVoices.length);
  };
  const add = () => {
    const options = engineVoices.map(({ engine, text }, i) => element('option', { value: i }, `${text}, ${engine}`));
    const select = element('select', {}, options);
    select.value = String(list.children.length);
    const item = element('li', {}, select);
    const onclick = () => {
      item.remove();
      renumber();
      list.querySelector('select')?.focus();
    };
    item.append(element('button', { type: 'button', class: 'quiet', 'aria-label': 'Remove', onclick }, icon('close')));
    list.append(item);
    renumber();
    if (list.children.length > 1) select.focus();
  };
  const root = element(
    'fieldset',
    { class: 'field', 'data-field': 'bindings' },
    element('legend', {}, 'Spoken by'),
    list,
    more,
    element('p', { class: 'field-error' }),
  );
  add();
  return {
    root,
    chosen: () =>
      [...list.querySelectorAll('select')].flatMap((select) => {
        const engineVoice = engineVoices[Number(select.value)];
        return engineVoice ? [{ engine: engineVoice.engine, voice_id: engineVoice.voice_id }] : [];
      }),
  };
}
