// Elements and addresses that several voice pages share.
/** @import { Preview } from './voice-preview.js' */
/** @import { Voice } from '../../../../gen/openapi.ts' */
import { element } from './element.js';
import { field } from './field.js';

const statusLabels = /** @type {const} */ ({
  pending: 'being created',
  failed: 'failed',
  disabled: 'switched off',
  consent_revoked: 'consent withdrawn',
});

/**
 * The chip that shows the status of a voice that is not ready.
 * @param {Voice} voice
 */
export const statusChip = ({ status }) =>
  status !== 'ready' && element('span', { class: `chip ${status}` }, statusLabels[status]);

/**
 * The chip that marks a private voice.
 * @param {Pick<Voice, 'access'>} voice
 */
export const accessChip = ({ access }) => access === 'private' && element('span', { class: 'chip' }, 'private');

/** Labels that state who may use a voice. */
export const accessLabels = /** @type {const} */ ({
  private: 'Only keys of its owner’s account',
  everyone: 'Every key of this service',
});

/**
 * A field that chooses who may use a voice.
 * @param {Voice['access']} access
 */
export function accessField(access) {
  const select = element(
    'select',
    { name: 'access' },
    ...Object.entries(accessLabels).map(([value, text]) => element('option', { value }, text)),
  );
  select.value = access;
  return { select, root: field({ name: 'access', label: 'Who may use it', control: select }) };
}

/**
 * @param {Preview} preview
 * @param {Voice} voice
 */
export function previewButton(preview, voice) {
  const button = preview.button(voice);
  button.disabled = voice.status !== 'ready';
  return button;
}

/**
 * A labelled selector for a filter form.
 * @param {string} name
 * @param {string} label
 * @param {(readonly [value: string, text: string])[]} options
 */
export const filterSelect = (name, label, options) =>
  element(
    'label',
    {},
    element('span', { class: 'sr-only' }, label),
    element(
      'select',
      { name },
      options.map(([value, text]) => element('option', { value }, text)),
    ),
  );

/** @param {string} voiceId */
export const toVoicePath = (voiceId) => `/api/voices/${encodeURIComponent(voiceId)}`;

/** @param {string} voiceId */
export const toVoiceAddress = (voiceId) => `#/voices/${encodeURIComponent(voiceId)}`;
