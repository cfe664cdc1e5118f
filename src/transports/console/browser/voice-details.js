// The page of one voice: its properties, the consent of the speaker for a cloned voice, and the actions on it.
/** @import { Voice } from '../../../../gen/openapi.ts' */
/** @import { PageContext } from './page.d.ts' */
import { isConfirmed } from './confirm-dialog.js';
import { element, fill } from './element.js';
import { field, onSubmit } from './field.js';
import { toDate } from './formatting.js';
import { loading } from './notices.js';
import { chips, factList, missingScope, pageHead } from './page-elements.js';
import { accessChip, accessField, accessLabels, previewButton, statusChip, toVoicePath } from './voice-elements.js';
import { createPreview } from './voice-preview.js';
import { toLanguageName } from './voice-search.js';

/** The interval at which a pending voice is polled. */
const pollMs = 2_000;

/** @param {PageContext} pageContext */
export async function showVoice(pageContext) {
  const { root, api, pathSegments, signal, notify, hasScope } = pageContext;
  const path = toVoicePath(pathSegments[0] ?? '');
  const preview = createPreview(pageContext);
  /** @param {Voice} voice */
  const show = (voice) => {
    preview.stop();
    const { name, description, voice_id, status, kind } = voice;
    fill(
      root,
      pageHead({
        back: ['#/voices', 'Voices'],
        title: [
          `${name} `,
          kind === 'cloned' && element('span', { class: 'chip' }, 'cloned'),
          ' ',
          accessChip(voice),
          ' ',
          statusChip(voice),
        ],
        lead: description,
        actions: [
          previewButton(preview, voice),
          status === 'ready' &&
            hasScope('speech:stream') &&
            element('a', { class: 'button main', href: `#/speak/${encodeURIComponent(voice_id)}` }, 'Use this voice'),
        ],
      }),
      element(
        'div',
        { class: 'columns' },
        aboutCard(voice),
        element(
          'div',
          {},
          consentCard(voice),
          !hasScope('voices:write')
            ? missingScope('change voices', 'voices:write')
            : voice.owner === 'self' || hasScope('admin')
              ? actionsCard({ voice, pageContext, onChange: show })
              : notOwnerHint(),
        ),
      ),
    );
  };

  fill(root, loading('Loading the voice …'));
  let voice = await api.requestJson(path, { signal });
  show(voice);
  while (voice.status === 'pending' && !signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    voice = await api.requestJson(path, { signal });
    if (voice.status === 'pending') continue;
    show(voice);
    notify(voice.status === 'ready' ? `${voice.name} can speak.` : `${voice.name} could not be created.`);
  }
}

const ownerLabels = /** @type {const} */ ({
  self: 'The account of this key',
  operator: 'The operator of this service',
  other: 'Another account',
});

/** @param {Voice} voice */
function aboutCard(voice) {
  const { voice_id, engine, bindings, language_codes, labels, capabilities, created_at, updated_at } = voice;
  const { output_formats, sample_rates, speaking_rate } = capabilities;
  const labelTexts = Object.entries(labels).map(([name, label]) => `${name}: ${label}`);
  const spokenBy = bindings.map((bound) =>
    bound.voice_id ? `${bound.engine}: ${bound.voice_id}` : `${bound.engine}: a clone`,
  );
  return element(
    'section',
    { class: 'card' },
    element('h2', {}, 'About'),
    factList([
      ['Voice id', element('code', {}, voice_id)],
      ['Languages', chips(language_codes.map((code) => `${toLanguageName(code)} (${code})`.trim()))],
      ['Spoken by', bindings.length > 0 ? chips(spokenBy) : engine],
      ['Labels', labelTexts.length > 0 ? chips(labelTexts) : undefined],
      ['Formats', output_formats.join(', ')],
      ['Sample rates (Hz)', sample_rates.map((rate) => rate.toLocaleString()).join(', ')],
      ['Speed', `${speaking_rate.min} to ${speaking_rate.max}`],
      ['Owner', ownerLabels[voice.owner]],
      ['Who may use it', accessLabels[voice.access]],
      ['Created', created_at ? toDate(created_at) : 'Comes with its engine'],
      ['Changed', updated_at && updated_at !== created_at ? toDate(updated_at) : undefined],
    ]),
  );
}

/** @param {Voice} voice */
function consentCard({ consent }) {
  if (!consent) return undefined;
  const { speaker_name, statement, language_code, given_at, confirmed_by, revoked_at } = consent;
  return element(
    'section',
    { class: 'card' },
    element('h2', {}, 'Consent'),
    element('blockquote', { lang: language_code }, statement),
    factList([
      ['Given by', speaker_name],
      ['Given on', given_at ? toDate(given_at) : undefined],
      ['Recorded by', element('code', {}, confirmed_by)],
      ['Withdrawn on', revoked_at ? toDate(revoked_at) : undefined],
    ]),
  );
}

const notOwnerHint = () =>
  element(
    'p',
    { class: 'hint' },
    'This voice belongs to another account. Only its owner, and keys with the scope ',
    element('code', {}, 'admin'),
    ', can change it.',
  );

/**
 * @typedef {object} ActionOptions
 * @property {Voice} voice
 * @property {PageContext} pageContext
 * @property {(voice: Voice) => void} onChange Receives the changed voice.
 */

/** @param {ActionOptions} options */
function actionsCard(options) {
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
  const { api, showError } = options.pageContext;
  onSubmit(form, showError, async () => {
    const body = { name: nameInput.value.trim(), description: about.value.trim(), access: access.select.value };
    const voice = await api.requestJson(toVoicePath(voice_id), { method: 'PATCH', body });
    await change(options, 'Saved.', async () => voice);
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
      }
    : {
        title: `Delete ${name}?`,
        text: `Requests for this voice will fail with “voice not found”.${more} This cannot be undone.`,
        yes: 'Delete',
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
