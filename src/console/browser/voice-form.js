// A voice under a name of one's own: who speaks it, and who does where that one cannot.
/** @import { Desk } from './page.d.ts' */
/** @import { Voice } from './wire.d.ts' */
import { element, fill } from './element.js';
import { clearFaults, field, showRefusal } from './field.js';
import { icon } from './icon.js';
import { loading } from './notices.js';
import { notWithThisKey, toVoiceAddress } from './voice-words.js';

const bindingsMax = 8;

/** @param {Desk} desk */
export async function showVoiceForm({ room, api, may, signal, say, complain }) {
  const head = [
    element('a', { class: 'back', href: '#/voices' }, '‹ Voices'),
    element('h1', { tabindex: -1 }, 'New voice'),
    element('p', { class: 'lead' }, 'A name of your own for a voice that an engine has. Callers need not know which.'),
  ];
  if (!may('voices:write')) return fill(room, ...head, notWithThisKey());
  fill(room, ...head, loading('Loading the voices …'));
  const speakers = toSpeakers(await api.list('/api/voices', 'voices', { signal }));
  const name = element('input', { name: 'name', maxlength: 200, required: true, autocomplete: 'off' });
  const voiceId = element('input', { name: 'voice_id', class: 'mono', maxlength: 128, autocomplete: 'off' });
  const description = element('textarea', { name: 'description', rows: 2, maxlength: 1000 });
  const bindings = createBindings(speakers);
  const send = element('button', { type: 'submit', class: 'main' }, 'Make the voice');
  const form = element(
    'form',
    { class: 'card narrow', novalidate: true },
    field({ name: 'name', label: 'Name', control: name }),
    bindings.root,
    field({
      ...{ name: 'voice_id', label: 'Id', control: voiceId },
      hint: 'What programs ask for, such as news-en. Leave it empty and one is made.',
    }),
    field({ name: 'description', label: 'Description', control: description }),
    send,
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    clearFaults(form);
    send.disabled = true;
    try {
      const id = voiceId.value.trim();
      const about = description.value.trim();
      const body = {
        name: name.value.trim(),
        bindings: bindings.chosen(),
        ...(id && { voice_id: id }),
        ...(about && { description: about }),
      };
      const made = await api.ask('/api/voices', { body, signal });
      location.hash = toVoiceAddress(made.voice_id);
      say(`${made.name} can speak.`);
    } catch (error) {
      showRefusal(form, error, complain);
    } finally {
      send.disabled = false;
    }
  });
  fill(room, ...head, form);
  name.focus();
}

/**
 * What engines have, by what people call it.
 * @param {readonly Voice[]} voices
 */
function toSpeakers(voices) {
  const speakers = new Map();
  for (const { name, bindings } of voices) {
    for (const { engine, voice_id } of bindings) {
      if (voice_id === null || speakers.has(`${engine} ${voice_id}`)) continue;
      speakers.set(`${engine} ${voice_id}`, { engine, voice_id, text: bindings.length === 1 ? name : voice_id });
    }
  }
  return /** @type {{ engine: string, voice_id: string, text: string }[]} */ ([...speakers.values()]);
}

/** @param {ReturnType<typeof toSpeakers>} speakers */
function createBindings(speakers) {
  const list = element('ol', { class: 'bindings' });
  const more = element(
    'button',
    { type: 'button', class: 'quiet', onclick: () => add() },
    'Add one for when it cannot',
  );
  const number = () => {
    for (const [i, select] of list.querySelectorAll('select').entries())
      select.setAttribute('aria-label', i === 0 ? 'Spoken by' : `Else by, ${i + 1}`);
    for (const remove of list.querySelectorAll('button')) remove.hidden = list.children.length === 1;
    more.hidden = list.children.length >= Math.min(bindingsMax, speakers.length);
  };
  const add = () => {
    const options = speakers.map(({ engine, text }, i) => element('option', { value: i }, `${text}, ${engine}`));
    const select = element('select', {}, options);
    select.value = String(list.children.length);
    const item = element('li', {}, select);
    const onclick = () => {
      item.remove();
      number();
      list.querySelector('select')?.focus();
    };
    item.append(
      element('button', { type: 'button', class: 'quiet', 'aria-label': 'Take it away', onclick }, icon('close')),
    );
    list.append(item);
    number();
    if (list.children.length > 1) select.focus();
  };
  const root = element(
    'fieldset',
    { class: 'field', 'data-field': 'bindings' },
    element('legend', {}, 'Spoken by'),
    list,
    more,
    element('p', { class: 'field-trouble' }),
  );
  add();
  return {
    root,
    chosen: () =>
      [...list.querySelectorAll('select')].flatMap((select) => {
        const speaker = speakers[Number(select.value)];
        return speaker ? [{ engine: speaker.engine, voice_id: speaker.voice_id }] : [];
      }),
  };
}
