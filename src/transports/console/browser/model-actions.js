// Installs, cancels and removes a model. Asks the user first if a licence must be accepted or data would be lost.
/** @import { PageContext } from './page.d.ts' */
/** @import { VoiceModel } from '../../../../gen/openapi.ts' */
import { isConfirmed } from './confirm-dialog.js';
import { licenceLink, toMegabytes } from './model-facts.js';

/** The scope required to install or remove a model. */
export const installScope = 'admin';

/** @param {string} name */
const toModelPath = (name) => `/api/models/${encodeURIComponent(name)}`;

/** @typedef {Pick<PageContext, 'api' | 'notify'>} ActionContext */

/**
 * Returns the model, or undefined if the user did not accept its licence.
 * @param {VoiceModel} model
 * @param {ActionContext} context
 * @returns {Promise<VoiceModel | undefined>}
 */
export async function installModel(model, { api, notify }) {
  const { name, title, commercial } = model;
  const needsConsent = commercial === false;
  const question = {
    title: `Accept the licence of ${title}?`,
    text: ['It does not allow commercial use. Licence: ', licenceLink(model), '.'],
    yes: 'Accept and install',
  };
  if (needsConsent && !(await isConfirmed(question))) return undefined;
  const body = needsConsent ? { accept_licence: true } : {};
  const begun = await api.requestJson(toModelPath(name), { method: 'POST', body });
  notify(`Installing ${title}.`);
  return begun;
}

/**
 * @param {VoiceModel} model
 * @param {ActionContext} context
 */
export async function cancelInstall({ name, title }, { api, notify }) {
  await api.requestJson(toModelPath(name), { method: 'DELETE' });
  notify(`The installation of ${title} is cancelled.`);
}

/**
 * Sets the default voice. The setting SONANT_DEFAULT_VOICE takes precedence.
 * @param {string} voiceId
 * @param {ActionContext} context
 */
export async function makeDefault(voiceId, { api, notify }) {
  const { voice_id } = await api.requestJson('/api/default-voice', { method: 'PUT', body: { voice_id: voiceId } });
  notify(
    voice_id === voiceId
      ? `${voiceId} is the default voice.`
      : `${voiceId} is chosen, but SONANT_DEFAULT_VOICE makes ${voice_id} the default voice.`,
  );
}

/**
 * Removes the model or its partial download. Returns whether the user has confirmed.
 * @param {VoiceModel} model
 * @param {ActionContext} context
 */
export async function removeModel({ name, title, installed, voice_ids, fetched_bytes }, { api, notify }) {
  const voices = voice_ids.length === 1 ? 'its voice' : `its ${voice_ids.length} voices`;
  const question = installed
    ? {
        title: `Remove ${title}?`,
        text: `New requests for ${voices} will fail with “voice not found”; running requests finish. You can install the model again.`,
        yes: 'Remove',
      }
    : {
        title: `Discard the partial download of ${title}?`,
        text: `${toMegabytes(fetched_bytes)} will be deleted. The next installation starts from the beginning.`,
        yes: 'Discard',
      };
  if (!(await isConfirmed(question))) return false;
  await api.requestJson(toModelPath(name), { method: 'DELETE' });
  notify(installed ? `${title} is removed.` : `The partial download of ${title} is deleted.`);
  return true;
}
