// Actions on a voice: rename, choose who may use it, switch off and on, withdraw the consent, delete.
/** @import { PageContext } from './page.d.ts' */
/** @import { Voice } from '../../../gen/openapi.ts' */
import { isConfirmed } from './confirm-dialog.js';
import { element } from './element.js';
import { clearFieldErrors, field, showApiError } from './field.js';
import { accessField, toVoicePath } from './voice-elements.js';

/**
 * @typedef {object} ActionOptions
 * @property {Voice} voice
 * @property {PageContext} pageContext
 * @property {(voice: Voice) => void} onChange Receives the changed voice.
 */

/** @param {ActionOptions} options */
export function actionsCard(options) {
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
 * Runs a change, then shows the changed voice and a message, or the error.
 * @param {ActionOptions} options
 * @param {string} message
 * @param {() => Promise<Voice | undefined>} work
 * @param {() => void} [undo]
 */
async function change({ pageContext: { root, notify, showError, signal }, onChange }, message, work, undo) {
  try {
    const voice = await work();
    if (!voice || signal.aborted) return;
    onChange(voice);
    root.querySelector('h1')?.focus();
    notify(message, undo);
  } catch (error) {
    showError(error);
  }
}

/** @param {ActionOptions} options */
function nameForm(options) {
  const { name, description, voice_id } = options.voice;
  const nameInput = element('input', { name: 'name', value: name, maxlength: 200, required: true });
  const about = element('textarea', { name: 'description', rows: 2, maxlength: 1000 }, description);
  const access = accessField(options.voice.access);
  const form = element(
    'form',
    { novalidate: true },
    field({ name: 'name', label: 'Name', control: nameInput }),
    field({ name: 'description', label: 'Description', control: about }),
    access.root,
    element('button', { type: 'submit' }, 'Save'),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    clearFieldErrors(form);
    await change(options, 'Saved.', async () => {
      const body = { name: nameInput.value.trim(), description: about.value.trim(), access: access.select.value };
      try {
        return await options.pageContext.api.requestJson(toVoicePath(voice_id), { method: 'PATCH', body });
      } catch (error) {
        showApiError(form, error, options.pageContext.showError);
        return undefined;
      }
    });
  });
  return form;
}

/** @param {ActionOptions} options */
function enableButton(options) {
  const { name, status, access, voice_id } = options.voice;
  /** @param {boolean} enabled */
  const send = (enabled) =>
    options.pageContext.api.requestJson(toVoicePath(voice_id), { method: 'PATCH', body: { enabled } });
  const switchOn = () => change(options, `${name} can speak again.`, () => send(true));
  const switchOff = () =>
    change(
      options,
      `${name} is switched off.`,
      async () => {
        const text = 'Requests for it fail, for every key of this service, until it is switched on again.';
        const isSure =
          access === 'private' || (await isConfirmed({ title: `Switch off ${name}?`, text, yes: 'Switch off' }));
        return isSure ? send(false) : undefined;
      },
      switchOn,
    );
  const isOff = status === 'disabled';
  return element(
    'button',
    { type: 'button', onclick: isOff ? switchOn : switchOff },
    isOff ? 'Switch on' : 'Switch off',
  );
}

/** @param {ActionOptions} options */
function revokeButton(options) {
  const { kind, name, consent, voice_id } = options.voice;
  if (kind !== 'cloned' || !consent || consent.revoked_at) return undefined;
  const question = {
    title: `Withdraw the consent of ${consent.speaker_name}?`,
    text: `${name} stops speaking at once and for good. The data it was cloned from and all its stored audio are deleted. This cannot be undone.`,
    yes: 'Withdraw consent',
    no: 'Cancel',
  };
  const onclick = () =>
    change(options, 'The consent is withdrawn.', async () => {
      if (!(await isConfirmed(question))) return undefined;
      return options.pageContext.api.requestJson(`${toVoicePath(voice_id)}/consent/revoke`, { method: 'POST' });
    });
  return element('button', { type: 'button', class: 'danger', onclick }, 'Withdraw consent');
}

/** @param {ActionOptions} options */
function deleteButton({ voice, pageContext: { api, notify, showError } }) {
  const { kind, name, created_at, voice_id, bindings } = voice;
  if (created_at === null) return undefined;
  // Deleting a voice that came with its engine restores its original name and settings.
  const isStock = bindings.some((bound) => bound.voice_id === voice_id);
  const more = kind === 'cloned' ? ' The data it was cloned from and all its stored audio are deleted too.' : '';
  const question = isStock
    ? {
        title: `Discard the changes to ${name}?`,
        text: 'The voice returns to its engine defaults. This cannot be undone.',
        yes: 'Discard changes',
        no: 'Cancel',
      }
    : {
        title: `Delete ${name}?`,
        text: `Requests for this voice will fail with “voice not found”.${more} This cannot be undone.`,
        yes: 'Delete',
        no: 'Cancel',
      };
  const onclick = async () => {
    if (!(await isConfirmed(question))) return;
    try {
      await api.requestJson(toVoicePath(voice_id), { method: 'DELETE' });
      location.hash = '#/voices';
      notify(isStock ? `The changes to ${name} are discarded.` : `${name} is deleted.`);
    } catch (error) {
      showError(error);
    }
  };
  return element('button', { type: 'button', class: 'danger', onclick }, isStock ? 'Discard changes' : 'Delete');
}
