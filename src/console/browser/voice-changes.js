// What can be done with a voice: another name, silence for a while, and what cannot be undone.
/** @import { Desk } from './page.d.ts' */
/** @import { Voice } from './wire.d.ts' */
import { element } from './element.js';
import { clearFaults, field, showRefusal } from './field.js';
import { isSure } from './sureness.js';
import { toVoicePath } from './voice-words.js';

/**
 * @typedef {object} ChangeOptions
 * @property {Voice} voice
 * @property {Desk} desk
 * @property {(voice: Voice) => void} onChange Told what it is then.
 */

/** @param {ChangeOptions} options */
export function changeCard(options) {
  const isRevoked = options.voice.status === 'consent_revoked';
  return element(
    'section',
    { class: 'card' },
    element('h2', {}, 'Change'),
    !isRevoked && nameForm(options),
    element(
      'div',
      { class: 'row endings' },
      !isRevoked && enableButton(options),
      revokeButton(options),
      deleteButton(options),
    ),
  );
}

/**
 * What the service makes of it is shown and said; what it refuses is told.
 * @param {ChangeOptions} options
 * @param {string} said
 * @param {() => Promise<Voice | undefined>} work
 */
async function change({ desk: { room, say, complain, signal }, onChange }, said, work) {
  try {
    const voice = await work();
    if (!voice || signal.aborted) return;
    onChange(voice);
    room.querySelector('h1')?.focus();
    say(said);
  } catch (error) {
    complain(error);
  }
}

/** @param {ChangeOptions} options */
function nameForm(options) {
  const { name, description, voice_id } = options.voice;
  const nameInput = element('input', { name: 'name', value: name, maxlength: 200, required: true });
  const about = element('textarea', { name: 'description', rows: 2, maxlength: 1000 }, description);
  const form = element(
    'form',
    { novalidate: true },
    field({ name: 'name', label: 'Name', control: nameInput }),
    field({ name: 'description', label: 'Description', control: about }),
    element('button', { type: 'submit' }, 'Save'),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    clearFaults(form);
    await change(options, 'Saved.', async () => {
      const body = { name: nameInput.value.trim(), description: about.value.trim() };
      try {
        return await options.desk.api.ask(toVoicePath(voice_id), { method: 'PATCH', body });
      } catch (error) {
        showRefusal(form, error, options.desk.complain);
        return undefined;
      }
    });
  });
  return form;
}

/** @param {ChangeOptions} options */
function enableButton(options) {
  const { name, status, voice_id } = options.voice;
  const enabled = status === 'disabled';
  const said = enabled ? `${name} can speak again.` : `${name} is switched off.`;
  const ask = () => options.desk.api.ask(toVoicePath(voice_id), { method: 'PATCH', body: { enabled } });
  return element(
    'button',
    { type: 'button', onclick: () => change(options, said, ask) },
    enabled ? 'Switch on' : 'Switch off',
  );
}

/** @param {ChangeOptions} options */
function revokeButton(options) {
  const { kind, name, consent, voice_id } = options.voice;
  if (kind !== 'cloned' || !consent || consent.revoked_at) return undefined;
  const question = {
    title: `Withdraw the consent of ${consent.speaker_name}?`,
    text: `${name} falls silent at once and for good. What it was made of is destroyed, and all stored audio of it. This cannot be undone.`,
    yes: 'Withdraw it',
    no: 'Keep the voice',
  };
  const onclick = () =>
    change(options, 'The consent is withdrawn.', async () => {
      if (!(await isSure(question))) return undefined;
      return options.desk.api.ask(`${toVoicePath(voice_id)}/consent/revoke`, { method: 'POST' });
    });
  return element('button', { type: 'button', class: 'danger', onclick }, 'Withdraw consent');
}

/** @param {ChangeOptions} options */
function deleteButton({ voice, desk: { api, say, complain } }) {
  const { kind, name, created_at, voice_id, bindings } = voice;
  if (created_at === null) return undefined;
  // One that came with its engine is then as it came.
  const isOwn = bindings.some((bound) => bound.voice_id === voice_id);
  const more = kind === 'cloned' ? ' What it was made of goes with it, and all stored audio of it.' : '';
  const question = isOwn
    ? {
        title: `Take back what was changed of ${name}?`,
        text: 'It is again as it came with its engine. This cannot be undone.',
        yes: 'Take it back',
        no: 'Keep it',
      }
    : {
        title: `Delete ${name}?`,
        text: `Whoever asks for it hears that there is no such voice.${more} This cannot be undone.`,
        yes: 'Delete it',
        no: 'Keep it',
      };
  const onclick = async () => {
    if (!(await isSure(question))) return;
    try {
      await api.ask(toVoicePath(voice_id), { method: 'DELETE' });
      location.hash = '#/voices';
      say(isOwn ? `${name} is as it was.` : `${name} is deleted.`);
    } catch (error) {
      complain(error);
    }
  };
  return element('button', { type: 'button', class: 'danger', onclick }, isOwn ? 'Take back changes' : 'Delete');
}
